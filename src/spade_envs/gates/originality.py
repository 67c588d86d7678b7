"""Family L5: the environment is new, not an evaluation task, and its certificate is its own."""

from __future__ import annotations

from spade_envs.gates.finding import Finding, skipped
from spade_envs.gates.subject import Subject


def not_a_duplicate(subject: Subject) -> Finding:
    """L5.1: no near duplicate is known."""
    return skipped("not measured")


def not_contaminated(subject: Subject) -> Finding:
    """L5.2: no declared evaluation task is in its prompts."""
    return skipped("not measured")


def certificate_holds(subject: Subject) -> Finding:
    """L5.3: the certificate is of this content and these gates."""
    return skipped("not measured")
