"""Where the loop's records go: the run's files, its sinks, and whoever watches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from spade_envs.types import Json
from spade_train.runs import RunDir, Sink

Watch = Callable[[int, Mapping[str, float]], None]
"""Called with the number and the metrics of each update."""


class RunBook:
    """The records of a run, written by its main process."""

    def __init__(self, run: RunDir, sinks: Sequence[Sink] = (), watch: Watch | None = None) -> None:
        self._run, self._sinks, self._watch = run, tuple(sinks), watch

    def log(self, update: int, values: Mapping[str, float]) -> None:
        """Write the numbers of one update."""
        self._run.metrics.log(update, values)
        for sink in self._sinks:
            sink.log(update, values)
        if self._watch is not None:
            self._watch(update, values)

    def note(self, kind: str, update: int, /, **fields: Json) -> None:
        """Write one event."""
        self._run.events.note(kind, update, **fields)


class NoBook:
    """What every process but the main one writes to."""

    def log(self, update: int, values: Mapping[str, float]) -> None:
        """Write nothing."""

    def note(self, kind: str, update: int, /, **fields: Json) -> None:
        """Write nothing."""
