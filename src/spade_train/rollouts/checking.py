"""`Checker`: the gates on many programs at once, and what scores need to know of their hints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

from spade_envs.gates import check
from spade_envs.gates.check import OUT_OF_TIME, STALLED
from spade_envs.gates.subject import Depth
from spade_envs.gates.table import GATES
from spade_envs.play.table import Table
from spade_envs.types import EnvSource, GateResult, Report
from spade_train.hint_information import hint_information
from spade_train.types import HintInformation

_LEVELS, _SEEDS = 4, 2
"""Levels whose hints are read, and instances of each."""
_FLOORS = ("L3.2", "L3.3", "L3.4")
_SURE_TRIALS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the gates found."""

    report: Report
    accepted: bool
    """Whether it may be played: every gate that was asked for was run, and none failed."""
    chance: float = 0.0
    """Success rate of the best policy that does not read the task, in [0, 1)."""
    hint: HintInformation | None = None
    """None if it was refused or has no hints."""

    @property
    def reason(self) -> str:
        """Why it was refused: the gate and its message."""
        if (first := self.report.gravest) is not None:
            return f"{first.gate}: {first.message}"
        return "" if self.accepted else "not every gate was run in time"


class Judge(Protocol):
    """What checks programs; the local one is `Checker`."""

    def check_all(self, sources: Sequence[EnvSource]) -> Iterator[Verdict]:
        """Begin to check all of them now; yield the verdicts in order, each when it is known."""
        ...

    def close(self) -> None:
        """Stop; calling it twice does no harm."""
        ...


class Checker:
    """Checks on this machine, side by side.

    Args:
        depth: of the gates.
        timeout_s: time for all gates of one program, > 0.
        workers: programs that are checked at once, >= 1.
    """

    def __init__(
        self, *, depth: Depth = "standard", timeout_s: float = 120.0, workers: int = 1
    ) -> None:
        self._depth: Depth = depth
        self._timeout_s = timeout_s
        self._threads = ThreadPoolExecutor(workers)

    def check_all(self, sources: Sequence[EnvSource]) -> Iterator[Verdict]:
        """Begin to check; see `Judge`."""
        return self._threads.map(self._checked, sources)

    def close(self) -> None:
        """Leave out what was not begun, and wait for the rest."""
        self._threads.shutdown(cancel_futures=True)

    def _checked(self, source: EnvSource) -> Verdict:
        return judged(source, depth=self._depth, timeout_s=self._timeout_s)


def judged(source: EnvSource, *, depth: Depth, timeout_s: float) -> Verdict:
    """Return the verdict on one program."""
    report = check(source, depth=depth, deadline_s=timeout_s)
    if not _admits(report, depth):
        return Verdict(report=report, accepted=False)
    return Verdict(
        report=report,
        accepted=True,
        chance=chance_of(report),
        hint=_information(source, report),
    )


def chance_of(report: Report) -> float:
    """Return the success rate of the best policy that does not read the task, in [0, 1).

    A rate over less than 20 episodes counts with the lower end of its interval: it is the best of
    many policies, and so mostly luck.
    """
    found = [0.0]
    for result in report.results:
        floor = result.evidence.get("floor") if result.gate in _FLOORS else None
        if isinstance(floor, dict) and floor.get("trials"):
            few = floor["trials"] < _SURE_TRIALS
            found.append(float(floor["wilson_95"][0] if few else floor["mean"]))
    return min(0.99, max(found))


def _admits(report: Report, depth: Depth) -> bool:
    if depth != "quick" or report.accepted:
        return report.accepted
    asked = {result.gate for result in report.results if not _unfinished(result)}
    whole = asked == {gate.id for gate in GATES}
    return whole and report.interface is not None and not report.failures


def _unfinished(result: GateResult) -> bool:
    return result.outcome == "skip" and result.message.startswith((OUT_OF_TIME, STALLED))


def _information(source: EnvSource, report: Report) -> HintInformation | None:
    declared = report.interface
    if declared is None or not declared.has_hint:
        return None
    levels = {declared.levels * number // _LEVELS for number in range(_LEVELS)}
    first = int(source.sha256[:6], 16)
    table = Table.open(source)
    try:
        told = table.help((level, first + n) for level in sorted(levels) for n in range(_SEEDS))
    finally:
        table.close()
    known = [each for each in told.values() if each.fault is None]
    if not known:
        return None
    by_gate = {result.gate: result for result in report.results}
    return hint_information(
        [each.hint for each in known],
        [each.solution for each in known],
        reader_success=_reader(by_gate.get("L4.2")),
        withheld=all(
            gate not in by_gate or by_gate[gate].outcome != "fail" for gate in ("L4.1", "L4.2")
        ),
    )


def _reader(result: GateResult | None) -> float:
    """Return what copying from the hint earned, if the gate found it worth a warning."""
    own = result.evidence.get("own") if result is not None else None
    return min(1.0, float(own["mean"])) if isinstance(own, dict) else 0.0
