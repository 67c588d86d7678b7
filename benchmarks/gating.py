"""Gates: how long a verdict takes, at two depths. No bar; the plans of a run depend on it."""

from __future__ import annotations

import functools
from importlib import resources

from benchmarks.timing import Result, Scale, Series, elapsed_ms, interleave
from spade_envs.gates import check
from spade_envs.store.discovery import starter_path
from spade_envs.store.envstore import open_store
from spade_envs.types import EnvSource

PROGRAMS = 3
EXAMPLES = ("text", "tool")


def run(scale: Scale) -> Result:
    """Measure the seconds until each of a few sources has its report."""
    verdicts: dict[str, str] = {}

    def verdict(label: str, source: EnvSource, depth: str) -> float:
        seconds = elapsed_ms(lambda: reports.append(check(source, depth=depth))) / 1e3
        report = reports.pop()
        words = "accepted" if report.accepted else "not accepted"
        verdicts[label] = f"{label}: {len(report.results)} gates, {words}"
        return seconds

    reports = []
    contenders = {
        label: functools.partial(verdict, label, source, depth)
        for name, source in _programs()
        for depth in ("quick", "standard")
        for label in [f"{name}, {depth}"]
    }
    taken = interleave(min(scale.rounds, 3), contenders)
    series = tuple(Series(name, "s", samples) for name, samples in taken.items())
    rates = [
        f"{depth} depth: {len(chosen) / sum(one.median for one in chosen):.2f} programs/s"
        for depth in ("quick", "standard")
        for chosen in [[one for one in series if one.name.endswith(depth)]]
    ]
    return Result("gating", series, (), (*rates, *verdicts.values()))


def _programs() -> list[tuple[str, EnvSource]]:
    """Return a few starter environments; the designer's two examples while there are none."""
    place = starter_path()
    if place is not None:
        store = open_store(place)
        records = [record for record in store.records() if record.withdrawn is None]
        every = max(1, len(records) // PROGRAMS)
        chosen = records[::every][:PROGRAMS]
        if chosen:
            return [(record.id, store.source(record)) for record in chosen]
    folder = resources.files("spade_envs.design") / "prompts" / "examples"
    return [
        (name, EnvSource(code=(folder / f"{name}.py").read_text(encoding="utf-8"), origin=name))
        for name in EXAMPLES
    ]
