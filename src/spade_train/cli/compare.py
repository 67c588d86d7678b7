"""`spade-train compare`: ways of training against each other, over seeds, at equal cost."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.table import Table

    from spade_train.studies.comparison import Comparison
    from spade_train.studies.runner import Progress

_ARMS = "coevolution,narrow-pool,narrow-pool-sliding,broad-pool,random-designer"


@click.command("compare")
@click.option("--preset", default="quickstart", show_default=True, help="Preset or TOML file.")
@click.option("--arms", default=_ARMS, show_default=True, help="The first is compared with each.")
@click.option("--control", "controls", multiple=True, help="An arm that is no baseline, as lr0.")
@click.option("--seeds", type=click.IntRange(min=1), default=5, show_default=True)
@click.option("--first-seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), help="Folder; runs/compare-PRESET if none.")
@click.option("--budget-episodes", type=click.IntRange(min=1), help="Agent episodes of each run.")
@click.option("--budget-tokens", type=click.IntRange(min=1), help="Sampled tokens of each run.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Of all arms: a.b=c.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON in place of the tables.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def compare_command(
    preset: str,
    arms: str,
    controls: tuple[str, ...],
    seeds: int,
    first_seed: int,
    out: Path | None,
    budget_episodes: int | None,
    budget_tokens: int | None,
    settings: tuple[str, ...],
    jobs: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Train every arm with every seed at equal cost; print a table with confidence intervals.

    An arm is `coevolution`, `lr0`, or an overlay (see `spade-train presets`). Without a budget, the
    first arm's run of a seed decides what the other arms may spend with that seed. Calling it again
    goes on; arms and seeds may be added.

    Exit codes: 0 done, 1 a run failed, 2 wrong usage, 3 the machinery failed, 130 interrupted.
    """
    from spade_train.cli import INTERRUPTED, MACHINERY
    from spade_train.errors import StateError
    from spade_train.studies.document import document
    from spade_train.studies.plan import study_of
    from spade_train.studies.study import conduct, write_study_page

    study = study_of(
        preset,
        tuple(name.strip() for name in arms.split(",") if name.strip()),
        tuple(range(first_seed, first_seed + seeds)),
        controls=controls,
        settings=settings,
        budget_episodes=budget_episodes or 0,
        budget_tokens=budget_tokens or 0,
    )
    folder = out or Path("runs") / f"compare-{Path(preset).stem}"
    if not quiet:
        click.echo(f"{len(study.arms)} arms, {seeds} seeds, in {folder}", err=True)
    try:
        with _View(shown=not quiet) as view:
            found = conduct(study, folder, at_once=jobs, show=view.show)
    except StateError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(MACHINERY)
    page = folder / "compare.html"
    made_at = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    write_study_page(found, page, made_at=made_at)
    if as_json:
        click.echo(json.dumps(document(found.comparison, found.outcomes), indent=2))
    else:
        _print(found.comparison)
    click.echo(str(page), err=True)
    if found.interrupted:
        click.echo("interrupted; the same command goes on", err=True)
        sys.exit(INTERRUPTED)
    sys.exit(1 if found.comparison.failures else 0)


class _View:
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

    def __enter__(self) -> _View:
        if self._live is not None:
            self._live.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.__exit__(None, None, None)

    def show(self, runs: Sequence[Progress]) -> None:
        """Take how far every run is."""
        if self._live is not None:
            self._live.update(_table(runs), refresh=True)
        elif self._shown:
            for run in runs:
                key = (run.job.name, run.state)
                if run.state != "waiting" and key not in self._told:
                    self._told.add(key)
                    click.echo(f"{run.job.name}: {run.state}{_short(run)}", err=True)


def _short(run: Progress) -> str:
    held = run.last.get("eval/success")
    success = f", held-out success {held:.1%}" if held is not None else ""
    return f", {run.updates} updates{success}{': ' + run.note if run.note else ''}"


def _table(runs: Sequence[Progress]) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 1))
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


def _print(found: Comparison) -> None:
    from spade_train.studies.comparison import count, lead, share, verdicts

    if found.best_unseen:
        unseen = [("arm", "n", "success on unseen families", "lead, in points")]
        for row in found.rows:
            seeds = str(row.unseen.seeds if row.unseen is not None else 0)
            unseen.append((row.arm, seeds, share(row.unseen), lead(row.unseen_lead)))
        _print_table(unseen)
    rows = [("arm", "n", "held-out success", "lead, in points", "regret", "episodes")]
    for row in found.rows:
        regret = f"{row.regret_last.mean:+.3f}" if row.regret_last is not None else "–"
        cost = count(row.agent_episodes)
        held_out = share(row.held_out)
        rows.append((row.arm, str(len(row.seeds)), held_out, lead(row.lead), regret, cost))
    _print_table(rows)
    for text in (*verdicts(found), *found.failures):
        click.echo(text)
    click.echo(
        "n: seeds. Lead: of the first arm over this one, seed by seed. Regret: last quarter."
    )
    click.echo("Brackets: 95 % intervals over seeds.")
    if found.best_unseen:
        click.echo("Unseen: held-out families that the seed's smallest fixed pool does not hold.")


def _print_table(rows: Sequence[tuple[str, ...]]) -> None:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for line in rows:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        click.echo("  ".join(cells).rstrip())
    click.echo()
