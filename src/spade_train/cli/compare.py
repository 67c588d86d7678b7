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
    from spade_train.studies.comparison import Comparison

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
    from spade_train.cli.needs import need_training
    from spade_train.cli.study_view import StudyView
    from spade_train.errors import StateError
    from spade_train.studies.document import document
    from spade_train.studies.plan import study_of
    from spade_train.studies.study import conduct, write_study_page

    need_training()
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
        with StudyView(shown=not quiet) as view:
            found = conduct(study, folder, at_once=jobs, show=view.show)
    except StateError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(MACHINERY)
    page = folder / "compare.html"
    write_study_page(found, page, made_at=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"))
    if as_json:
        click.echo(json.dumps(document(found.comparison, found.outcomes), indent=2))
    else:
        _print(found.comparison)
    click.echo(str(page), err=True)
    if found.interrupted:
        click.echo("interrupted; the same command goes on", err=True)
        sys.exit(INTERRUPTED)
    sys.exit(1 if found.comparison.failures else 0)


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
