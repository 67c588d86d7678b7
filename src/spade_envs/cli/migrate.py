"""`migrate`: bring a store of an older format to this release's."""

from __future__ import annotations

import os
import sys

import click

from spade_envs.cli.stores import json_option, store_option


@click.command("migrate")
@click.option("--dry-run", is_flag=True, help="Only tell what would be done.")
@store_option
@json_option
def migrate_command(dry_run: bool, store: str | None, as_json: bool) -> None:
    """Bring a store of an older format to the one of this release.

    A new store is built beside the old one and takes its place when it is whole; the old one stays.
    Exit code 1 if a version could not be brought over.
    """
    from pathlib import Path

    from spade_envs.cli.main import FOUND
    from spade_envs.cli.output import counted, echo_json, print_table, say
    from spade_envs.store import default_path
    from spade_envs.store.migrate import migrate

    root = default_path() if store is None else Path(os.path.expanduser(store)).absolute()
    done = migrate(root, dry_run=dry_run)
    if as_json:
        echo_json(done)
    elif done.before == done.after and done.kept is None:
        click.echo(f"{done.root} has format {done.after}: nothing to do")
    else:
        doing = "would get" if dry_run else "has"
        number = counted(done.versions, "version")
        click.echo(f"{done.root} {doing} format {done.after} (before: {done.before}), {number}")
        if done.kept is not None:
            say(f"the old one is {done.kept}; remove it when you need it no more")
        if done.left:
            print_table("", ("left behind", "why"), done.left)
    if done.left:
        sys.exit(FOUND)
