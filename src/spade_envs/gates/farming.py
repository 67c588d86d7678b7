"""Family L3, farming: repeating what was paid once is not paid again."""

from __future__ import annotations

from spade_envs.gates.finding import Finding, skipped
from spade_envs.gates.subject import Subject


def cannot_be_farmed(subject: Subject) -> Finding:
    """L3.12: no loop of actions earns more and more."""
    return skipped("not measured")
