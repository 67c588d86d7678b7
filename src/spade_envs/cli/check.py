"""`check`: run the gates on anything and say what is wrong."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from spade_envs.cli.stores import json_option, source_of, store_option

if TYPE_CHECKING:
    from spade_envs.gates.subject import Depth


@click.command("check")
@click.argument("targets", metavar="FILE|ID...", nargs=-1, required=True)
@click.option("--quick", "depth", flag_value="quick", help="Fewer seeds: about a second.")
@click.option("--deep", "depth", flag_value="deep", help="Every gate, even after failures.")
@click.option("--seeds", type=click.IntRange(3, 1000), default=20, show_default=True)
@click.option(
    "--deadline",
    "deadline_s",
    type=click.FloatRange(1),
    default=120.0,
    show_default=True,
    help="Seconds for one target; gates left over are skipped.",
)
@click.option("--all", "every", is_flag=True, help="Show the gates that passed, too.")
@store_option
@json_option
def check_command(
    targets: tuple[str, ...],
    depth: Depth | None,
    seeds: int,
    deadline_s: float,
    every: bool,
    store: str | None,
    as_json: bool,
) -> None:
    """Run the gates on files or registered environments.

    Exit code 0 if every one is accepted, 1 if one is refused.
    """
    from spade_envs.cli.main import FOUND
    from spade_envs.cli.output import echo_json, progress
    from spade_envs.cli.verdicts import print_report
    from spade_envs.gates import check, report_to_json

    sources = [(target, source_of(target, store)) for target in targets]
    reports = []
    with progress(len(sources), "checking") as bar:
        for target, source in sources:
            report = check(source, depth=depth or "standard", seeds=seeds, deadline_s=deadline_s)
            reports.append((target, report))
            bar.advance(bar.task_ids[0])
            if not as_json:
                bar.stop()
                print_report(target, report, every=every)
                bar.start()
    if as_json:
        keys = ("target", "accepted", "report")
        rows = [(target, report.accepted, report_to_json(report)) for target, report in reports]
        echo_json([dict(zip(keys, row, strict=True)) for row in rows])
    elif len(reports) > 1:
        accepted = sum(report.accepted for _, report in reports)
        click.echo(f"{accepted} of {len(reports)} accepted")
    if not all(report.accepted for _, report in reports):
        sys.exit(FOUND)
