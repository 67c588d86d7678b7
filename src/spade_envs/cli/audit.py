"""`audit`: who made what in a store, from which documents, under which licences."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING

import click

from spade_envs.cli.stores import find, json_option, readable_stores, store_option

if TYPE_CHECKING:
    from spade_envs.store import EnvStore
    from spade_envs.trust.lineage import Lineage
    from spade_envs.types import Record


@click.command("audit")
@click.argument("refs", metavar="[ID]...", nargs=-1)
@click.option("--remarks", "only_remarks", is_flag=True, help="Only those that deserve a look.")
@store_option
@json_option
def audit_command(
    refs: tuple[str, ...], only_remarks: bool, store: str | None, as_json: bool
) -> None:
    """Tell who made environments, from which documents, under which licences, and whence pulled.

    Nothing is run, and no model is asked. Exit code 1 if a manifest or signature is broken, 3
    if the disk fails.
    """
    from spade_envs.cli.main import FOUND, MACHINERY
    from spade_envs.cli.output import clean, echo_json
    from spade_envs.errors import StorageError, StoreError
    from spade_envs.trust.lineage import lineage_of
    from spade_envs.trust.settings import load

    settings = load()
    chosen = _chosen(refs, store)
    held = {record.digest for opened in readable_stores(store) for record in opened.records()}
    found: list[Lineage] = []
    broken: list[StoreError] = []
    for opened, record in chosen:
        try:
            found.append(lineage_of(opened, record, settings, held=held))
        except StoreError as error:
            broken.append(error)
    shown = [each for each in found if each.remarks] if only_remarks else found
    if as_json:
        echo_json(shown)
    elif refs:
        for each in shown:
            _print_one(each)
    else:
        _print_all(shown, found)
    for failure in broken:
        click.echo(f"error: {clean(str(failure))}", err=True)
    if broken:
        failed = any(isinstance(failure, StorageError) for failure in broken)
        sys.exit(MACHINERY if failed else FOUND)


def _chosen(refs: tuple[str, ...], store: str | None) -> list[tuple[EnvStore, Record]]:
    if refs:
        return [find(ref, store, withdrawn=True) for ref in refs]
    return [
        (opened, record) for opened in readable_stores(store)[:1] for record in opened.records()
    ]


def _print_one(each: Lineage) -> None:
    from spade_envs.cli.output import print_table

    rows: list[tuple[str, object]] = [
        ("digest", each.digest),
        ("made by", f"{each.maker} ({each.method})"),
        ("made", f"{each.created} with {each.tool}" + (f", run {each.run}" if each.run else "")),
        ("from document", each.document or "none"),
        ("document's licence", each.document_licence or "-"),
        ("from environments", ", ".join(each.parents) or "none"),
        ("licence", each.licence),
        ("certified by gates", each.gates_version),
        ("pulled from", each.remote or "nowhere: it is of this machine, or its store was copied"),
        ("signed by", each.signed_by or "nobody whom you allow"),
    ]
    if each.also_offered:
        rows.insert(-1, ("also offered by", ", ".join(each.also_offered)))
    if each.withdrawn is not None:
        rows.append(("withdrawn", each.withdrawn))
    print_table(each.id, ("", ""), [*rows, *(("remark", text) for text in each.remarks)])


def _print_all(shown: list[Lineage], found: list[Lineage]) -> None:
    from spade_envs.cli.output import counted, print_table, say

    columns = ("id", "made by", "from", "document's licence", "licence", "pulled from", "signed by")
    rows = [
        (
            each.id,
            each.maker,
            each.document or "-",
            each.document_licence or "-",
            each.licence,
            each.remote or "-",
            each.signed_by or "-",
        )
        for each in shown
    ]
    empty = [columns[at] for at in range(1, len(columns)) if all(row[at] == "-" for row in rows)]
    less = ("document's licence", "from", "signed by", "licence", "made by")
    print_table("", columns, rows, spare=(*empty, *(name for name in less if name not in empty)))
    remarks = Counter(text for each in shown for text in each.remarks)
    if remarks:
        told = [(count, text) for text, count in remarks.most_common()]
        print_table("Remarks", ("environments", "each of them"), told)
    makers = Counter(each.maker for each in found)
    licences = Counter(each.licence for each in found)
    more = f" by {_listed(makers)}; licences: {_listed(licences)}" if found else ""
    say(f"{counted(len(found), 'environment')}{more}")


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{name} ({count})" for name, count in counts.most_common(5))
