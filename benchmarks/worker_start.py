"""Starting and ending a worker while the zygote is warm, beside a fresh Python process."""

from __future__ import annotations

import statistics
import subprocess
import sys

from benchmarks.timing import Claim, Result, Scale, Series, elapsed_ms, interleave
from benchmarks.workload import load
from spade_envs.sandbox import Worker

START_BAR_MS = 25.0
STARTS = 5


def run(scale: Scale) -> Result:
    """Measure the milliseconds until a source is loaded in a worker of its own, and until it ends.

    A sample is the median of five workers, each of which is closed before the next one starts.
    """
    started: list[Worker] = []
    closing: list[float] = []

    def start() -> None:
        started.append(load())

    def start_some() -> float:
        starts, ends = [], []
        for _ in range(STARTS):
            starts.append(elapsed_ms(start))
            ends.append(elapsed_ms(started.pop().close))
        closing.append(statistics.median(ends))
        return statistics.median(starts)

    def start_python() -> float:
        command = [sys.executable, "-S", "-s", "-c", "pass"]
        return elapsed_ms(lambda: subprocess.run(command, check=True))

    first_ms = elapsed_ms(start)
    started.pop().close()
    names = {"worker start": start_some, "fresh python -S -c pass": start_python}
    taken = interleave(scale, names)
    taken["worker close"] = tuple(closing[-scale.rounds :])
    series = tuple(Series(name, "ms", samples) for name, samples in taken.items())
    claim = Claim("warm start of a worker, in ms", series[0].median, START_BAR_MS, False)
    note = f"first start in this process, the zygote with it if need be: {first_ms:.0f} ms"
    return Result("worker-start", series, (claim,), (note,))
