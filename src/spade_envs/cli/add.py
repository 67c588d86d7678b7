"""`add`: check a file and register it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spade_envs.cli.many import run_options
from spade_envs.cli.skills import check_skills
from spade_envs.cli.stores import (
    Author,
    Licence,
    fillable_store,
    json_option,
    novelty_option,
    store_option,
    writable_store,
)

if TYPE_CHECKING:
    from spade_envs.interop.bring import Brought
    from spade_envs.reports.entry import Entry

LICENCE = "MIT"


@click.command("add")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--name", help="Name in the store, like maze or alice.maze. [default: from the code]")
@click.option("--title", help="One line for people.")
@click.option("--skill", "skills", multiple=True, help="What it exercises; may be repeated.")
@click.option("--licence", type=Licence(), help=f"SPDX identifier. [default: {LICENCE}]")
@click.option("--author", type=Author(), help="Who wrote it, as spade-envs audit tells.")
@run_options
@novelty_option
@store_option
@json_option
def add_command(
    file: str,
    name: str | None,
    title: str | None,
    author: str | None,
    skills: tuple[str, ...],
    licence: str | None,
    novelty: str | None,
    store: str | None,
    as_json: bool,
    **settings: Any,
) -> None:
    """Check FILE and register it in the store; exit code 1 if the gates refuse it.

    It must not repeat an environment of the store (--novelty), but for versions of its own --name.
    What is there already keeps its version: licence, title and skills are corrected if they are
    given, and a certificate of older gates is renewed.
    """
    from dataclasses import replace

    from spade_envs.cli import many
    from spade_envs.cli.door import open_door
    from spade_envs.cli.main import FOUND
    from spade_envs.errors import NotCertified, Withdrawn
    from spade_envs.ids import check_name
    from spade_envs.interop import bring, check_target
    from spade_envs.interop.bring import refusal
    from spade_envs.interop.files import of_file
    from spade_envs.reports.entry import Entry
    from spade_envs.store.read import clean_line
    from spade_envs.trust.contents import is_plain

    if name is not None:
        check_name(name)
    if title is not None and not (clean_line(title) and is_plain(clean_line(title))):
        raise click.BadParameter(
            "is empty or has characters that cannot be seen", param_hint="--title"
        )
    check_skills(skills, [fillable_store(store)], label=True)
    opened = writable_store(store)
    door = open_door(opened, novelty, jobs=settings["jobs"])
    into = opened if door.thresholds.program else None
    context = many.with_context(into=into, **settings)
    del context["jobs"]
    target = replace(of_file(Path(file), label=file), name=name, licence=LICENCE)
    entry = Entry(checked=check_target(target, **context))
    if reason := refusal(entry.checked):
        _refuse(entry, reason, as_json=as_json)
        sys.exit(FOUND)
    texts: Any = {"licence": licence, "skills": skills or None, "title": title}
    made = {"method": "hand-written", "author": author}
    try:
        brought = bring(entry.checked, opened, provenance=made, door=door, **texts)
    except (NotCertified, Withdrawn) as error:
        if not as_json:
            raise
        _refuse(entry, str(error).removeprefix(f"{file}: "), as_json=True)
        sys.exit(FOUND)
    _tell(entry, brought, as_json=as_json)


def _refuse(entry: Entry, reason: str, *, as_json: bool) -> None:
    from spade_envs.cli.output import echo_json, say
    from spade_envs.cli.verdicts import print_entry
    from spade_envs.gates import report_to_json

    if as_json:
        report = None if entry.report is None else report_to_json(entry.report)
        echo_json({"accepted": False, "reason": reason, "report": report})
        return
    print_entry(entry, every=False)
    say(f"not added: {reason}")


def _tell(entry: Entry, brought: Brought, *, as_json: bool) -> None:
    from spade_envs.cli.output import echo_json, say

    record, results = brought.record, entry.report.results if entry.report is not None else ()
    warnings = [f"{r.gate} {r.message}" for r in results if r.outcome == "warn"]
    if as_json:
        found = {"accepted": True, "id": record.id, "digest": record.digest}
        echo_json(
            {**found, "licence": record.licence, "note": brought.note or None, "warnings": warnings}
        )
        return
    click.echo(f"{record.id}  {record.digest}")
    for text in warnings:
        say(f"warning: {text}")
    say(f"{brought.note or 'registered'}, licence {record.licence}")
    say(f"play it with SPADE_ENVSTORE={record.store}, or register_store()")
