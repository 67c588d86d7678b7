"""Family L4: hints help and do not answer; levels differ in difficulty."""

from __future__ import annotations

from spade_envs.gates.finding import Finding, skipped
from spade_envs.gates.subject import Subject


def hint_withholds_answer(subject: Subject) -> Finding:
    """L4.1: the hint does not hold the answer."""
    return skipped("not measured")


def hint_copy_earns_nothing(subject: Subject) -> Finding:
    """L4.2: an agent that copies from the hint stays at the floor."""
    return skipped("not measured")


def hint_helps(subject: Subject) -> Finding:
    """L4.3: the hint says something that the agent is not shown."""
    return skipped("not measured")


def difficulty_separates(subject: Subject) -> Finding:
    """L4.4: the better the play, the greater the return."""
    return skipped("not measured")
