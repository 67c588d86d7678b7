"""`spade-train quickstart`: the whole loop with the bundled model."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import click

_LINE_UPDATES = 5


@click.command("quickstart")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("runs/quickstart"),
    show_default=True,
    help="Folder of the run; if one is there already, it is gone on with.",
)
@click.option(
    "--minutes",
    type=click.FloatRange(min=0.5),
    default=10.0,
    show_default=True,
    help="Time for training and evaluation.",
)
@click.option("--updates", type=click.IntRange(min=1), help="Updates in all; the preset's if none.")
@click.option("--seed", default=0, show_default=True)
@click.option("--quiet", is_flag=True, help="Show no progress.")
def quickstart_command(
    out: Path, minutes: float, updates: int | None, seed: int, quiet: bool
) -> None:
    """Let the bundled tiny model design environments and learn from them, and write a report.

    Ctrl-C ends it after the update under way; the same command goes on.

    Exit codes: 0 done, 1 stopped by its health limits, 2 wrong usage, 3 the machinery failed, 130
    interrupted.
    """
    from spade_envs.errors import ConfigError, SpadeError
    from spade_train.cli import INTERRUPTED, MACHINERY
    from spade_train.cli.needs import need_training
    from spade_train.cli.progress import Progress
    from spade_train.config import resolve
    from spade_train.errors import HealthError
    from spade_train.reports.figures import sentences
    from spade_train.studies.quickstart import PRESET, quickstart

    need_training()
    config = resolve(PRESET, settings=[f"run.updates={updates}"] if updates else [])
    live = not quiet and sys.stderr.isatty()
    lines = _Lines(config.run.updates, shown=not quiet and not live)
    if not quiet:
        click.echo(
            "writing held-out environments, loading the model, first evaluation ...", err=True
        )
    try:
        with Progress(out, config, shown=live) as progress:
            done = quickstart(
                out,
                minutes=minutes,
                made_at=lambda: datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
                updates=updates or 0,
                seed=seed,
                watch=progress.show if live else lines.show,
            )
    except HealthError as error:
        click.echo(f"stopped: {error}", err=True)
        sys.exit(1)
    except ConfigError:
        raise
    except SpadeError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(MACHINERY)
    if done.was_finished:
        click.echo("this quickstart is done already; its page was made anew", err=True)
    if not done.finished:
        click.echo("interrupted; the same command goes on", err=True)
    trained, planned = done.figures.updates, done.figures.planned_updates
    if done.finished and trained < planned and not quiet:
        click.echo(f"its time was over after {trained} of at most {planned} updates", err=True)
    for text in sentences(done.figures)[:5]:
        click.echo(text)
    click.echo(str(done.page))
    if not done.finished:
        sys.exit(INTERRUPTED)


class _Lines:
    """Progress where there is no terminal: a line now and then."""

    def __init__(self, updates: int, *, shown: bool) -> None:
        self._updates, self._shown = updates, shown

    def show(self, update: int, values: Mapping[str, float]) -> None:
        """Take the metrics of an update."""
        from spade_train.cli.progress import say

        number, trained = update + 1, "train/learning_rate" in values
        if not self._shown or (trained and number > 1 and number % _LINE_UPDATES):
            return
        name = f"update {number} of at most {self._updates}" if trained else "last evaluation"
        self._shown = say(name, values)
