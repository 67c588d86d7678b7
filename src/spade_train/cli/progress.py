"""How far a run is, on stderr: a live view on a terminal, else lines."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Self

import click

if TYPE_CHECKING:
    from rich.live import Live
    from rich.table import Table

    from spade_train.config import Config

_ROWS = (
    ("success", "agent/success", "{:.1%}"),
    ("success with hint", "agent/success_hinted", "{:.1%}"),
    ("regret", "agent/regret", "{:+.3f}"),
    ("mean level", "agent/level_mean", "{:.2f}"),
    ("accepted programs", "designer/acceptance", "{:.1%}"),
    ("held-out success", "eval/success", "{:.1%}"),
    ("agent episodes", "budget/agent_episodes", "{:,.0f}"),
    ("tokens", "budget/generated_tokens", "{:,.0f}"),
)

_WORDS = (
    ("success", "agent/success"),
    ("with hint", "agent/success_hinted"),
    ("regret", "agent/regret"),
    ("accepted", "designer/acceptance"),
    ("held-out", "eval/success"),
)


def say(update: str, values: Mapping[str, float]) -> bool:
    """Print the main numbers of an update in one line; return whether anybody reads it.

    Args:
        update: names it.
        values: its metrics.
    """
    parts = [f"{word} {values[key]:.2f}" for word, key in _WORDS if key in values]
    try:
        click.echo(f"{update}: {', '.join(parts)}" if parts else update, err=True)
    except OSError:  # a pipe that was closed must not end the training
        return False
    return True


class Progress:
    """Shows the numbers of the last update on stderr while entered; nothing if not `shown`."""

    def __init__(
        self, folder: Path, config: Config | None, *, shown: bool, lines: bool = False
    ) -> None:
        """Take what is to be shown.

        Args:
            folder: of the run.
            config: says how many updates there will be; None if that is unknown.
            shown: whether there is a live view.
            lines: whether there is a line for each update.
        """
        self._folder, self._shown, self._lines = folder, shown, lines
        self._total = config.run.updates if config else 0
        self._seen: dict[str, float] = {}
        self._first: tuple[int, float] | None = None
        self._live: Live | None = None

    def show(self, update: int, values: Mapping[str, float]) -> None:
        """Take the metrics of an update."""
        now = time.monotonic()
        self._first = self._first or (update, now)
        self._seen |= values
        if self._lines:
            self._lines = say(self._line(update, values), values)
        if not self._shown:
            return
        if self._live is None:  # not before: of several processes only the main one gets here
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(stderr=True), auto_refresh=False)
            self._live.start()
        self._live.update(self._table(update, now), refresh=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def _line(self, update: int, values: Mapping[str, float]) -> str:
        """Return the name of what the numbers are of."""
        if "train/learning_rate" not in values:
            return "last evaluation"
        # What waits for its score at the end is trained in one more update.
        return f"update {update + 1}" + (f" of {self._total}" if update < self._total else "")

    def _table(self, update: int, now: float) -> Table:
        from rich.table import Table

        table = Table.grid(padding=(0, 2))
        table.title = f"{self._folder}"
        of = f" of {self._total}" if self._total else ""
        table.add_row("update", f"{update + 1}{of}{self._left(update, now)}")
        for name, key, form in _ROWS:
            if key in self._seen:
                table.add_row(name, form.format(self._seen[key]))
        return table

    def _left(self, update: int, now: float) -> str:
        first, begun = self._first or (update, now)
        if update <= first or not self._total:
            return ""
        left_s = (now - begun) / (update - first) * max(0, self._total - update - 1)
        return f", {left_s // 60:.0f} min {left_s % 60:02.0f} s left"
