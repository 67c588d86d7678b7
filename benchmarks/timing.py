"""Interleaved measuring, and the values that a benchmark returns.

On a shared machine two figures can only be compared if they were taken side by side. So contenders
take turns, each round in another order, and a claim is about medians of one and the same run.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

Measure = Callable[[], float]
Depth = Literal["quick", "standard", "deep"]


@dataclass(frozen=True, slots=True)
class Scale:
    """How much to measure.

    Args:
        rounds: turns that every contender takes, >= 1.
        warm_up: take one turn more, the first, and throw it away.
        steps: calls to `step` in one measurement, < 1000 (the longest episode of the contract).
        together: environments in the widest batch.
        stored: environments in the store that is imported.
        programs: environments that are put through the gates.
        depths: how deep the gates look.
        seeds: episodes that the gates play for each level.
        written: environments that nano writes in each run.
        seed: of what nano writes, >= 0.
        versions: environments in the store that is listed and verified.
        corpus_mib: size of the corpus that is indexed, in MiB, >= 33 (less is not indexed on disk).
        vectors: environments in the memory.
        questions: that the memory is asked.
    """

    rounds: int = 15
    warm_up: bool = True
    steps: int = 300
    together: int = 64
    stored: int = 10_000
    programs: int = 24
    depths: tuple[Depth, ...] = ("quick", "standard")
    seeds: int = 20
    vectors: int = 100_000
    questions: int = 200
    corpus_mib: int = 256
    written: int = 200
    seed: int = 0
    versions: int = 50_000

    def at_most(self, rounds: int) -> Scale:
        """Return the same with fewer rounds, and none to warm up, for what takes long."""
        return replace(self, rounds=min(self.rounds, rounds), warm_up=False)


TINY = Scale(
    rounds=1,
    warm_up=False,
    steps=10,
    together=4,
    stored=40,
    programs=1,
    depths=("quick",),
    seeds=3,
    vectors=200,
    questions=3,
    corpus_mib=33,
    written=3,
    versions=48,
)
"""Runs everything once; the figures mean nothing."""


@dataclass(frozen=True, slots=True)
class Series:
    """One contender's samples, one per round, in `unit`."""

    name: str
    unit: str
    samples: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle sample."""
        return statistics.median(self.samples)


@dataclass(frozen=True, slots=True)
class Claim:
    """A figure made of medians, and the bar it is held against.

    Args:
        text: what the figure is.
        value: what was measured.
        bar: least or greatest value that passes.
        at_least: whether `bar` is the least value.
    """

    text: str
    value: float
    bar: float
    at_least: bool

    @property
    def met(self) -> bool:
        """Whether the figure passes."""
        return self.value >= self.bar if self.at_least else self.value <= self.bar


@dataclass(frozen=True, slots=True)
class Table:
    """Words and counts, for benchmarks that measure more than time."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Result:
    """What one benchmark found."""

    name: str
    series: tuple[Series, ...]
    claims: tuple[Claim, ...] = ()
    notes: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()


def interleave(scale: Scale, contenders: Mapping[str, Measure]) -> dict[str, tuple[float, ...]]:
    """Let the contenders take turns, each round starting with another one, and return the samples.

    Args:
        scale: says how many rounds there are.
        contenders: functions that measure once and return the figure.
    """
    names = list(contenders)
    samples: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(0 if scale.warm_up else 1, scale.rounds + 1):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            gc.collect()
            figure = contenders[name]()
            if turn:
                samples[name].append(figure)
    return {name: tuple(taken) for name, taken in samples.items()}


def p50_us(calls: int, act: Callable[[], object], *, group: int = 1) -> float:
    """Return the median of the microseconds that a call of `act` takes.

    On a busy machine most of a mean is waiting for a processor; the median call waits for none.

    Args:
        calls: number of calls, >= 1.
        act: what is called.
        group: calls that are timed together, so that the clock itself does not count.
    """
    laps = []
    for first in range(0, calls, group):
        count = min(group, calls - first)
        start = time.perf_counter()
        for _ in range(count):
            act()
        laps.append((time.perf_counter() - start) / count)
    return statistics.median(laps) * 1e6


def elapsed_ms(act: Callable[[], object]) -> float:
    """Return the milliseconds that `act` takes."""
    start = time.perf_counter()
    act()
    return (time.perf_counter() - start) * 1e3
