"""`list` and `show`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from spade_envs.cli.stores import find, json_option, readable_stores, store_option

if TYPE_CHECKING:
    from spade_envs.types import Record


@click.command("list")
@store_option
@click.option("--skill", help="Only environments that exercise this skill.")
@click.option("--withdrawn", is_flag=True, help="Withdrawn versions too.")
@json_option
def list_command(store: str | None, skill: str | None, withdrawn: bool, as_json: bool) -> None:
    """List the environments of a store."""
    from spade_envs.cli.output import echo_json, print_table, say

    records: dict[str, Record] = {}
    for opened in readable_stores(store):
        for record in opened.records(skill):
            if withdrawn or record.withdrawn is None:
                records.setdefault(record.id, record)
    found = list(records.values())
    if as_json:
        echo_json([_row(record) for record in found])
        return
    columns = ("id", "kind", "levels", "turns", "skills", "summary")
    rows = [
        (
            record.id,
            record.kind,
            record.levels,
            record.max_turns,
            ", ".join(record.skills),
            "withdrawn" if record.withdrawn else record.summary,
        )
        for record in found
    ]
    print_table("", columns, rows)
    say(f"{len(found)} environments")


@click.command("show")
@click.argument("ref", metavar="ID")
@store_option
@click.option("--source", "with_source", is_flag=True, help="Print the source and nothing else.")
@json_option
def show_command(ref: str, store: str | None, with_source: bool, as_json: bool) -> None:
    """Show one environment: manifest, gates, source."""
    from spade_envs.cli.output import clean, echo_json, print_table
    from spade_envs.cli.verdicts import result_rows

    opened, record = find(ref, store, withdrawn=True)
    if with_source:
        click.echo(clean(opened.source(record).code), nl=False)
        return
    manifest = opened.manifest(record).model_dump(mode="json")
    report = opened.report(record)
    if as_json:
        from spade_envs.gates import report_to_json

        document = {"record": _row(record), "manifest": manifest}
        echo_json({**document, "report": report_to_json(report)})
        return
    print_table(record.id, ("", ""), [(key, value) for key, value in _facts(record, manifest)])
    print_table("Gates", ("gate", "verdict", "what was found"), result_rows(report.results))
    click.echo(f"source: spade-envs show {record.id} --source")


def _row(record: Record) -> dict[str, Any]:
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
    provenance = manifest.get("provenance") or {}
    designer = provenance.get("designer") or {}
    passage = provenance.get("passage") or {}
    facts: list[tuple[str, object]] = [
        ("title", record.title),
        ("summary", record.summary),
        ("kind", f"{record.kind}, {record.levels} levels, at most {record.max_turns} turns"),
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
