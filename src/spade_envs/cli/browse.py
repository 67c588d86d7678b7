"""`list` and `show`."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Any

import click

from spade_envs.cli.figures import FIGURE_COLUMNS, figures_json, figures_row, played
from spade_envs.cli.skills import check_skills
from spade_envs.cli.stores import (
    find,
    is_file,
    json_option,
    readable_stores,
    source_of,
    store_option,
)

if TYPE_CHECKING:
    from spade_envs.store import EnvStore
    from spade_envs.store.plays import Cell, Figures
    from spade_envs.types import Record, Report


@click.command("list")
@store_option
@click.option("--skill", help="Only environments that exercise this skill.")
@click.option("--withdrawn", is_flag=True, help="Withdrawn versions too.")
@json_option
def list_command(store: str | None, skill: str | None, withdrawn: bool, as_json: bool) -> None:
    """List the environments of a store."""
    from spade_envs.cli.output import counted, echo_json, print_table, say

    stores = readable_stores(store)
    check_skills([] if skill is None else [skill], stores)
    records: dict[str, Record] = {}
    for opened in stores:
        for record in opened.records(skill):
            if withdrawn or record.withdrawn is None:
                records.setdefault(record.id, record)
    found = list(records.values())
    if as_json:
        echo_json([row_of(record) for record in found])
        return
    columns = ("id", "kind", "levels", "turns", "skills and summary")
    rows = [
        (record.id, record.kind, record.levels, record.max_turns, about(record)) for record in found
    ]
    print_table("", columns, rows, spare=columns[:0:-1])
    say(counted(len(found), "environment"))


@click.command("show")
@click.argument("ref", metavar="ID|FILE")
@store_option
@click.option("--source", "with_source", is_flag=True, help="Print the source and nothing else.")
@json_option
def show_command(ref: str, store: str | None, with_source: bool, as_json: bool) -> None:
    """Show one environment: manifest, gates, plays, source; of a file, what it declares.

    Exit code 1 if the version was changed after publishing.
    """
    from spade_envs.cli.main import FOUND
    from spade_envs.cli.output import clean, echo_json, print_table
    from spade_envs.cli.verdicts import result_rows

    if is_file(ref):
        _show_file(ref, with_source=with_source, as_json=as_json)
        return
    opened, record = find(ref, store, withdrawn=True)
    if with_source:
        click.echo(clean(opened.source(record).code), nl=False)
        return
    manifest = opened.manifest(record).model_dump(mode="json")
    report = opened.report(record)
    changed = _changed(opened, record)
    plays = played(record.digest, _with_own(opened, store))
    if as_json:
        from spade_envs.gates import report_to_json

        document: dict[str, Any] = {"record": row_of(record), "manifest": manifest}
        document |= {"report": report_to_json(report), "plays": _plays_json(plays)}
        echo_json({**document, "changed": changed or None})
    else:
        print_table(record.id, ("", ""), [*_facts(record, manifest), *_certified(report)])
        print_table("Gates", ("gate", "verdict", "what was found"), result_rows(report.results))
        _print_plays(plays)
        where = f" --store {shlex.quote(store)}" if store is not None else ""
        click.echo(f"source: spade-envs show {record.id} --source{clean(where)}")
    if changed:
        click.echo(f"error: {clean(changed)}", err=True)
        sys.exit(FOUND)


def _with_own(opened: EnvStore, store: str | None) -> list[EnvStore]:
    """Return the stores whose ledgers may tell of an environment, its own first."""
    if store is not None:
        return [opened]
    return [opened, *(each for each in readable_stores(None) if each.root != opened.root)]


def _plays_json(plays: dict[Cell, Figures]) -> list[dict[str, Any]]:
    return [
        {"policy": cell.policy, "hint": cell.hint, "level": cell.level, **figures_json(figures)}
        for cell, figures in plays.items()
    ]


def _print_plays(plays: dict[Cell, Figures]) -> None:
    """Print one table for each player and kind of hint."""
    from spade_envs.cli.output import print_table

    for policy, hint in dict.fromkeys((cell.policy, cell.hint) for cell in plays):
        rows = [
            ("any" if cell.level is None else cell.level, *figures_row(figures))
            for cell, figures in plays.items()
            if (cell.policy, cell.hint) == (policy, hint)
        ]
        title = f"Plays of {policy or 'unnamed players'}, {hint} hints (95 % intervals)"
        print_table(title, ("level", *FIGURE_COLUMNS), rows)


def _changed(store: EnvStore, record: Record) -> str:
    """Return how a version differs from what was published; empty if it does not."""
    from spade_envs.errors import Corrupt

    if record.withdrawn is not None:
        return ""  # its source may have been removed
    try:
        store.source(record)
    except Corrupt as error:
        return str(error)
    return ""


def _certified(report: Report) -> list[tuple[str, object]]:
    from spade_envs.gates import GATES_VERSION

    stale = report.gates_version != GATES_VERSION
    now = f"; now they are version {GATES_VERSION}, certify it anew (import)" if stale else ""
    return [("certified by", f"gates version {report.gates_version}{now}")]


def _show_file(file: str, *, with_source: bool, as_json: bool) -> None:
    from dataclasses import asdict

    from spade_envs.cli.output import clean, echo_json, print_table
    from spade_envs.play.session import open_session

    source = source_of(file, None)
    if with_source:
        click.echo(clean(source.code), nl=False)
        return
    session = open_session(source)
    try:
        interface = session.interface
    finally:
        session.close()
    if as_json:
        echo_json({"source_sha256": source.sha256, "interface": asdict(interface)})
        return
    facts = asdict(interface)
    facts["tools"] = ", ".join(str(tool["function"]["name"]) for tool in interface.tools)
    print_table(file, ("", ""), [*facts.items(), ("sha256", source.sha256)])
    click.echo(f"gates: spade-envs check {clean(file)}")


def about(record: Record) -> str:
    """Return skills and summary of an environment, or why it was withdrawn, in one line."""
    if record.withdrawn:
        return f"withdrawn: {record.withdrawn}"
    skills = ", ".join(record.skills)
    return f"{skills}: {record.summary}" if skills else record.summary


def row_of(record: Record) -> dict[str, Any]:
    """Return a record as plain JSON."""
    return {
        "id": record.id,
        "digest": record.digest,
        "kind": record.kind,
        "levels": record.levels,
        "max_turns": record.max_turns,
        "skills": list(record.skills),
        "title": record.title,
        "summary": record.summary,
        "licence": record.licence,
        "withdrawn": record.withdrawn,
        "store": str(record.store),
    }


def _facts(record: Record, manifest: dict[str, Any]) -> list[tuple[str, object]]:
    from spade_envs.cli.output import counted

    provenance = manifest.get("provenance") or {}
    designer = provenance.get("designer") or {}
    passage = provenance.get("passage") or {}
    facts: list[tuple[str, object]] = [
        ("title", record.title),
        ("summary", record.summary),
        (
            "kind",
            f"{record.kind}, {counted(record.levels, 'level')}, "
            f"at most {counted(record.max_turns, 'turn')}",
        ),
        ("skills", ", ".join(record.skills)),
        ("digest", record.digest),
        ("licence", record.licence),
        ("withdrawn", record.withdrawn or "no"),
        ("created", provenance.get("created", "")),
        ("designer", designer.get("model", "written by hand")),
    ]
    if passage:
        where = f"{passage['corpus']}: {passage['source']} at {passage['offset']}"
        facts.append(("passage", f"{where} ({passage['licence']})"))
    return [*facts, ("store", record.store)]
