"""Family L3, alternatives: every right answer is accepted, not only the reference's."""

from __future__ import annotations

from spade_envs.gates.finding import Finding, skipped
from spade_envs.gates.subject import Subject


def accepts_alternatives(subject: Subject) -> Finding:
    """L3.17: other right answers win as well."""
    return skipped("not measured")
