"""`spade-train report`: the page of a run."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import click


@click.command("report")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="HTML file; RUN/report.html if none.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON; a page only with --out.")
def report_command(run: Path, out: Path | None, as_json: bool) -> None:
    """Write one HTML page about a run that is finished, was killed, or is being trained."""
    from spade_train.reports import document, read, render, write_page

    record = read(run)
    if as_json:
        click.echo(json.dumps(document(record), indent=2))
    if out is not None or not as_json:
        made_at = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
        target = out if out is not None else run / "report.html"
        write_page(target, render(record, made_at=made_at))
        click.echo(str(target), err=as_json)
