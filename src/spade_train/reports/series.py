"""From the lines of a run to the curves that are drawn: one number per update, gaps as NaN."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np

from spade_envs.types import Json
from spade_train.types import Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """One number for some updates of a run."""

    name: str
    """What it is called in a legend."""
    updates: Floats
    """Ascending, shape (points,)."""
    values: Floats
    """Finite, shape (points,)."""
    errors: Floats | None = None
    """Standard errors, shape (points,); NaN where there is none. None draws no band."""

    def __bool__(self) -> bool:
        """Whether there is anything to draw."""
        return self.updates.size > 0


def curve(lines: Sequence[Mapping[str, Json]], key: str, name: str, error: str = "") -> Curve:
    """Return one metric over the updates; what is missing or not finite is left out.

    Args:
        lines: of metrics.jsonl.
        key: name of the metric.
        name: name in the legend.
        error: name of the metric that is its standard error; empty if there is none.
    """
    points = [(line["update"], line[key], line) for line in lines if number(line.get(key))]
    errors = [line[error] if number(line.get(error)) else math.nan for _, _, line in points]
    return Curve(
        name,
        np.array([update for update, _, _ in points], dtype=np.float64),
        np.array([value for _, value, _ in points], dtype=np.float64),
        np.array(errors, dtype=np.float64) if error and np.isfinite(errors).any() else None,
    )


def family_of(lines: Sequence[Mapping[str, Json]], prefix: str, word: str = "") -> list[Curve]:
    """Return a curve for each metric below a prefix, in natural order.

    Args:
        lines: of metrics.jsonl.
        prefix: such as `designer/skill/`.
        word: stands before the rest of the metric's name in the legend.
    """
    keys = {key for line in lines for key in line if key.startswith(prefix)}
    named = ((key, f"{word}{key[len(prefix) :]}") for key in sorted(keys, key=natural))
    return [found for key, name in named if (found := curve(lines, key, name))]


def number(value: Json) -> TypeGuard[float]:
    """Whether a value is a finite number."""
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return known and math.isfinite(value)


def natural(text: str) -> list[tuple[int, int, str]]:
    """Return a key that sorts `level-10` after `level-2`."""
    parts = re.findall(r"\d+|\D+", text)
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts]


def smooth(found: Curve, window: int) -> Curve:
    """Return the centred moving mean; at the ends, of as many points as there are.

    The standard error of a mean of k points is sqrt(sum of their squares) / k.

    Args:
        found: the curve.
        window: points in a mean, >= 1.
    """
    if window <= 1 or found.values.size < 3:
        return found
    starts = np.maximum(0, np.arange(found.values.size) - (window - 1) // 2)
    ends = np.minimum(found.values.size, np.arange(found.values.size) + window // 2 + 1)
    errors = None
    if found.errors is not None:
        squares = _sums(np.square(found.errors), starts, ends)
        errors = np.sqrt(squares) / (ends - starts)
    means = _sums(found.values, starts, ends) / (ends - starts)
    return Curve(found.name, found.updates, means, errors)


def _sums(values: Floats, starts: Ints, ends: Ints) -> Floats:
    return np.array([values[a:b].sum() for a, b in zip(starts, ends, strict=True)])


def shares(curves: Iterable[Curve], window: int = 1) -> list[Curve]:
    """Return amounts as their shares of the sum at each update, so that they add up to 1.

    An update that a curve lacks counts as 0 in it; updates whose sum is 0 are left out.

    Args:
        curves: amounts >= 0.
        window: updates over which amounts are added up before they are divided, >= 1.
    """
    given = [found for found in curves if found]
    if not given:
        return []
    updates = np.unique(np.concatenate([found.updates for found in given]))
    table = np.zeros((len(given), updates.size))
    for row, found in enumerate(given):
        table[row, np.searchsorted(updates, found.updates)] = np.maximum(found.values, 0.0)
    mixed = [
        smooth(Curve(found.name, updates, row), window).values
        for found, row in zip(given, table, strict=True)
    ]
    total = np.sum(mixed, axis=0)
    kept = total > 0
    return [
        Curve(found.name, updates[kept], row[kept] / total[kept])
        for found, row in zip(given, mixed, strict=True)
    ]


def counted(events: Iterable[Mapping[str, Json]], field: str, top: int = 7) -> list[Curve]:
    """Return how often each text stands in a field of events, per update.

    Args:
        events: in order.
        field: name of the field; events without text there are left out.
        top: the commonest texts that get a curve of their own; the rest is `other`.
    """
    found: dict[str, dict[int, int]] = {}
    for event in events:
        text = event.get(field)
        if isinstance(text, str) and text:
            at = found.setdefault(text, {})
            at[event["update"]] = at.get(event["update"], 0) + 1
    order = sorted(found, key=lambda text: (-sum(found[text].values()), text))
    curves = [_of_counts(text, found[text]) for text in order[:top]]
    rest: dict[int, int] = {}
    for text in order[top:]:
        for update, count in found[text].items():
            rest[update] = rest.get(update, 0) + count
    return [*curves, _of_counts("other", rest)] if rest else curves


def _of_counts(name: str, counts: Mapping[int, int]) -> Curve:
    updates = sorted(counts)
    values = [counts[update] for update in updates]
    return Curve(name, np.array(updates, dtype=np.float64), np.array(values, dtype=np.float64))


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A curve at its beginning and at its end."""

    first: float
    """Mean over the first quarter of its points."""
    last: float
    """Mean over the last quarter."""
    points: int
    """Points in each of the means, >= 1."""


def change(found: Curve) -> Change | None:
    """Return the means over the first and the last quarter of the points; None without points."""
    if not found:
        return None
    points = max(1, found.values.size // 4)
    values = found.values
    return Change(
        first=float(values[:points].mean()), last=float(values[-points:].mean()), points=points
    )
