"""One line of a run: a target, what the gates said, and what an auditor remarked."""

from __future__ import annotations

from collections.abc import Sequence
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
        """The gravest thing that is wrong with it, or a warning, in one line; else empty."""
        report = self.report
        if report is None:
            return self.checked.error
        if (first := report.gravest) is not None:
            return _told(first, report.failures)
        if self.verdict == "refused":
            return unfinished(report)
        warnings = [result for result in report.results if result.outcome == "warn"]
        return f"warning: {_told(warnings[0], warnings)}" if warnings else ""

    @property
    def counts(self) -> Counts:
        """How many gates passed; all zero if there is no report."""
        return Counts(0, 0, 0) if self.report is None else counts(self.report)


def _told(first: GateResult, found: Sequence[GateResult]) -> str:
    more = ", ".join(result.gate for result in found if result is not first)
    also = f" (and {more})" if more else ""
    return f"{first.gate} {first.message}{also}"


def unfinished(report: Report) -> str:
    """Return why a report without failures certifies nothing, and what to do about it."""
    late = any(result.message.startswith(OUT_OF_TIME) for result in report.results)
    if late:
        return "the deadline passed before all gates had run; raise --deadline"
    return "the gates did not all run"


@dataclass(frozen=True, slots=True)
class Counts:
    """How many gates passed, in the one form in which it is told everywhere."""

    passed: int
    judged: int
    """Gates that were run and could be measured."""
    other: int
    """Gates that were not run, or that do not apply."""

    @property
    def short(self) -> str:
        """Such as `36 of 37`; empty if no gate was judged."""
        return f"{self.passed} of {self.judged}" if self.judged else ""

    def __str__(self) -> str:
        other = f", {self.other} not run or not applicable" if self.other else ""
        return f"{self.passed} of {self.judged} gates passed{other}"


def counts(report: Report) -> Counts:
    """Return how many gates passed, of those that were run and apply."""
    known = {gate.id for gate in GATES} | {result.gate for result in report.results}
    judged = [result for result in report.results if result.outcome != "skip"]
    passed = sum(result.outcome == "pass" for result in judged)
    return Counts(passed, len(judged), len(known) - len(judged))


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
