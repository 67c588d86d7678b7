"""`spade-train experiments`: several comparisons over one set of runs, and their tables."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_train.studies.experiments import Result


@click.command("experiments")
@click.argument(
    "files",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path, exists=True),
    metavar="FILE...",
)
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("runs/experiments"), show_default=True
)
@click.option("--seeds", type=click.IntRange(min=1), help="In place of the files' number.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Of all arms: a.b=c.")
@click.option("--jobs", type=click.IntRange(min=1), default=2, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON in place of the tables.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def experiments_command(
    files: tuple[Path, ...],
    out: Path,
    seeds: int | None,
    settings: tuple[str, ...],
    jobs: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Run the experiments of TOML files, or of a folder, and print their tables.

    Runs that several experiments want are made once. Calling it again goes on; experiments and
    seeds may be added. OUT gets `tables.md`, and for each experiment a page and its JSON.

    Exit codes: 0 done, 1 a run failed, 2 wrong usage, 3 the machinery failed, 130 interrupted.
    """
    from spade_train.cli import INTERRUPTED, MACHINERY
    from spade_train.cli.needs import need_training
    from spade_train.cli.study_view import StudyView
    from spade_train.errors import DataError, StateError
    from spade_train.studies.experiments import read_plan, run_plan, write_results

    need_training()
    plan = read_plan(files, out, seeds=seeds, settings=settings)
    if not quiet:
        runs = len(plan.study.arms) * len(plan.study.seeds)
        click.echo(f"{len(plan.experiments)} experiments, {runs} runs, in {out}", err=True)
    try:
        with StudyView(shown=not quiet) as view:
            results = run_plan(plan, out, at_once=jobs, show=view.show, say=view.say)
    except (DataError, StateError) as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(MACHINERY)
    made_at = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    text = write_results(results, out, made_at=made_at)
    click.echo(json.dumps(_plain(results), indent=2) if as_json else text)
    click.echo(str(out / "tables.md"), err=True)
    if any(each.found.interrupted for each in results):
        click.echo("interrupted; the same command goes on", err=True)
        sys.exit(INTERRUPTED)
    sys.exit(1 if any(each.found.comparison.failures for each in results) else 0)


def _plain(results: Sequence[Result]) -> list[object]:
    from spade_train.studies.experiments import plain_result

    return [plain_result(each) for each in results]
