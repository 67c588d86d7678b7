"""`import`: bring other people's environments into a store, as far as the gates accept them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from spade_envs.cli.many import run_options
from spade_envs.cli.stores import Licence, json_option, novelty_option, store_option, writable_store

if TYPE_CHECKING:
    from spade_envs.interop.bring import Brought
    from spade_envs.reports.entry import Entry


@click.command("import")
@click.argument("targets", metavar="TARGET...", nargs=-1, required=True)
@click.option(
    "--licence", type=Licence(), help="SPDX identifier. [default: what is known, else unknown]"
)
@run_options
@novelty_option
@store_option
@json_option
def import_command(
    targets: tuple[str, ...],
    licence: str | None,
    novelty: str | None,
    store: str | None,
    as_json: bool,
    **settings: Any,
) -> None:
    """Check environments that others wrote and register those that pass.

    TARGET is what `spade-envs check` takes. What repeats an environment of the store is refused;
    what is there already keeps its version, and gets a new certificate if its own is of older
    gates. Exit code 1 if anything is refused, 2 if a target does not exist.
    """
    from spade_envs.cli import many
    from spade_envs.cli.door import open_door
    from spade_envs.cli.main import FOUND, INTERRUPTED, USAGE
    from spade_envs.cli.output import echo_json, print_table
    from spade_envs.interop.bring import bring_all

    opened = writable_store(store)
    door = open_door(opened, novelty, jobs=settings["jobs"])
    into = opened if door.thresholds.program else None
    with many.terminable():
        run = many.check_many(targets, store, depth="standard", into=into, **settings)
    outcomes = bring_all(
        [entry.checked for entry in run.entries], opened, licence=licence, door=door
    )
    rows = [_row(*pair) for pair in zip(run.entries, outcomes, strict=True)]
    if as_json:
        echo_json(rows)
    else:
        table = [
            (row["target"], row["id"] or "refused", row["reason"] or row["note"] or "")
            for row in rows
        ]
        print_table("", ("target", "registered as", "reason or note"), table)
        brought = sum(row["id"] is not None for row in rows)
        click.echo(f"{brought} of {len(rows)} registered in {opened.root}")
    if run.interrupted:
        sys.exit(INTERRUPTED)
    if any(entry.unknown for entry in run.entries):
        sys.exit(USAGE)
    if not all(row["id"] for row in rows):
        sys.exit(FOUND)


def _row(entry: Entry, outcome: Brought | str) -> dict[str, str | None]:
    row: dict[str, str | None] = dict.fromkeys(("target", "id", "digest", "reason", "note"))
    row["target"] = entry.label
    if isinstance(outcome, str):
        row["reason"] = outcome
        return row
    row["id"], row["digest"] = outcome.record.id, outcome.record.digest
    row["note"] = "; ".join(text for text in (outcome.note, entry.found) if text) or None
    return row
