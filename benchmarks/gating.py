"""Gates: how long a verdict takes, at two depths. No bar; the plans of a run depend on it."""

from __future__ import annotations

import functools
import time
from dataclasses import replace
from importlib import resources

from benchmarks.timing import Depth, Result, Scale, Series, interleave
from spade_envs.gates import check
from spade_envs.sandbox import default_sandbox
from spade_envs.store.discovery import starter_path
from spade_envs.store.envstore import open_store
from spade_envs.types import EnvSource

EXAMPLES = ("text", "tool")


def run(scale: Scale) -> Result:
    """Measure the seconds until each of a few sources has its report; at most three rounds."""
    verdicts: dict[str, str] = {}

    def verdict(label: str, source: EnvSource, depth: Depth) -> float:
        start = time.perf_counter()
        report = check(source, depth=depth, seeds=scale.seeds)
        seconds = time.perf_counter() - start
        state = "no gate failed" if not report.failures else f"{len(report.failures)} failed"
        verdicts[label] = f"{label}: {len(report.results)} gates, {state}"
        return seconds

    contenders = {
        label: functools.partial(verdict, label, source, depth)
        for name, source in _programs(scale.programs)
        for depth in scale.depths
        for label in [f"{name}, {depth}"]
    }
    default_sandbox()  # starting it is no part of a verdict
    taken = interleave(replace(scale, rounds=min(scale.rounds, 3), warm_up=False), contenders)
    series = tuple(Series(name, "s", samples) for name, samples in taken.items())
    rates = [
        f"{depth} depth: {len(chosen) / sum(one.median for one in chosen):.2f} programs/s"
        for depth in scale.depths
        for chosen in [[one for one in series if one.name.endswith(depth)]]
    ]
    return Result("gating", series, (), (*rates, *verdicts.values()))


def _programs(count: int) -> list[tuple[str, EnvSource]]:
    """Return a few starter environments; the designer's two examples while there are none."""
    place = starter_path()
    if place is not None:
        store = open_store(place)
        records = [record for record in store.records() if record.withdrawn is None]
        every = max(1, len(records) // count)
        chosen = records[::every][:count]
        if chosen:
            return [(record.id, store.source(record)) for record in chosen]
    folder = resources.files("spade_envs.design") / "prompts" / "examples"
    return [
        (name, EnvSource(code=(folder / f"{name}.py").read_text(encoding="utf-8"), origin=name))
        for name in EXAMPLES[:count]
    ]
