"""From an entry of a run to what its part of the page shows, still as plain values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spade_envs.gates import GATES
from spade_envs.gates.check import LEFT_OUT
from spade_envs.gates.finding import counted
from spade_envs.reports.entry import Entry, cut_off
from spade_envs.reports.figures import Interval, Series, rate_of
from spade_envs.types import GateResult

FAMILIES = {
    "L0": "Source",
    "L1": "Interface and conduct",
    "L2": "Determinism and tasks",
    "L3": "What is paid for",
    "L4": "Hints and difficulty",
    "L5": "Originality and certificate",
}
MARKS = {
    "fail": ("✗", "fails"),
    "warn": ("!", "warns"),
    "pass": ("✓", "passes"),
    "skip": ("–", "skipped"),
    "cut": ("⏱", "out of time"),
    "none": ("○", "not run"),
}
"""Outcome -> sign and word; colour is never the only difference."""

VERDICT_MARKS = {"accepted": "✓", "passes": "✓", "refused": "✗", "not checked": "○"}
MAX_SOURCE_LINES = 3000
_LINE = re.compile(r"\bline (\d{1,6})\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One gate of one entry."""

    gate: str
    title: str
    outcome: str
    """A key of `MARKS`."""
    message: str = ""
    evidence: Mapping[str, Any]
    elapsed_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """The gates of one family."""

    id: str
    name: str
    rows: tuple[Row, ...]

    @property
    def worst(self) -> str:
        """Outcome that matters most in this family, a key of `MARKS`."""
        order = ("fail", "cut", "warn", "pass", "none", "skip")
        found = {row.outcome for row in self.rows}
        return next((outcome for outcome in order if outcome in found), "none")


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """What the page shows about one entry."""

    number: int
    entry: Entry
    families: tuple[Family, ...]
    facts: tuple[tuple[str, str], ...]
    series: tuple[Series, ...]
    lines: tuple[str, ...]
    """The source, as far as it is shown."""
    lines_left_out: int
    named: frozenset[int]
    """Lines that findings name."""

    @property
    def rows(self) -> list[Row]:
        """Every gate, by family."""
        return [row for family in self.families for row in family.rows]


def section(number: int, entry: Entry) -> Section:
    """Return what the page shows about an entry; `number` is its place in the run, from 1."""
    source = entry.checked.target.source
    lines = source.code.splitlines() if source is not None else []
    results = entry.report.results if entry.report is not None else ()
    return Section(
        number=number,
        entry=entry,
        families=tuple(_families(results)) if entry.report is not None else (),
        facts=tuple(_facts(entry)),
        series=tuple(_series(results)),
        lines=tuple(lines[:MAX_SOURCE_LINES]),
        lines_left_out=max(0, len(lines) - MAX_SOURCE_LINES),
        named=frozenset(_named(entry, results)),
    )


def _families(results: Sequence[GateResult]) -> Iterator[Family]:
    ran = {result.gate: result for result in results}
    known = {gate.id: gate.title for gate in GATES}
    every = {**known, **{gate: result.title for gate, result in ran.items() if gate not in known}}
    rows = [_row(gate, title, ran.get(gate)) for gate, title in every.items()]
    for family in sorted({gate.partition(".")[0] for gate in every}):
        mine = [row for row in rows if row.gate.partition(".")[0] == family]
        mine.sort(key=lambda row: _numbers(row.gate))
        yield Family(id=family, name=FAMILIES.get(family, ""), rows=tuple(mine))


def _numbers(gate: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", gate)]


def _row(gate: str, title: str, result: GateResult | None) -> Row:
    if result is None:
        return Row(gate=gate, title=title, outcome="none", evidence={})
    return Row(
        gate=gate,
        title=result.title,
        outcome=_outcome(result),
        message=result.message,
        evidence=result.evidence,
        elapsed_s=result.elapsed_s,
    )


def _outcome(result: GateResult) -> str:
    if result.outcome == "skip" and result.message == LEFT_OUT:
        return "none"
    return "cut" if cut_off(result) else result.outcome


def _facts(entry: Entry) -> Iterator[tuple[str, str]]:
    source, report = entry.checked.target.source, entry.report
    interface = report.interface if report is not None else None
    if interface is not None:
        yield "class", interface.entry
        yield "summary", interface.summary
        turns = (
            f"{counted(interface.levels, 'level')}, at most {counted(interface.max_turns, 'turn')}"
        )
        yield "kind", f"{interface.kind} ({interface.api}), {turns}"
        low, high = interface.reward_range
        yield "return", f"{low:g} to {high:g}"
        if interface.tools:
            names = (str(tool.get("function", {}).get("name", "?")) for tool in interface.tools)
            yield "tools", ", ".join(names)
    if source is not None:
        yield "sha256", source.sha256
        yield "repairs", "; ".join(source.repairs)
    certificate = entry.checked.target.certificate
    if certificate is not None:
        yield "certificate", f"by gates version {certificate.gates_version}"
    yield "licence", entry.checked.target.licence
    yield "library", entry.library
    yield "trusted imports", ", ".join(entry.trusted_imports)
    if report is not None:
        yield "gates version", report.gates_version
        yield "certifies", "yes" if report.accepted else "no"
        yield "isolation", ", ".join(report.layers)
        yield "time", f"{report.elapsed_s:.1f} s"


_PLOTTED = (
    ("reference wins", "circle", "L3.1", "success_rate"),
    ("best ignorant policy (floor)", "square", "L3.3", "levels"),
    ("best constant", "triangle", "L3.4", "best_constant"),
    ("other seed's answer", "diamond", "L3.5", "cross_seed"),
)


def _series(results: Iterable[GateResult]) -> Iterator[Series]:
    evidence = {result.gate: result.evidence for result in results}
    for name, shape, gate, key in _PLOTTED:
        found = evidence.get(gate, {}).get(key)
        if not isinstance(found, Mapping):
            continue
        values: dict[int, Interval] = {}
        for level, value in found.items():
            rate = rate_of(value if isinstance(value, Mapping) else {"mean": value})
            if rate is not None and str(level).isdecimal():
                values[int(level)] = rate
        if values:
            yield Series(name=name, shape=shape, values=values)


def _named(entry: Entry, results: Iterable[GateResult]) -> Iterator[int]:
    """Give the lines of the source that failures, warnings and remarks name."""
    for result in results:
        if result.outcome in ("fail", "warn"):
            yield from _lines_in(result.message)
            yield from _lines_in(result.evidence)
    if entry.audit is not None:
        yield from (remark.line for remark in entry.audit.remarks)


def _lines_in(value: Any, depth: int = 6) -> Iterator[int]:
    if isinstance(value, str):
        yield from (int(number) for number in _LINE.findall(value[:5000]))
    elif depth and isinstance(value, Mapping):
        for key, item in value.items():
            if key == "line" and isinstance(item, int):
                yield item
            elif key not in ("transcript", "first_observation", "observation", "action"):
                yield from _lines_in(item, depth - 1)
    elif depth and isinstance(value, list | tuple):
        for item in value:
            yield from _lines_in(item, depth - 1)
