"""The whole loop with the bundled model, within some minutes, and then its report."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from spade_train.config import Config, resolve
from spade_train.launch import Summary, Watch, train
from spade_train.reports import read, render, write_page
from spade_train.reports.figures import Figures, figures
from spade_train.reports.series import number
from spade_train.runs import Events, read_events
from spade_train.runs.directory import read_run
from spade_train.runs.records import TIME_OVER
from spade_train.studies.outcome import finished

PRESET = "quickstart"
_LAST_S = 30.0
"""Seconds for loading the model once more, and for the report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quickstart:
    """A quickstart that was run, as far as it came."""

    folder: Path
    page: Path
    figures: Figures
    finished: bool
    """False if it was interrupted; the same command goes on then."""
    was_finished: bool = False
    """Whether there was nothing left to do."""


def quickstart(
    out: Path,
    *,
    minutes: float,
    made_at: Callable[[], str],
    updates: int = 0,
    seed: int = 0,
    watch: Watch | None = None,
) -> Quickstart:
    """Train with the preset `quickstart`, or go on with it, and write the page.

    The clock decides only how many updates there are: the last one is that after which another and
    the evaluation that ends every run would not fit any more.

    Args:
        out: folder of the run, new or of an earlier quickstart.
        minutes: time for this call, > 0.
        made_at: gives the time as text for people; called when the page is made.
        updates: updates in all; 0 takes the preset's.
        seed: seed of the run.
        watch: called with the number and the metrics of every update.

    Raises:
        ConfigError: the folder holds another run.
        HealthError: the run stopped by its limits.
    """
    deadline = time.monotonic() + 60.0 * minutes - _LAST_S
    there = (out / "run.json").is_file()
    settings = [f"run.seed={seed}", *([f"run.updates={updates}"] if updates else [])]
    config = resolve(PRESET, settings=settings)
    if there and finished(read(out)) and (not updates or read(out).updates >= updates):
        return _reported(out, made_at, was_finished=True)
    if there and not updates:
        config = _longer(config, read_run(out)[1].run.updates)
    timed = _Timed(out, deadline, watch)
    summary = train(config, out, resume=there, watch=timed)
    if timed.over and summary.stopped.startswith("signal"):
        _finish(out, summary, watch)
    return _reported(out, made_at)


class _Timed:
    """Passes metrics on until the time is over, and then asks the run to stop."""

    def __init__(self, out: Path, deadline: float, watch: Watch | None) -> None:
        self.over = False
        self._out, self._deadline, self._watch = out, deadline, watch
        self._last: float | None = None
        self._longest_s = self._evaluation_s = 0.0

    def __call__(self, update: int, values: Mapping[str, float]) -> None:
        if self._watch is not None:
            self._watch(update, values)
        now = time.monotonic()
        if self._last is None or "eval/success" in values:
            self._evaluation_s = _evaluation_s(self._out)
        else:
            self._longest_s = max(self._longest_s, now - self._last)
        self._last = now
        # Another update, and the evaluation that ends the run, must fit.
        if not self.over and now + self._longest_s + self._evaluation_s > self._deadline:
            self.over = True
            signal.raise_signal(signal.SIGTERM)  # which a run takes as: this update is the last


def _evaluation_s(out: Path) -> float:
    """Return the longest time that an evaluation of the run has taken."""
    events = read_events(out / "events.jsonl")
    times = [event.get("wall_s") for event in events if event["kind"] == "evaluated"]
    return max((value for value in times if number(value)), default=0.0)


def _longer(config: Config, updates: int) -> Config:
    """Return the configuration with another number of updates."""
    run = config.run.model_copy(update={"updates": updates})
    return config.model_copy(update={"run": run})


def _finish(out: Path, summary: Summary, watch: Watch | None) -> None:
    """Declare the update that was last in time the last one, which ends the run by itself."""
    old = read_run(out)[1]
    done, planned = summary.updates, old.run.updates
    ended = train(_longer(old, done), out, resume=True, watch=watch).stopped
    if ended == "updates" and done < planned:
        events = Events(out / "events.jsonl")
        events.note(TIME_OVER, done, planned=planned)
        events.close()


def _reported(out: Path, made_at: Callable[[], str], *, was_finished: bool = False) -> Quickstart:
    record = read(out)
    page = out / "report.html"
    write_page(page, render(record, made_at=made_at()))
    return Quickstart(
        folder=out,
        page=page,
        figures=figures(record),
        finished=finished(record),
        was_finished=was_finished,
    )
