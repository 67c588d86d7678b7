"""One line of a run: a target, what the gates said, and what an auditor remarked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from spade_envs.audit import Audit
from spade_envs.gates import GATES
from spade_envs.gates.check import OUT_OF_TIME, STALLED
from spade_envs.interop import Checked
from spade_envs.types import GateResult, Report

Verdict: TypeAlias = Literal["accepted", "passes", "refused", "not checked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A target and everything that is known about it."""

    checked: Checked
    audit: Audit | None = None
    """None if nobody was asked."""
    unknown: bool = False
    """Whether what the user typed stands for nothing: a mistake of the user, not of a source."""

    @property
    def label(self) -> str:
        """What the user would type to get this one."""
        return self.checked.target.label

    @property
    def report(self) -> Report | None:
        """The gates' report, if there is one."""
        return self.checked.report

    @property
    def verdict(self) -> Verdict:
        """One word; an audit has no influence on it."""
        return "not checked" if self.report is None else verdict(self.report)

    @property
    def library(self) -> str:
        """Name and version of the library that it plays; empty if there is none."""
        library = self.checked.target.library
        return f"{library.name} {library.version}".strip() if library is not None else ""

    @property
    def trusted_imports(self) -> tuple[str, ...]:
        """Modules that the source was allowed to import besides the usual ones."""
        library = self.checked.target.library
        return library.modules if library is not None else ()

    @property
    def found(self) -> str:
        """The gravest thing that is wrong with it, in one line; empty if nothing is."""
        if self.report is None:
            return self.checked.error
        failures = sorted(self.report.failures, key=_lacks_reference)
        if failures:
            more = ", ".join(result.gate for result in failures[1:])
            also = f" (and {more})" if more else ""
            return f"{failures[0].gate} {failures[0].message}{also}"
        return "the gates did not all run" if self.verdict == "refused" else ""


def _lacks_reference(result: GateResult) -> bool:
    """Whether all that is wrong is a missing reference: the least of defects."""
    return result.gate == "L3.1" and result.message.startswith("no reference")


def verdict(report: Report) -> Verdict:
    """Return `accepted`, `passes` (too few seeds to certify, but nothing failed), or `refused`."""
    if report.accepted:
        return "accepted"
    every_gate_ran = {result.gate for result in report.results} >= {gate.id for gate in GATES}
    left_out = any(cut_off(result) for result in report.results)
    return "refused" if report.failures or left_out or not every_gate_ran else "passes"


def cut_off(result: GateResult) -> bool:
    """Whether a gate was not run for want of time, as against one that does not apply."""
    return result.outcome == "skip" and result.message.startswith((OUT_OF_TIME, STALLED))
