"""`check`: run the gates on anything and say what is wrong."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from spade_envs.cli.many import run_options
from spade_envs.cli.stores import json_option, store_option

if TYPE_CHECKING:
    from pathlib import Path

    from spade_envs.cli.many import Run
    from spade_envs.gates.subject import Depth
    from spade_envs.reports.entry import Entry


@click.command("check")
@click.argument("targets", metavar="TARGET...", nargs=-1, required=True)
@click.option("--quick", is_flag=True, help="The gates that find most, on few seeds.")
@click.option("--deep", is_flag=True, help="Every gate, even after failures.")
@run_options
@click.option("--auditor", metavar="MODEL", help="Let a language model remark on the sources, too.")
@click.option("--auditor-url", metavar="URL", help="Server of that model, ending in /v1.")
@click.option("--html", metavar="FILE", help="Write a self-contained page with everything found.")
@click.option("--all", "every", is_flag=True, help="Show the gates that passed, too.")
@store_option
@json_option
def check_command(
    targets: tuple[str, ...],
    quick: bool,
    deep: bool,
    auditor: str | None,
    auditor_url: str | None,
    html: str | None,
    every: bool,
    store: str | None,
    as_json: bool,
    **settings: Any,
) -> None:
    """Run the gates on environments, whoever wrote them.

    TARGET is a Python file, a folder of them (with checksums if it is a pool), the folder of an
    envstore (all its versions), an id in a store, reasoning-gym:NAME (or :all), textarena:ID,
    gem:ID, gym:ID or gym:MODULE:ID, or rlve:CHECKOUT#NAME.

    Exit code 0 if every one is accepted (with --quick: passes), 1 if one is refused or could not
    be checked, 2 if one does not exist, 130 if interrupted or terminated; what was done is shown in
    any case.
    """
    from spade_envs.cli import many
    from spade_envs.cli.output import page_to_write

    page = page_to_write(html)
    if quick and deep:
        raise click.UsageError("--quick and --deep exclude each other")
    depth: Depth = "quick" if quick else "deep" if deep else "standard"
    if auditor is not None and not auditor.strip():
        raise click.UsageError("--auditor needs the name of a model")
    if auditor_url and not auditor:
        raise click.UsageError("--auditor-url needs --auditor MODEL")
    if quick and (settings["against"] or settings["known"]):
        raise click.UsageError("--against and --known need the whole check; leave out --quick")

    def show(entry: Entry) -> None:
        from spade_envs.cli.verdicts import print_entry

        if not as_json:
            print_entry(entry, every=every)

    client = many.open_auditor(auditor, auditor_url) if auditor else None
    with many.terminable():
        run = many.check_many(targets, store, depth=depth, show=show, **settings)
        if client is not None and not run.interrupted:
            run = many.ask_auditor(run, client)
    _print(run, as_json=as_json)
    if page is not None:
        _write_page(page, run)
    sys.exit(_exit_code(run))


def _print(run: Run, *, as_json: bool) -> None:
    from spade_envs.cli import many
    from spade_envs.cli.output import echo_json
    from spade_envs.cli.verdicts import print_audit
    from spade_envs.reports.document import document

    if as_json:
        echo_json(document(run.entries))
        return
    for entry in run.entries:
        print_audit(entry)
    if len(run.entries) > 1 or run.interrupted:
        many.print_summary(run.entries)


def _exit_code(run: Run) -> int:
    from spade_envs.cli.main import FOUND, INTERRUPTED, USAGE

    if run.interrupted:
        return INTERRUPTED
    if any(entry.unknown for entry in run.entries):
        return USAGE
    well = all(entry.verdict in ("accepted", "passes") for entry in run.entries)
    return 0 if well else FOUND


def _write_page(path: Path, run: Run) -> None:
    from spade_envs.cli.output import write_page
    from spade_envs.reports.page import render

    write_page(path, lambda made_at: render(run.entries, made_at=made_at))
