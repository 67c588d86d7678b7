"""Metrics and events of a run: one line each, in `metrics.jsonl` and `events.jsonl`."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from spade_envs.types import Json
from spade_train.errors import DataError, StateError
from spade_train.runs.jsonl import JsonLines, read_lines

RESUMED = "resumed"
TIME_OVER = "time-over"
"""A limit of time made an update the last; `planned` is the number of updates before that."""
_KEY = re.compile(r"[a-z0-9_\-]+(/[a-z0-9_\-.]+)*")
_KIND = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class Metrics:
    """Numbers per update that follow from configuration and seed alone.

    Times and machine loads have no place here: they go to events. That is why the metrics of a run
    that was killed and resumed equal those of one that was not.
    """

    def __init__(self, path: Path) -> None:
        self._lines = JsonLines(path)
        self._last = max((line["update"] for line in read_lines(path)), default=-1)

    def log(self, update: int, values: Mapping[str, float]) -> None:
        """Write the numbers of one update.

        Args:
            update: number of the update, greater than that of the line before.
            values: name, such as `agent/success`, to number.

        Raises:
            DataError: the update is not the next one, or a name is not of lower-case words.
            StateError: the disk took only a part of the line.
        """
        if update <= self._last:
            raise DataError(f"metrics of update {update} come after those of {self._last}")
        odd = [name for name in values if not _KEY.fullmatch(name) or name == "update"]
        if odd:
            raise DataError(f"{odd[0]!r} is no name of a metric; write it like agent/success")
        self._lines.append({"update": update, **values})
        self._last = update

    def keep_through(self, update: int) -> int:
        """Drop the lines of later updates; give their number."""
        dropped = self._lines.keep_through(update)
        self._last = min(self._last, update)
        return dropped

    def sync(self) -> None:
        """Make what was written survive a power cut."""
        self._lines.sync()

    def close(self) -> None:
        """Sync and close."""
        self._lines.close()


class Events:
    """What happened, when: never shortened, not even at a resume."""

    def __init__(self, path: Path) -> None:
        self._lines = JsonLines(path)

    def note(self, kind: str, update: int, /, **fields: Json) -> None:
        """Write one event.

        Args:
            kind: what happened, such as `environment-accepted`.
            update: number of the update in which it happened; -1 before the first.
            fields: whatever belongs to it, as plain JSON.

        Raises:
            DataError: the kind is not of lower-case words, or a field hides one of ours.
            StateError: the disk took only a part of the line.
        """
        if not _KIND.fullmatch(kind) or fields.keys() & {"kind", "update", "unix_s"}:
            raise DataError(f"not an event: {kind!r} with {', '.join(fields)}")
        now = round(time.time(), 3)
        self._lines.append({"kind": kind, "update": update, "unix_s": now, **fields})

    def sync(self) -> None:
        """Make what was written survive a power cut."""
        self._lines.sync()

    def close(self) -> None:
        """Sync and close."""
        self._lines.close()


def read_metrics(path: Path) -> tuple[dict[str, Json], ...]:
    """Return the lines of `metrics.jsonl` so far, each with its `update`.

    Raises:
        StateError: a whole line is no record.
    """
    return tuple(read_lines(path))


def read_events(path: Path) -> tuple[dict[str, Json], ...]:
    """Return the lines of `events.jsonl` so far, each with `kind`, `update` and `unix_s`.

    Raises:
        StateError: a whole line is no event.
    """
    events = tuple(read_lines(path))
    for number, event in enumerate(events, 1):
        if not isinstance(event.get("kind"), str) or not _is_number(event.get("unix_s")):
            raise StateError(f"{path}: line {number} is no event; cut the file there")
    return events


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def effective(events: Iterable[Mapping[str, Json]]) -> tuple[Mapping[str, Json], ...]:
    """Return the events that still hold: those that a resume went back behind are left out.

    Args:
        events: all events in order. One of the kind `resumed` bears the update of the checkpoint
            that was loaded; what happened before it in later updates happened again after it.
            Without a checkpoint all of it did, a pool that was written beforehand too.
    """
    kept: list[Mapping[str, Json]] = []
    for event in events:
        if event.get("kind") == RESUMED:
            last = event["update"]
            kept = [each for each in kept if each["update"] <= last] if last >= 0 else []
        kept.append(event)
    return tuple(kept)
