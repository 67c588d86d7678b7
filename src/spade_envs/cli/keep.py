"""`withdraw`, `verify` and `reindex`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from spade_envs.cli.memory import embedder_option
from spade_envs.cli.stores import existing_store, find, json_option, readable_stores, store_option

if TYPE_CHECKING:
    from spade_envs.store import EnvStore
    from spade_envs.store.verify import Problem


@click.command("withdraw")
@click.argument("ref", metavar="ID")
@click.option("--reason", required=True, help="Why; shown to everybody who asks for it.")
@store_option
def withdraw_command(ref: str, reason: str, store: str | None) -> None:
    """Take a version out of use, with a reason; its number is never used again.

    Doing it twice changes nothing: the first reason stays.
    """
    from spade_envs.cli.output import clean
    from spade_envs.errors import Withdrawn

    try:
        opened, record = find(ref, store, withdrawn=True)
    except Withdrawn as error:  # a name of which no version is left
        click.echo(clean(str(error)))
        return
    gone = opened.withdraw(record.id, reason)
    before = "was already " if record.withdrawn is not None else ""
    click.echo(clean(f"{gone.id} {before}withdrawn: {gone.withdrawn}"))


@click.command("verify")
@store_option
@click.option("--quick", is_flag=True, help="Names, hashes and index only; for large stores.")
@click.option("--signatures", is_flag=True, help="Check signatures too, by your allowed signers.")
@json_option
def verify_command(store: str | None, quick: bool, signatures: bool, as_json: bool) -> None:
    """Check a store's files against its manifests; exit code 1 if something is wrong.

    With --quick, what reports and provenance say is not looked at, nor the catalogue.
    """
    from spade_envs.cli.main import FOUND
    from spade_envs.cli.output import (
        commands_apart,
        counted,
        echo_json,
        print_table,
        say,
        say_commands,
    )

    found = []
    checked = 0
    for opened in readable_stores(store):
        if quick:
            count, problems = opened.verify_quick()
        else:
            count, problems = len(opened.records()), _verified(opened)
        checked += count
        found += [(opened.root, problem) for problem in problems]
        if signatures:
            from spade_envs.trust.settings import load
            from spade_envs.trust.vouching import signature_problems

            found += [(opened.root, each) for each in signature_problems(opened, load())]
    if as_json:
        echo_json([{"store": str(root), **_plain(problem)} for root, problem in found])
    elif found:
        messages, commands = commands_apart(
            (problem.message, problem.command) for _, problem in found
        )
        rows = [
            (problem.severity, problem.kind, root / problem.path, message)
            for (root, problem), message in zip(found, messages, strict=True)
        ]
        print_table("", ("severity", "kind", "path", "message"), rows)
        say_commands(commands, "commands")
    errors = sum(problem.severity == "error" for _, problem in found)
    told = (counted(errors, "error"), counted(len(found) - errors, "note"))
    say(f"{counted(checked, 'version')} checked, {', '.join(told)}")
    if errors:
        sys.exit(FOUND)


def _verified(store: EnvStore) -> list[Problem]:
    from spade_envs.gates.certificate import missing_verdicts
    from spade_envs.gates.table import GATES_VERSION

    return store.verify(deep=True, gates={GATES_VERSION: missing_verdicts})


def _plain(problem: object) -> dict[str, str]:
    names = ("kind", "path", "message", "severity")
    return {name: str(getattr(problem, name)) for name in names}


@click.command("reindex")
@embedder_option
@store_option
def reindex_command(store: str | None, embedder: str | None) -> None:
    """Rebuild a store's index from its manifests.

    With --embedder, its memory too: with this embedder from now on, whatever made it before. If
    that is stopped, the same command goes on.
    """
    from spade_envs.cli.memory import remembering
    from spade_envs.cli.output import counted
    from spade_envs.memory import make_embedder, rebuild_memory

    opened = existing_store(store)
    made = None if embedder is None else make_embedder(embedder)  # or nothing is done
    click.echo(f"{counted(opened.reindex(), 'version')} indexed in {opened.root}")
    if made is not None:
        bar, show = remembering()
        with bar:
            memory = rebuild_memory(opened, made, show)
        told = counted(len(memory), "environment")
        click.echo(f"{told} remembered with {memory.fingerprint}")
