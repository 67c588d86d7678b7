"""Family L0, smells: patterns of careless graders, each confirmed by a probe."""

from __future__ import annotations

from spade_envs.gates.finding import Finding, skipped
from spade_envs.gates.subject import Subject


def no_confirmed_smell(subject: Subject) -> Finding:
    """L0.4: no careless grading pattern that a probe confirms."""
    return skipped("not measured")
