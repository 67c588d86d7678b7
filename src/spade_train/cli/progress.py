"""A live view of a run on the terminal."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Self

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


class Progress:
    """Shows the numbers of the last update on stderr while entered; nothing if not `shown`."""

    def __init__(self, folder: Path, config: Config | None, *, shown: bool) -> None:
        self._folder, self._shown = folder, shown
        self._total = config.run.updates if config else 0
        self._seen: dict[str, float] = {}
        self._first: tuple[int, float] | None = None
        self._live: Live | None = None

    def show(self, update: int, values: Mapping[str, float]) -> None:
        """Take the metrics of an update."""
        now = time.monotonic()
        self._first = self._first or (update, now)
        self._seen |= values
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
