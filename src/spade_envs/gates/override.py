"""Family L3, overrides: text addressed to the grader changes nothing."""

from __future__ import annotations

from spade_envs.gates.finding import Finding, skipped
from spade_envs.gates.subject import Subject


def override_loses(subject: Subject) -> Finding:
    """L3.8: telling the grader what to pay earns nothing."""
    return skipped("not measured")
