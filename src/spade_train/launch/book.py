"""Where the loop's records go: the run's files, its sinks, and whoever watches."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from spade_envs.store.plays import Plays, PlayWriter
from spade_envs.types import Json
from spade_train.runs import RunDir, Sink

Watch = Callable[[int, Mapping[str, float]], None]
"""Called with the number and the metrics of each update."""


class RunBook:
    """The records of a run, written by its main process."""

    def __init__(
        self,
        run: RunDir,
        sinks: Sequence[Sink] = (),
        watch: Watch | None = None,
        *,
        store: Path | None = None,
    ) -> None:
        """Take the records.

        Args:
            run: the run's folder.
            sinks: further places for the numbers.
            watch: called with the numbers of each update.
            store: root of the store whose ledger knows the plays; None keeps none.
        """
        self._run, self._sinks, self._watch = run, tuple(sinks), watch
        self._plays = None if store is None else PlayWriter(store, _slug(run.run), fresh=False)

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

    def plays(self, lines: Sequence[Plays]) -> None:
        """Add plays to the ledger of the run's store; lines that it has are passed over."""
        if self._plays is not None:
            run = self._run.run
            self._plays.append(replace(line, policy=run, key=f"{run}/{line.key}") for line in lines)


class NoBook:
    """What every process but the main one writes to."""

    def log(self, update: int, values: Mapping[str, float]) -> None:
        """Write nothing."""

    def note(self, kind: str, update: int, /, **fields: Json) -> None:
        """Write nothing."""

    def plays(self, lines: Sequence[Plays]) -> None:
        """Write nothing."""


def _slug(run: str) -> str:
    """Return the name of a run as a ledger's writer."""
    plain = re.sub(r"[^a-z0-9]+", "-", run.lower()).strip("-")[:55].strip("-")
    return f"run-{plain}" if plain else "run"
