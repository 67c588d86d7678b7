"""What a report must hold to certify: every gate's verdict, and no skip without a reason."""

from __future__ import annotations

from collections.abc import Iterator

from spade_envs.gates.hints import NO_HINT
from spade_envs.gates.table import GATES
from spade_envs.types import GateResult, Report

NOTHING_GIVEN = {
    "L5.1": ("no other environments were given",),
    "L5.2": ("no evaluation texts were given",),
    "L5.3": ("no certificate was given", "its certificate is of version"),
}
"""How the message begins of a gate that had nothing to compare with."""

_HINT_GATES = frozenset({"L4.1", "L4.2", "L4.3"})


def missing_verdicts(report: Report) -> Iterator[str]:
    """Yield what a report of the gates in force, of a full check, lacks or has no reason for."""
    held = {result.gate for result in report.results}
    ids = [gate.id for gate in GATES]
    if lacking := [gate for gate in ids if gate not in held]:
        yield f"lacks the verdicts of {', '.join(lacking)}"
    if strange := sorted(held - set(ids)):
        yield f"holds verdicts of gates that there are not: {', '.join(strange)}"
    for result in report.results:
        if result.outcome == "skip" and not _may_be_skipped(result, report):
            yield f"skips {result.gate}, which is never skipped in such a check"


def _may_be_skipped(result: GateResult, report: Report) -> bool:
    """Whether a gate had nothing to measure; what has no reference is never certified."""
    if result.gate in _HINT_GATES:
        has_hint = report.interface is not None and report.interface.has_hint
        return not has_hint and result.message == NO_HINT
    return result.message.startswith(NOTHING_GIVEN.get(result.gate, ("\0",)))
