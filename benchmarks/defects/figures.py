"""From verdicts to figures: recall by operator, false positives, and the baselines beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.defects.operators import BY_ID
from benchmarks.defects.planting import Planted
from benchmarks.defects.suite import Verdict

MIN_RECALL = 0.97
MIN_OPERATOR_RECALL = 0.85
MAX_FALSE = 0.01
MIN_MUTANTS = 900
MIN_VARIANTS = 100


@dataclass(frozen=True)
class Line:
    """The figures of one operator."""

    operator: str
    effective: int
    caught: int
    dropped: int
    gates: tuple[tuple[str, int], ...]
    """First failing gates and how often, the most frequent first."""
    published: int
    published_guess: int
    check_env: int

    @property
    def recall(self) -> float:
        return self.caught / self.effective if self.effective else 1.0


@dataclass(frozen=True)
class Figures:
    """The figures of a run."""

    lines: tuple[Line, ...]
    sound: int
    """Sound variants judged."""
    accused: tuple[str, ...]
    """Sound variants that a gate failed, and the gate."""
    sound_published: int
    sound_guess: int
    sound_check_env: int
    seconds: float
    """Wall time of all checks together."""

    @property
    def effective(self) -> int:
        return sum(line.effective for line in self.lines)

    @property
    def caught(self) -> int:
        return sum(line.caught for line in self.lines)

    @property
    def recall(self) -> float:
        return self.caught / self.effective if self.effective else 1.0

    @property
    def false_rate(self) -> float:
        return len(self.accused) / self.sound if self.sound else 0.0

    def misses(self) -> list[str]:
        """Return what the bars miss, in words."""
        found = []
        if self.recall < MIN_RECALL:
            found.append(f"recall is {self.recall:.1%}, below {MIN_RECALL:.0%}")
        for line in self.lines:
            if line.effective and line.recall < MIN_OPERATOR_RECALL:
                found.append(f"recall of {line.operator} is {line.recall:.0%}")
        if self.false_rate > MAX_FALSE:
            found.append(f"{self.false_rate:.1%} of the sound variants are accused")
        return found


def figures(
    planted: Iterable[Planted],
    verdicts: Mapping[str, Verdict],
    variants: Mapping[tuple[str, str], Mapping[str, Any]],
) -> Figures:
    """Count."""
    by_operator: dict[str, list[Planted]] = {}
    for one in planted:
        by_operator.setdefault(one.operator, []).append(one)
    judged = {pair: row for pair, row in variants.items() if "dropped" not in row}
    accused = [
        f"{rewrite} {name}: {row['failed'][0]} {row['message']}"
        for (rewrite, name), row in judged.items()
        if row["failed"]
    ]
    return Figures(
        tuple(_line(name, found, verdicts) for name, found in by_operator.items()),
        len(judged),
        tuple(accused),
        sum(row["published"] for row in judged.values()),
        sum(row["published_guess"] for row in judged.values()),
        sum(row["check_env"] for row in judged.values()),
        sum(one.seconds for one in verdicts.values())
        + sum(row["seconds"] for row in judged.values()),
    )


def _line(name: str, planted: list[Planted], verdicts: Mapping[str, Verdict]) -> Line:
    effective = [one for one in planted if one.witness]
    caught = [one for one in effective if verdicts[one.sha256].failed]
    gates = Counter(verdicts[one.sha256].failed[0] for one in caught)
    return Line(
        name,
        len(effective),
        len(caught),
        len(planted) - len(effective),
        tuple(gates.most_common()),
        sum(one.published for one in effective),
        sum(one.published_guess for one in effective),
        sum(one.check_env for one in effective),
    )


def markdown(found: Figures) -> str:
    """Return the table of operators for the documentation."""
    rows = [
        "| operator | what the mutant does | kind | effective | caught | first gates | published "
        "rules | with guesses | `check_env` |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for line in found.lines:
        gates = ", ".join(f"{gate} ({count})" for gate, count in line.gates[:3])
        operator = BY_ID[line.operator]
        rows.append(
            f"| {line.operator} | {operator.title} | {operator.how} | {line.effective} | "
            f"{line.caught} | {gates} | {line.published} | {line.published_guess} | "
            f"{line.check_env} |"
        )
    return "\n".join(rows)
