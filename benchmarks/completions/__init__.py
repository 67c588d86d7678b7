"""Recorded completions of varied quality through parser and gates: what is accepted, and why not.

`recorded/` holds one completion to a file, as a model would write it, and `expected.toml` what it
should come to. A change of parser or gates shows in the tables.
"""

from __future__ import annotations

import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.timing import Claim, Result, Scale, Series, Table
from spade_envs.design.parse import parse
from spade_envs.errors import ParseError
from spade_envs.gates import check

FOLDER = Path(__file__).parent
OUTCOMES = ("accepted", "repaired", "refused")
_FEW = 4


@dataclass(frozen=True, slots=True)
class Case:
    """One recorded completion, and what it should come to."""

    name: str
    text: str
    outcome: str
    """One of `OUTCOMES`; `repaired` is accepted after the parser mended it."""
    by: str
    """What should refuse it: `parse` or a family of gates; empty if nothing should."""
    why: str


@dataclass(frozen=True, slots=True)
class Found:
    """What a completion came to."""

    case: Case
    outcome: str
    by: str
    """`parse`, or the gate; empty if it was not refused."""
    reason: str
    parse_s: float
    gates_s: float

    @property
    def expected(self) -> bool:
        """Whether it came to what it should."""
        family = self.by.partition(".")[0]
        return self.outcome == self.case.outcome and family == self.case.by


def cases() -> list[Case]:
    """Return every recorded completion, by name."""
    known = tomllib.loads((FOLDER / "expected.toml").read_text("utf-8"))
    return [
        Case(
            name,
            (FOLDER / "recorded" / f"{name}.txt").read_bytes().decode("utf-8"),
            entry["outcome"],
            entry.get("by", ""),
            entry["why"],
        )
        for name, entry in sorted(known.items())
    ]


def judge(case: Case) -> Found:
    """Put one completion through the parser and the gates, as `generate` does."""
    start = time.perf_counter()
    try:
        source = parse(case.text)
    except ParseError as error:
        return Found(case, "refused", "parse", str(error), time.perf_counter() - start, 0.0)
    parsed = time.perf_counter()
    report = check(source)
    took = (parsed - start, time.perf_counter() - parsed)
    if not report.accepted:
        gravest = report.gravest
        gate, message = (gravest.gate, gravest.message) if gravest else ("", "not all was run")
        return Found(case, "refused", gate, message, *took)
    outcome = "repaired" if source.repairs else "accepted"
    return Found(case, outcome, "", "; ".join(source.repairs), *took)


def run(scale: Scale) -> Result:
    """Judge every completion, or a few where the figures mean nothing."""
    chosen = cases() if scale.programs > 1 else _some(cases())
    found = [judge(case) for case in chosen]
    gated = [one.gates_s for one in found if one.gates_s]
    right = sum(one.expected for one in found)
    return Result(
        "completions",
        (
            Series("parse", "ms", (1e3 * sum(one.parse_s for one in found) / len(found),)),
            Series("gates", "s", (sum(gated) / len(gated),)),
        ),
        (Claim("share that comes to what it should", right / len(found), 1.0, at_least=True),),
        tuple(_notes(found)),
        (_tally(found), _rows(found)),
    )


def _some(every: Sequence[Case]) -> list[Case]:
    firsts = {case.outcome + case.by: case for case in reversed(every)}
    return list(firsts.values())[:_FEW]


def _tally(found: Sequence[Found]) -> Table:
    counts = Counter((one.case.outcome, one.outcome) for one in found)
    rows = tuple(
        (should, *(str(counts[should, came] or "") for came in OUTCOMES)) for should in OUTCOMES
    )
    return Table("should be, and came to", ("", *OUTCOMES), rows)


def _rows(found: Sequence[Found]) -> Table:
    rows = tuple(
        (
            one.case.name,
            "" if one.expected else "!",
            one.outcome,
            one.by,
            one.reason if len(one.reason) <= 90 else one.reason[:90] + " ...",
        )
        for one in found
    )
    return Table("completions", ("recorded", "", "came to", "by", "reason or repairs"), rows)


def _notes(found: Sequence[Found]) -> Iterator[str]:
    refused = Counter(one.by for one in found if one.outcome == "refused")
    yield "refused by " + ", ".join(f"{by or '?'} {count}" for by, count in refused.most_common())
    for one in found:
        if not one.expected:
            should = f"{one.case.outcome} {one.case.by}".strip()
            yield f"{one.case.name} ({one.case.why}) should be {should}: {one.outcome} {one.by}"
