"""`push`, `pull` and `sync`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from spade_envs.cli.bar import Bar
from spade_envs.cli.select import Range
from spade_envs.cli.skills import check_skills, unknown_skills
from spade_envs.cli.stores import existing_store, fillable_store, json_option, store_option
from spade_envs.cli.transfers import echo_transfers, told

if TYPE_CHECKING:
    from spade_envs.sharing import Wanted
    from spade_envs.sharing.names import Renaming

F = TypeVar("F", bound=Callable[..., Any])

_SELECTION = (
    click.argument("remote", metavar="REMOTE"),
    click.argument("refs", metavar="[ENVIRONMENT]...", nargs=-1),
    click.option(
        "--skill",
        "skills",
        metavar="SKILL",
        multiple=True,
        help="Only environments that exercise this skill; may be repeated.",
    ),
    click.option(
        "--success",
        type=Range(),
        help="Only environments of this success by the plays that the source notes, as 0.2..0.8.",
    ),
)
_NAMES = (
    click.option("--namespace", default="", metavar="OWNER", help="Call each OWNER.<its name>."),
    click.option("--as", "name", default="", metavar="NAME", help="Call the one environment NAME."),
    click.option(
        "--renumber",
        is_flag=True,
        help="Give a version whose id is taken by another content the next free number.",
    ),
)
_REST = (
    click.option("--plays", is_flag=True, help="The ledgers of plays as well."),
    click.option(
        "--jobs",
        type=click.IntRange(1, 64),
        default=8,
        show_default=True,
        help="How many transfers are under way at once.",
    ),
    click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing."),
    store_option,
    json_option,
)
_trust_certificate = click.option(
    "--trust-certificate",
    is_flag=True,
    help="Let what allowed signers signed run without the gates run again first.",
)


def _options(*rows: Any) -> Callable[[F], F]:
    def decorate(command: F) -> F:
        for option in reversed(rows):
            command = option(command)
        return command

    return decorate


@click.command("push")
@_options(*_SELECTION, *_NAMES, *_REST)
def push_command(
    remote: str,
    plays: bool,
    jobs: int,
    dry_run: bool,
    renumber: bool,
    store: str | None,
    as_json: bool,
    **rest: Any,
) -> None:
    """Give environments to a remote: a folder, git repository, bucket or data set.

    REMOTE is a name of `spade-envs remote list` or an address. ENVIRONMENT is alice/maze@0, an id,
    a name, alice/* or a full digest; by default everything. Nothing there is overwritten. Exit code
    1 if something was refused or an id is taken.
    """
    from spade_envs.sharing import push
    from spade_envs.sharing.known import address_of
    from spade_envs.sharing.push import PushOptions

    wanted, renaming = _chosen(rest)
    options = PushOptions(
        wanted=wanted,
        renaming=renaming,
        renumber=renumber,
        plays=plays,
        dry_run=dry_run,
        jobs=jobs,
    )
    with Bar("pushed") as bar:
        opened = existing_store(store)
        check_skills(wanted.skills, [opened])
        done = push(address_of(remote), opened, options, bar.show)
    _end(as_json, opened.root, dry_run, push=done)


@click.command("pull")
@_options(*_SELECTION, *_NAMES, _trust_certificate, *_REST)
def pull_command(
    remote: str,
    plays: bool,
    jobs: int,
    dry_run: bool,
    renumber: bool,
    trust_certificate: bool,
    store: str | None,
    as_json: bool,
    **rest: Any,
) -> None:
    """Bring environments from a remote into a store; nothing of them is run.

    REMOTE is a name of `spade-envs remote list` or an address. ENVIRONMENT is alice/maze@0, an id,
    a name, alice/* or a full digest; by default everything. What is here already is not fetched,
    and nothing is overwritten. Exit code 1 if something was refused or an id is taken.
    """
    from dataclasses import replace

    from spade_envs.sharing import pull
    from spade_envs.sharing.known import address_of
    from spade_envs.sharing.pull import PullOptions

    wanted, renaming = _chosen(rest)
    options = PullOptions(
        wanted=wanted,
        renaming=renaming,
        renumber=renumber,
        plays=plays,
        trust_certificate=trust_certificate,
        dry_run=dry_run,
        jobs=jobs,
    )
    with Bar("pulled") as bar:
        opened = fillable_store(store)
        if unknown_skills(wanted.skills):  # only the remote can tell, and a pull makes a store
            planned = pull(address_of(remote), opened, replace(options, dry_run=True), bar.show)
            if not planned.outcomes:
                check_skills(wanted.skills, [], at=f"those asked for at {planned.remote}")
        done = pull(address_of(remote), opened, options, bar.show)
    _end(as_json, opened.root, dry_run, pull=done)


@click.command("sync")
@_options(_SELECTION[0], *_REST)
def sync_command(
    remote: str, plays: bool, jobs: int, dry_run: bool, store: str | None, as_json: bool
) -> None:
    """Pull from a remote what is missing here, then push what is missing there."""
    from spade_envs.sharing import sync
    from spade_envs.sharing.known import address_of
    from spade_envs.sharing.pull import PullOptions
    from spade_envs.sharing.push import PushOptions

    with Bar("synced") as bar:
        opened = fillable_store(store)
        done = sync(
            address_of(remote),
            opened,
            PullOptions(plays=plays, dry_run=dry_run, jobs=jobs),
            PushOptions(plays=plays, dry_run=dry_run, jobs=jobs),
            bar.show,
        )
    _end(as_json, opened.root, dry_run, pull=done.pulled, push=done.pushed)


def _chosen(rest: dict[str, Any]) -> tuple[Wanted, Renaming]:
    from spade_envs.sharing import Wanted
    from spade_envs.sharing.names import Renaming

    wanted = Wanted(refs=rest["refs"], skills=rest["skills"], success=rest["success"])
    renaming = Renaming(namespace=rest["namespace"], name=rest["name"])
    if renaming.name and wanted.everything:
        raise click.UsageError("--as names one environment; say which one to take")
    return wanted, renaming


def _end(as_json: bool, root: Path, dry_run: bool, **done: Any) -> None:
    from spade_envs.cli.main import FOUND

    if as_json:
        echo_transfers(done, dry_run=dry_run)
    else:
        for way, transfer in done.items():
            told(way, transfer, root, dry_run=dry_run)
    if not all(transfer.clean for transfer in done.values()):
        sys.exit(FOUND)
