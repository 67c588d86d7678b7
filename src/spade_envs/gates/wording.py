"""Family L3, wording: the prompt says how an answer has to be written."""

from __future__ import annotations

from spade_envs.gates.finding import Finding, skipped
from spade_envs.gates.subject import Subject


def states_its_format(subject: Subject) -> Finding:
    """L3.11: the format that the reference uses follows from what the agent is shown."""
    return skipped("not measured")
