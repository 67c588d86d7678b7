"""The runs of a study on stderr while they run."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.table import Table

    from spade_train.studies.runner import Progress


class StudyView:
    """Every run of a study on stderr: live on a terminal, else one line when a run ends."""

    def __init__(self, *, shown: bool) -> None:
        from rich.console import Console
        from rich.live import Live

        console = Console(stderr=True)
        self._shown = shown
        self._live = (
            Live(console=console, auto_refresh=False) if shown and console.is_terminal else None
        )
        self._told: set[tuple[str, str]] = set()
        self._begun: tuple[float, float] | None = None

    def __enter__(self) -> StudyView:
        if self._live is not None:
            self._live.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.__exit__(None, None, None)

    def show(self, runs: Sequence[Progress]) -> None:
        """Take how far every run is."""
        left = self._left(runs)
        if self._live is not None:
            self._live.update(_table(runs, left), refresh=True)
        elif self._shown:
            for run in runs:
                key = (run.job.name, run.state)
                if run.state != "waiting" and key not in self._told:
                    self._told.add(key)
                    click.echo(f"{run.job.name}: {run.state}{_short(run)}{left}", err=True)

    def say(self, text: str) -> None:
        """Show a sentence."""
        if self._shown:
            click.echo(text, err=True)

    def _left(self, runs: Sequence[Progress]) -> str:
        """Return the time that is left, as if all runs took as many episodes as those before."""
        done, now = _done(runs), time.monotonic()
        self._begun = self._begun or (done, now)
        before, begun = self._begun
        if done <= before or done >= len(runs):
            return ""
        left_s = (now - begun) / (done - before) * (len(runs) - done)
        return f", about {max(1, round(left_s / 60)):.0f} min left"


def _done(runs: Sequence[Progress]) -> float:
    """Return the runs that are done, each under way as the part of it that is."""
    spent = [(run.state, run.last.get("budget/agent_episodes", 0.0)) for run in runs]
    most = max((cost for state, cost in spent if state == "done"), default=0.0)
    parts = (
        1.0 if state in ("done", "failed") else min(1.0, cost / most) if most else 0.0
        for state, cost in spent
    )
    return sum(parts)


def _short(run: Progress) -> str:
    held = run.last.get("eval/success")
    success = f", held-out success {held:.1%}" if held is not None else ""
    return f", {run.updates} updates{success}{': ' + run.note if run.note else ''}"


def _table(runs: Sequence[Progress], left: str) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 1))
    if left:
        table.title = left.removeprefix(", ")
    for name in ("arm", "seed", "state", "updates", "episodes", "success", "regret", "held-out"):
        table.add_column(name, justify="left" if name in ("arm", "state") else "right")
    forms = (
        ("budget/agent_episodes", "{:,.0f}"),
        ("agent/success", "{:.1%}"),
        ("agent/regret", "{:+.3f}"),
        ("eval/success", "{:.1%}"),
    )
    for run in runs:
        values = [form.format(run.last[key]) if key in run.last else "" for key, form in forms]
        updates = str(run.updates or "")
        table.add_row(run.job.arm.name, str(run.job.seed), run.state, updates, *values)
    return table
