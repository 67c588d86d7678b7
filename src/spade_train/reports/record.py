"""A run as its folder holds it: read-only, and whatever state it was left in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from spade_envs.types import Json
from spade_train.config import Config
from spade_train.errors import StateError
from spade_train.runs import effective
from spade_train.runs.directory import read_run
from spade_train.runs.jsonl import read_lines
from spade_train.runs.records import RESUMED, TIME_OVER


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """Everything that a report reads of a run."""

    path: Path
    run: str
    """Id of the run."""
    config: Config
    metrics: tuple[Mapping[str, Json], ...]
    """Lines of metrics.jsonl, by ascending `update`."""
    events: tuple[Mapping[str, Json], ...]
    """Events that still hold; what a resume repeated is left out once."""
    resumes: int
    """Times that the run was taken up again, not counting for the evaluation at its time's end."""
    notes: tuple[str, ...] = ()
    """What could not be read, one sentence each."""

    @property
    def store_path(self) -> Path:
        """Folder of the run's own envstore; it need not be there."""
        return self.path / "envstore"

    @property
    def updates(self) -> int:
        """Updates that were trained; the last evaluation has a line of its own behind them."""
        trained = (line for line in reversed(self.metrics) if "train/loss" in line)
        return int(next(trained, {"update": -1})["update"]) + 1

    @property
    def time_over(self) -> bool:
        """Whether a limit of time made the last update the last."""
        return self._planned is not None

    @property
    def planned_updates(self) -> int:
        """The most updates that were asked for, of which a limit of time may have let fewer be."""
        return self._planned or self.config.run.updates

    @property
    def _planned(self) -> int | None:
        marks = [e for e in self.events if e["kind"] in (RESUMED, TIME_OVER)]
        planned = marks[-1].get("planned") if marks else None
        return planned if isinstance(planned, int) else None

    @property
    def stopped(self) -> str:
        """Why the run ended, in its own words; empty if it has not, or was killed."""
        ends = [n for n, event in enumerate(self.events) if event["kind"] == "stopped"]
        starts = [n for n, event in enumerate(self.events) if event["kind"] == RESUMED]
        if not ends or (starts and starts[-1] > ends[-1]):
            return ""
        return str(self.events[ends[-1]].get("why") or "no reason given")

    def of_kind(self, kind: str) -> Iterator[Mapping[str, Json]]:
        """Give the events of a kind in order."""
        return (event for event in self.events if event["kind"] == kind)


def read(path: Path) -> RunRecord:
    """Read a run that is finished, was killed, or is being trained; nothing is written or locked.

    A torn last line is passed over. After a damaged line the rest of its file is left out, and
    `notes` says so.

    Raises:
        ConfigError: the folder holds no run, or its configuration cannot be read.
        StateError: the run was made by a newer release, or its marker is damaged.
    """
    run, config = read_run(path)
    notes: list[str] = []
    metrics = _lines(path / "metrics.jsonl", notes)
    raw = [event for event in _lines(path / "events.jsonl", notes) if _named(event)]
    kinds = [event["kind"] for event in raw]
    by_update = {int(line["update"]): line for line in metrics}
    return RunRecord(
        path=path,
        run=run,
        config=config,
        metrics=tuple(by_update[update] for update in sorted(by_update)),
        events=effective(raw),
        resumes=max(0, kinds.count(RESUMED) - kinds.count(TIME_OVER)),
        notes=tuple(notes),
    )


def _lines(path: Path, notes: list[str]) -> list[Mapping[str, Json]]:
    found: list[Mapping[str, Json]] = []
    try:
        for line in read_lines(path):
            found.append(line)
    except StateError as error:
        notes.append(f"{error}. What follows is left out of this report.")
    return found


def _named(event: Mapping[str, Json]) -> bool:
    return isinstance(event.get("kind"), str)
