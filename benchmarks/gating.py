"""Gates: what a verdict costs, in seconds of processor time and of waiting, at each depth."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.timing import Claim, Depth, Result, Scale, Series
from spade_envs.gates import check
from spade_envs.gates.check import other_sandbox
from spade_envs.sandbox import default_sandbox
from spade_envs.store.discovery import starter_path
from spade_envs.store.envstore import open_store
from spade_envs.types import EnvSource

BARS_S: dict[Depth, float] = {"standard": 1.5, "quick": 0.4}
"""Greatest median of processor seconds an environment."""


@dataclass(frozen=True, slots=True)
class _Cost:
    cpu_s: float
    wall_s: float
    failed: int


def run(scale: Scale) -> Result:
    """Check starter environments, each at every depth in turn."""
    default_sandbox().layers  # noqa: B018  starting the sandboxes is no part of a verdict
    other_sandbox()
    costs: dict[Depth, list[_Cost]] = {depth: [] for depth in scale.depths}
    for source in _programs(scale.programs):
        for depth in scale.depths:
            costs[depth].append(_cost(source, depth, scale.seeds))
    series, claims, notes = [], [], []
    for depth, found in costs.items():
        series.append(Series(f"{depth}, processor", "s", tuple(cost.cpu_s for cost in found)))
        series.append(Series(f"{depth}, waiting", "s", tuple(cost.wall_s for cost in found)))
        if depth in BARS_S:
            median = statistics.median(cost.cpu_s for cost in found)
            text = f"{depth} check: processor seconds, median of {len(found)} environments"
            claims.append(Claim(text, median, BARS_S[depth], False))
        refused = sum(cost.failed > 0 for cost in found)
        notes.append(f"{depth}: {len(found)} environments, {refused} refused")
    return Result("gating", tuple(series), tuple(claims), tuple(notes))


def _cost(source: EnvSource, depth: Depth, seeds: int) -> _Cost:
    start, used = time.perf_counter(), _processor_s()
    report = check(source, depth=depth, seeds=seeds)
    wall_s = time.perf_counter() - start
    time.sleep(0.05)  # a worker that was told to end is counted once its parent has noticed
    return _Cost(_processor_s() - used, wall_s, len(report.failures))


def _processor_s() -> float:
    """Return the processor seconds of this process, its descendants, and those it has outlived."""
    children: dict[int, list[int]] = {}
    used: dict[int, int] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended since
        children.setdefault(int(fields[1]), []).append(int(name))
        used[int(name)] = sum(map(int, fields[11:15]))
    total = sum(used[one] for one in _family(os.getpid(), children) if one in used)
    return total / os.sysconf("SC_CLK_TCK")


def _family(first: int, children: dict[int, list[int]]) -> Iterator[int]:
    yield first
    for child in children.get(first, ()):
        yield from _family(child, children)


def _programs(count: int) -> list[EnvSource]:
    """Return starter environments, evenly chosen."""
    place = starter_path()
    if place is None:
        raise RuntimeError("the starter store is missing")
    store = open_store(place)
    records = [record for record in store.records() if record.withdrawn is None]
    every = max(1, len(records) // count)
    return [store.source(record) for record in records[::every][:count]]
