"""`add`: check a file and register it."""

from __future__ import annotations

import sys

import click

from spade_envs.cli.stores import json_option, source_of, store_option


@click.command("add")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--name", help="Name in the store, like maze or alice.maze. [default: from the code]")
@click.option("--title", help="One line for people.")
@click.option("--skill", "skills", multiple=True, help="What it exercises; may be repeated.")
@click.option("--licence", default="MIT", show_default=True, help="SPDX identifier.")
@store_option
@json_option
def add_command(
    file: str,
    name: str | None,
    title: str | None,
    skills: tuple[str, ...],
    licence: str,
    store: str | None,
    as_json: bool,
) -> None:
    """Check FILE and register it in the store; exit code 1 if the gates refuse it."""
    from spade_envs.cli.main import FOUND
    from spade_envs.cli.output import echo_json
    from spade_envs.cli.verdicts import print_report
    from spade_envs.gates import check, report_to_json
    from spade_envs.store import open_store

    source = source_of(file, None)
    report = check(source)
    if not report.accepted:
        if as_json:
            echo_json({"accepted": False, "report": report_to_json(report)})
        else:
            print_report(file, report, every=False)
        sys.exit(FOUND)
    opened = open_store(store, create=True)
    origin = {"method": "hand-written"}
    record = opened.add(
        source, report, origin, name=name, title=title, skills=skills, licence=licence
    )
    if as_json:
        echo_json({"accepted": True, "id": record.id, "digest": record.digest})
    else:
        click.echo(f"{record.id}  {record.digest}")
        click.echo(f"play it with SPADE_ENVSTORE={opened.root}, or register_store()", err=True)
