"""The mutation operators."""

from benchmarks.defects.operators import (
    faults,
    grading,
    leaks,
    originality,
    reach,
    rewards,
    state,
    tools,
)
from benchmarks.defects.operators.base import Operator

OPERATORS: tuple[Operator, ...] = (
    *grading.OPERATORS,
    *reach.OPERATORS,
    *rewards.OPERATORS,
    *faults.OPERATORS,
    *state.OPERATORS,
    *leaks.OPERATORS,
    *tools.OPERATORS,
    *originality.OPERATORS,
)
"""Every operator, by family."""

BY_ID = {operator.id: operator for operator in OPERATORS}
