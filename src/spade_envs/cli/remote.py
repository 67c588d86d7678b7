"""`remote`: names for the places that environments are exchanged with."""

from __future__ import annotations

import click

from spade_envs.cli.stores import json_option


@click.group("remote", context_settings={"help_option_names": ["-h", "--help"]})
def remote_command() -> None:
    """Name the places that environments are exchanged with (docs/sharing.md).

    The names are yours alone: they are kept in your configuration folder and no store.
    """


@remote_command.command("add")
@click.argument("name", metavar="NAME")
@click.argument("url", metavar="URL")
def add_command(name: str, url: str) -> None:
    """Call an address NAME; nothing is asked of it yet.

    URL is a folder, a git URL or bare repository, s3:// or any other of fsspec, or
    hf://datasets/OWNER/NAME.
    """
    from spade_envs.cli.output import say
    from spade_envs.sharing.known import add_remote, as_shown, known_remotes

    add_remote(name, url)
    say(f"{name}: {as_shown(known_remotes()[name])}")


@remote_command.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """List the remotes that have names."""
    from spade_envs.cli.output import counted, echo_json, print_table, say
    from spade_envs.sharing.known import as_shown, known_remotes, readable_remotes
    from spade_envs.sharing.remotes import Address

    good, bad = readable_remotes()
    rows = [
        (name, Address.read(url).kind.value if name in good else "none", as_shown(url))
        for name, url in sorted(known_remotes().items())
    ]
    if as_json:
        keys = ("name", "kind", "url", "problem")
        echo_json([dict(zip(keys, (*row, bad.get(row[0], "")), strict=True)) for row in rows])
        return
    print_table("", ("name", "kind", "address"), rows)
    say(counted(len(rows), "remote"))
    for name, problem in sorted(bad.items()):
        say(f"{name} cannot be used: {problem}")


@remote_command.command("remove")
@click.argument("name", metavar="NAME")
def remove_command(name: str) -> None:
    """Forget a name; nothing changes at the remote, and nothing that was pulled."""
    from spade_envs.cli.output import say
    from spade_envs.sharing.known import as_shown, remove_remote

    say(f"{name} is forgotten; it was {as_shown(remove_remote(name))}")
