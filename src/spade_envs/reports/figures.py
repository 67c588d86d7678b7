"""Small pictures for the page, as inline SVG: rates with intervals, and floors by level.

Only numbers that were checked go into the markup. Shapes differ as well as colours.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

Interval = tuple[float, float, float]
"""Mean, and the ends of its 95 % interval, all in [0, 1]."""


def rate_of(value: Any) -> Interval | None:
    """Return the figures of a measured rate as the gates write it; None if it is none."""
    if not isinstance(value, Mapping) or "mean" not in value:
        return None
    ends = value.get("wilson_95")
    ends = ends if isinstance(ends, list | tuple) and len(ends) == 2 else (value["mean"],) * 2
    numbers = [_share(number) for number in (value["mean"], *ends)]
    if any(number is None for number in numbers):
        return None
    mean, low, high = (number or 0.0 for number in numbers)
    return mean, low, high


def _share(value: Any) -> float | None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if number and math.isfinite(value) and 0 <= value <= 1 else None


def percent(share: float) -> str:
    """Return such as `7 %` or `0.4 %`."""
    return f"{100 * share:.1f} %" if 0 < share < 0.01 else f"{100 * share:.0f} %"


def bar(rate: Interval) -> Markup:
    """Return a bar from 0 to 100 % with a mark at the mean and a whisker for the interval."""
    mean, low, high = rate
    label = f"{percent(mean)}, 95 % interval {percent(low)} to {percent(high)}"
    left, right, at = (2 + 196 * share for share in (low, high, mean))
    return Markup(  # noqa: S704 - numbers only
        f'<svg class="bar" viewBox="0 0 200 16" role="img" aria-label="{label}">'
        f"<title>{label}</title>"
        f'<rect class="track" x="2" y="6" width="196" height="4" rx="2"/>'
        f'<rect class="fill" x="2" y="6" width="{at - 2:.1f}" height="4" rx="2"/>'
        f'<path class="whisker" d="M{left:.1f} 3v10M{right:.1f} 3v10M{left:.1f} 8H{right:.1f}"/>'
        f'<circle class="mean" cx="{at:.1f}" cy="8" r="3.5"/></svg>'
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One figure for each level."""

    name: str
    shape: str
    """`circle`, `square`, `diamond` or `triangle`."""
    values: Mapping[int, Interval]


SHAPES = {
    "circle": "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
    "square": "M-4 -4h8v8h-8z",
    "diamond": "M0 -5.5l5 5.5l-5 5.5l-5 -5.5z",
    "triangle": "M0 -5l5 9h-10z",
}
_HEIGHT, _TOP, _LEFT, _STEP = 150, 10, 40, 56


def levels_chart(series: Sequence[Series]) -> Markup:
    """Return a chart of shares by level, with whiskers; empty if there is nothing to draw."""
    levels = sorted({level for one in series for level in one.values})
    if not levels:
        return Markup("")
    width = _LEFT + _STEP * len(levels) + 16
    parts = [_grid(levels, width)]
    for number, one in enumerate(series):
        shift = (number - (len(series) - 1) / 2) * 11
        for position, level in enumerate(levels):
            if level in one.values:
                x = _LEFT + _STEP * (position + 0.5) + shift
                parts.append(_point(one, x, one.values[level], level))
    names = escape(", ".join(one.name for one in series))
    return Markup(  # noqa: S704 - numbers and our own words
        f'<svg class="levels" viewBox="0 0 {width} {_HEIGHT + 44}" width="{width}" role="img" '
        f'aria-label="{names}, by level">{"".join(parts)}</svg>'
    )


def _y(share: float) -> float:
    return _TOP + _HEIGHT * (1 - share)


def _grid(levels: Sequence[int], width: int) -> str:
    lines = [
        f'<path class="grid" d="M{_LEFT} {_y(share):.1f}H{width - 8}"/>'
        f'<text x="{_LEFT - 6}" y="{_y(share) + 4:.1f}" text-anchor="end">{percent(share)}</text>'
        for share in (0, 0.25, 0.5, 0.75, 1)
    ]
    names = [
        f'<text x="{_LEFT + _STEP * (place + 0.5):.1f}" y="{_HEIGHT + _TOP + 18}" '
        f'text-anchor="middle">{level}</text>'
        for place, level in enumerate(levels)
    ]
    middle = (_LEFT + width) / 2
    axis = f'<text x="{middle:.1f}" y="{_HEIGHT + _TOP + 33}" text-anchor="middle">level</text>'
    return "".join([*lines, *names, axis])


def _point(one: Series, x: float, rate: Interval, level: int) -> str:
    mean, low, high = rate
    label = f"{escape(one.name)}, level {level}: {percent(mean)}"
    whisker = f'<path class="whisker" d="M{x:.1f} {_y(low):.1f}V{_y(high):.1f}"/>'
    mark = f'<path transform="translate({x:.1f} {_y(mean):.1f})" d="{SHAPES[one.shape]}"/>'
    return f'<g class="{one.shape}"><title>{label}</title>{whisker}{mark}</g>'


def symbol(shape: str) -> Markup:
    """Return the mark of a series, for a legend."""
    return Markup(  # noqa: S704 - our own shapes
        f'<svg class="key {shape}" viewBox="-7 -7 14 14" aria-hidden="true">'
        f'<path d="{SHAPES[shape]}"/></svg>'
    )
