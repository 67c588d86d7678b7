"""Means over seeds with Student's intervals, and paired differences. Pure numpy.

A run is one observation: its thousands of episodes share weights, environments and data order, so
they say nothing about how another seed would have fared. All intervals here are over seeds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from spade_train.errors import DataError


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A mean over seeds and the interval that holds the true one with some confidence."""

    mean: float
    low: float | None
    """None with fewer than two seeds, as `high`."""
    high: float | None
    deviation: float | None
    """Standard deviation over seeds, with n - 1."""
    seeds: int
    """Seeds that it is of, >= 1."""

    @property
    def above_zero(self) -> bool:
        """Whether the whole interval is."""
        return self.low is not None and self.low > 0.0

    @property
    def below_zero(self) -> bool:
        """Whether the whole interval is."""
        return self.high is not None and self.high < 0.0


def interval(values: Sequence[float], *, confidence: float = 0.95) -> Interval | None:
    """Return the mean of one number per seed with Student's interval; None without numbers.

        mean -+ t(confidence, n - 1) x standard deviation / sqrt(n)

    Args:
        values: one per seed, finite.
        confidence: in (0, 1).

    Raises:
        DataError: a number is not finite.
    """
    data = np.asarray(values, dtype=np.float64)
    if not np.isfinite(data).all():
        raise DataError("an interval needs finite numbers; leave failed seeds out")
    if not data.size:
        return None
    mean = float(data.mean())
    if data.size == 1:
        return Interval(mean=mean, low=None, high=None, deviation=None, seeds=1)
    deviation = float(data.std(ddof=1))
    half = t_quantile(confidence, data.size - 1) * deviation / math.sqrt(data.size)
    return Interval(
        mean=mean, low=mean - half, high=mean + half, deviation=deviation, seeds=data.size
    )


def paired(
    one: Mapping[int, float], other: Mapping[int, float], *, confidence: float = 0.95
) -> Interval | None:
    """Return the interval of the differences one - other, seed by seed.

    Seeds that only one side has are left out. What a seed does to both sides alike cancels out.

    Args:
        one: number by seed.
        other: number by seed.
        confidence: in (0, 1).
    """
    seeds = sorted(one.keys() & other.keys())
    return interval([one[seed] - other[seed] for seed in seeds], confidence=confidence)


def t_quantile(confidence: float, freedom: int) -> float:
    """Return the t that Student's distribution exceeds in absolute value with 1 - confidence.

    Args:
        confidence: in (0, 1).
        freedom: degrees of freedom, >= 1.

    Raises:
        DataError: an argument is out of range.

    Source: the finite sums of Abramowitz and Stegun, 26.7.3 and 26.7.4, solved by bisection.
    """
    if not 0.0 < confidence < 1.0 or freedom < 1:
        raise DataError(f"no such quantile: confidence {confidence}, {freedom} degrees of freedom")
    low, high = 0.0, 1.0
    while _within(high, freedom) < confidence:
        low, high = high, 2.0 * high
    while high - low > 1e-12 * high:
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        low, high = (middle, high) if _within(middle, freedom) < confidence else (low, middle)
    return 0.5 * (low + high)


def _within(t: float, freedom: int) -> float:
    """Return the probability that Student's t lies in [-t, t]."""
    angle = math.atan(t / math.sqrt(freedom))
    cosine = math.cos(angle)
    term = total = cosine if freedom % 2 else 1.0
    for number in range(3 if freedom % 2 else 2, freedom - 1, 2):
        term *= (number - 1) / number * cosine * cosine
        total += term
    if freedom == 1:
        return 2.0 * angle / math.pi
    if freedom % 2:
        return 2.0 / math.pi * (angle + math.sin(angle) * total)
    return math.sin(angle) * total
