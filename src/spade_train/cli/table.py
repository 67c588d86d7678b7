"""`spade-train table`: evaluations side by side, as text in three forms and as a page."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from spade_train.evaluate.compare import Difference
    from spade_train.evaluate.records import Header
    from spade_train.evaluate.summary import Summary
    from spade_train.evaluate.table import Table


@click.command("table")
@click.argument("folders", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--layout",
    type=click.Choice(["suites", "reasoning", "tool-use", "all"]),
    default="all",
    show_default=True,
    help="One table per suite, the paper's two, or whatever has figures.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["markdown", "csv", "latex"]),
    default="markdown",
    show_default=True,
)
@click.option("--html", type=click.Path(path_type=Path), help="Write a page with plots there too.")
@click.option("--against", metavar="NAME", help="Compare every policy with this one, task by task.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON in place of the tables.")
def table_command(
    folders: tuple[Path, ...],
    layout: str,
    form: str,
    html: Path | None,
    against: str | None,
    as_json: bool,
) -> None:
    """Print tables of what `spade-train eval` left in some folders.

    Every table shows oracle and floors below the policies as far as they were played. Exit code 0,
    2 for wrong usage, such as a layout none of whose columns was played, 3 if records are damaged.
    """
    from spade_train.cli import MACHINERY
    from spade_train.errors import StateError
    from spade_train.evaluate.records import find_evaluations
    from spade_train.evaluate.summary import read_summary
    from spade_train.evaluate.table import FORMS, by_suite
    from spade_train.evaluate.table import as_json as plain

    try:
        read = [(place, read_summary(place)) for place in find_evaluations(list(folders))]
    except StateError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(MACHINERY)
    begun = [(place, one) for place, one in read if one.overall.attempts or one.faults]
    for place in sorted({place for place, _ in read} - {place for place, _ in begun}):
        click.echo(f"left out: no attempt in {place} is finished", err=True)
    places, found = [place for place, _ in begun], [one for _, one in begun]
    tables: list[Table] = []
    if layout in ("suites", "all"):
        tables += by_suite(found)
    tables += _layouts(found, layout)
    differences = _differences(places, against) if against is not None else []
    if html is not None:
        from spade_train.reports.evaluations import write_page

        made_at = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
        try:
            write_page(html, tables, differences, made_at=made_at)
        except OSError as error:
            raise click.UsageError(f"--html {html}: {error.strerror}") from error
        click.echo(str(html), err=True)
    if as_json:
        told = [_difference_json(suite, each) for suite, each in differences]
        click.echo(
            json.dumps({"tables": [plain(t) for t in tables], "differences": told}, indent=2)
        )
        return
    click.echo(FORMS[form](tables))
    if differences and form != "markdown":
        click.echo(f"differences are in Markdown, --html and --json, not in {form}", err=True)
    elif differences:
        click.echo()
        click.echo(_difference_table(differences))


def _layouts(summaries: Sequence[Summary], layout: str) -> list[Table]:
    from spade_envs.errors import ConfigError
    from spade_train.evaluate.layouts import LAYOUTS
    from spade_train.evaluate.table import by_layout

    tables = []
    for name, each in LAYOUTS.items():
        made = by_layout(summaries, each)
        if layout == name and not made.rows:
            raise ConfigError(_unfilled(name, made.columns, summaries))
        if layout == name or (layout == "all" and made.rows):
            tables.append(made)
    return tables


def _unfilled(layout: str, columns: Sequence[str], found: Sequence[Summary]) -> str:
    """Return the error of a layout that nothing belongs to: what it wants, and what is there."""
    from spade_envs.reports.visible import clean

    scored: dict[str, dict[str, None]] = {}
    for each in found:
        groups = [name for name, figures in each.groups.items() if figures.success is not None]
        scored.setdefault(each.header.suite, {}).update(dict.fromkeys(groups))
    there = [f"{suite} ({', '.join(groups) or 'no score'})" for suite, groups in scored.items()]
    return (
        f"nothing there fills a column of --layout {layout}, which are {', '.join(columns)}; "
        f"found: {clean(', '.join(there)) or 'no finished attempt'}; play one of its benchmarks "
        "with spade-train eval, or print --layout suites"
    )


def _differences(places: Sequence[Path], against: str) -> list[tuple[str, Difference]]:
    from spade_envs.errors import ConfigError
    from spade_train.evaluate.compare import compare
    from spade_train.evaluate.records import read_header
    from spade_train.evaluate.summary import asked_records
    from spade_train.evaluate.table import kind_of

    headers = [(read_header(place), place) for place in places]
    bases = [(header, place) for header, place in headers if header.player == against]
    if not bases:
        names = ", ".join(dict.fromkeys(header.player for header, _ in headers))
        raise ConfigError(f"no evaluation of {against!r} there; one of {names}")
    found = []
    for base, base_place in bases:
        for header, place in headers:
            same = header.suite_digest == base.suite_digest and place != base_place
            if same and kind_of(header.player) == "policy":
                own, other = asked_records(place, header), asked_records(base_place, base)
                try:
                    found.append((_told(header), compare((header, own), (base, other))))
                except ConfigError as error:  # one that was stopped early hides no other
                    click.echo(f"left out: {error}", err=True)
    return found


def _told(header: Header) -> str:
    """Return the name of a suite, with the store if it is one of a store."""
    store = header.labels.get("store")
    return f"{header.suite}, store: {store}" if store else header.suite


def _difference_json(suite: str, found: Difference) -> dict[str, object]:
    from dataclasses import asdict

    return {"suite": suite, **asdict(found)}


def _difference_table(found: Sequence[tuple[str, Difference]]) -> str:
    from spade_train.evaluate.table import escaped

    lines = [
        "| suite | policy | against | tasks | difference in points | p |",
        "|---|---|---|---:|---:|---:|",
    ]
    for suite, each in found:
        ends = ""
        if each.low is not None and each.high is not None:
            ends = f" [{100 * each.low:+.1f}, {100 * each.high:+.1f}]"
        lines.append(
            f"| {escaped(suite)} | {escaped(each.first)} | {escaped(each.second)} | {each.tasks} "
            f"| {100 * each.difference:+.1f}{ends} | {each.p:.3g} |"
        )
    methods = dict.fromkeys(each.method for _, each in found)
    return "\n".join([*lines, "", f"{'; '.join(methods)}. Not corrected for many comparisons."])
