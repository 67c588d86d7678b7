"""Choosing environments for a training pool by what plays came to."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from spade_envs.errors import ConfigError
from spade_envs.intervals import Interval
from spade_envs.store.plays import INSTANCE, Cell, Figures
from spade_envs.types import EnvKind, Record

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)"
_RANGE = re.compile(rf"\s*({_NUMBER})?\s*\.\.\s*({_NUMBER})?\s*")
_ABOVE = re.compile(rf"\s*(>=|<=|>|<)\s*({_NUMBER})\s*")


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a figure has to lie within."""

    low: float = -math.inf
    high: float = math.inf
    strict: bool = False
    """Whether the ends themselves are out."""

    @classmethod
    def read(cls, text: str) -> Bounds:
        """Return what `0.2..0.8`, `0.2..`, `>0.1`, `>=0.1`, `<0.5` or `<=0.5` says.

        Raises:
            ConfigError: it says something else, or nothing lies within.
        """
        if (match := _RANGE.fullmatch(text)) and any(match.groups()):
            low = float(match[1]) if match[1] else -math.inf
            high = float(match[2]) if match[2] else math.inf
            if low > high:
                raise ConfigError(f"nothing lies within {text!r}; write the smaller number first")
            return cls(low, high)
        if match := _ABOVE.fullmatch(text):
            number, strict = float(match[2]), len(match[1]) == 1
            above = match[1].startswith(">")
            return cls(number, math.inf, strict) if above else cls(-math.inf, number, strict)
        raise ConfigError(f"{text!r} is no range; write one such as 0.2..0.8 or '>0.1'")

    def __str__(self) -> str:
        if self.low == -math.inf:
            return f"{'<' if self.strict else '<='}{self.high:g}"
        if self.high == math.inf:
            return f"{'>' if self.strict else '>='}{self.low:g}"
        return f"{self.low:g}..{self.high:g}"

    def hold(self, value: float | None) -> bool:
        """Whether a figure lies within; one that is not known does not."""
        if value is None:
            return False
        if self.strict:
            return self.low < value < self.high
        return self.low <= value <= self.high

    def hold_all(self, interval: Interval | None) -> bool:
        """Whether a whole interval lies within."""
        return interval is not None and self.hold(interval[0]) and self.hold(interval[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Criteria:
    """Which environments make the pool."""

    success: Bounds | None = None
    regret: Bounds | None = None
    skills: tuple[str, ...] = ()
    """Any one of these; empty takes all."""
    kind: EnvKind | None = None
    levels: tuple[int, ...] | None = None
    """Count only plays of these levels; None counts all, those that tell no level too."""
    policy: str | None = None
    """Count only the plays of this player; None counts everybody's."""
    hint: str = INSTANCE
    """Kind of the hint that regret is taken over."""
    min_plays: int = 1
    """Least plays without the hint, >= 0."""
    sure: bool = False
    """Whether the whole 95 % interval has to lie within, not the estimate alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """An environment that meets the criteria, with the figures that say so."""

    record: Record
    figures: Figures
    """Of all plays that count, with any hint."""
    hinted: Figures
    """Of those among them whose hint is of the kind that regret is taken over."""


def select(
    records: Iterable[Record], cells: Mapping[Cell, Figures], criteria: Criteria
) -> list[Choice]:
    """Return the environments that meet all criteria, in the order of the records.

    Args:
        records: environments; withdrawn ones are passed over.
        cells: plays, as `PlayReader.cells` gives them.
        criteria: what to meet. An environment that was never played meets no bounds.
    """
    everything: dict[str, Figures] = {}
    hinted: dict[str, Figures] = {}
    for cell, figures in cells.items():
        if criteria.levels is not None and cell.level not in criteria.levels:
            continue
        if criteria.policy is not None and cell.policy != criteria.policy:
            continue
        everything[cell.digest] = everything.get(cell.digest, Figures()).plus(figures)
        if cell.hint.partition(":")[0] == criteria.hint:
            hinted[cell.digest] = hinted.get(cell.digest, Figures()).plus(figures)
    found = (
        Choice(
            record=record,
            figures=everything.get(record.digest, Figures()),
            hinted=hinted.get(record.digest, Figures()),
        )
        for record in records
        if record.withdrawn is None
    )
    return [choice for choice in found if _meets(choice, criteria)]


def _meets(choice: Choice, wanted: Criteria) -> bool:
    record, figures, hinted = choice.record, choice.figures, choice.hinted
    if wanted.kind is not None and record.kind != wanted.kind:
        return False
    if wanted.skills and not set(wanted.skills) & set(record.skills):
        return False
    if figures.plays < wanted.min_plays:
        return False
    success, regret = wanted.success, wanted.regret
    if wanted.sure:
        return (
            success is None or (figures.plays > 0 and success.hold_all(figures.success_interval))
        ) and (regret is None or regret.hold_all(hinted.regret_interval))
    return (success is None or success.hold(figures.success)) and (
        regret is None or regret.hold(hinted.regret)
    )
