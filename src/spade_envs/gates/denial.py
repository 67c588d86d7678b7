"""Family L3, denials: an answer that is denied or taken back is not an answer."""

from __future__ import annotations

from spade_envs.gates.finding import Finding, skipped
from spade_envs.gates.subject import Subject


def denials_lose(subject: Subject) -> Finding:
    """L3.7: the reference denied, retracted, or named beside another answer does not win."""
    return skipped("not measured")
