"""`import`: bring other people's environments into a store, as far as the gates accept them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from spade_envs.cli.many import run_options
from spade_envs.cli.stores import json_option, store_option

if TYPE_CHECKING:
    from spade_envs.interop import Checked
    from spade_envs.store import EnvStore


@click.command("import")
@click.argument("targets", metavar="TARGET...", nargs=-1, required=True)
@click.option("--licence", help="SPDX identifier. [default: what is known, else unknown]")
@run_options
@store_option
@json_option
def import_command(
    targets: tuple[str, ...],
    licence: str | None,
    store: str | None,
    as_json: bool,
    **settings: Any,
) -> None:
    """Check environments that others wrote and register those that pass.

    TARGET is what `spade-envs check` takes. What is refused is listed with its reason; exit code 1
    if anything is, 2 if a target does not exist.
    """
    from spade_envs.cli import many
    from spade_envs.cli.main import FOUND, INTERRUPTED, USAGE
    from spade_envs.cli.output import echo_json, print_table
    from spade_envs.store import open_store

    opened = open_store(store, create=True)
    run = many.check_many(targets, store, depth="standard", **settings)
    rows = [_bring(entry.checked, opened, licence) for entry in run.entries]
    if as_json:
        echo_json(rows)
    else:
        table = [(row["target"], row["id"] or "refused", row["reason"] or "") for row in rows]
        print_table("", ("target", "registered as", "reason"), table)
        brought = sum(row["id"] is not None for row in rows)
        click.echo(f"{brought} of {len(rows)} registered in {opened.root}")
    if run.interrupted:
        sys.exit(INTERRUPTED)
    if any(entry.unknown for entry in run.entries):
        sys.exit(USAGE)
    if not all(row["id"] for row in rows):
        sys.exit(FOUND)


def _bring(checked: Checked, store: EnvStore, licence: str | None) -> dict[str, str | None]:
    from spade_envs.errors import ConfigError, NotCertified, Withdrawn
    from spade_envs.interop import bring

    row: dict[str, str | None] = dict.fromkeys(("target", "id", "digest", "reason"))
    row["target"] = checked.target.label
    try:
        record = bring(checked, store, licence=licence)
    except (NotCertified, Withdrawn, ConfigError) as error:
        row["reason"] = str(error).removeprefix(f"{checked.target.label}: ")
        return row
    row["id"], row["digest"] = record.id, record.digest
    return row
