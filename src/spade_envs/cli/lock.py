"""`lock` and `install`: the environments of a training run, to the digest."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from spade_envs.cli.bar import Bar
from spade_envs.cli.select import Range
from spade_envs.cli.skills import check_skills
from spade_envs.cli.stores import existing_store, fillable_store, json_option, store_option
from spade_envs.cli.transfers import echo_transfers, told


@click.command("lock")
@click.argument("refs", metavar="[ENVIRONMENT]...", nargs=-1)
@click.option(
    "--skill",
    "skills",
    metavar="SKILL",
    multiple=True,
    help="Only environments that exercise this skill; may be repeated.",
)
@click.option("--success", type=Range(), help="Only environments of this success, as 0.2..0.8.")
@click.option(
    "--remote",
    metavar="REMOTE",
    help="Where to find what came from no remote, such as the one it was pushed to.",
)
@click.option(
    "--out", metavar="FILE", default="envstore.lock", show_default=True, help="The lock file."
)
@store_option
def lock_command(out: str, store: str | None, remote: str | None, **rest: Any) -> None:
    """Write down ids, digests and remotes, so that others get the very same environments.

    ENVIRONMENT is alice/maze@0, an id, a name, alice/* or a full digest; by default everything that
    is not withdrawn. An older lock file is replaced.
    """
    from spade_envs.cli.output import counted, say
    from spade_envs.errors import ConfigError
    from spade_envs.sharing import Wanted, make_lock, write_lock
    from spade_envs.sharing.known import address_of, readable_remotes
    from spade_envs.store.plays import PlayReader

    known, _ = readable_remotes()
    if remote is not None and remote not in known:
        remote = address_of(remote)
    opened = existing_store(store)
    check_skills(rest["skills"], [opened])
    if rest["success"] is not None and not PlayReader(opened.root).cells():
        raise ConfigError(f"nothing was played in {opened.root} yet; see spade-envs calibrate")
    lock = make_lock(opened, Wanted(**rest), known=known, remote=remote)
    write_lock(lock, Path(out))
    homeless = sum(not each.remote for each in lock.environments)
    say(f"{out}: {counted(len(lock.environments), 'environment')}")
    if homeless:
        say(
            f"{homeless} of them came from no remote; push them and lock again with --remote, or "
            "others cannot install them"
        )


@click.command("install")
@click.option("-r", "--requirement", "file", metavar="FILE", required=True, help="A lock file.")
@click.option(
    "--remote",
    "remotes",
    metavar="REMOTE",
    multiple=True,
    help="Where to look as well; may be repeated.",
)
@click.option(
    "--trust-certificate",
    is_flag=True,
    help="Let what allowed signers signed run without the gates run again first.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 64),
    default=8,
    show_default=True,
    help="How many transfers are under way at once.",
)
@click.option("--dry-run", is_flag=True, help="Look and check; place nothing.")
@store_option
@json_option
def install_command(
    file: str,
    remotes: tuple[str, ...],
    trust_certificate: bool,
    jobs: int,
    dry_run: bool,
    store: str | None,
    as_json: bool,
) -> None:
    """Bring exactly what a lock file names into a store; nothing of it is run.

    Exit code 1 if one of its environments is not there afterwards, with the digest of the lock.
    """
    from spade_envs.cli.main import FOUND
    from spade_envs.sharing import install, read_lock
    from spade_envs.sharing.install import InstallOptions
    from spade_envs.sharing.known import address_of

    lock = read_lock(Path(file))
    options = InstallOptions(
        remotes=tuple(address_of(each) for each in remotes),
        trust_certificate=trust_certificate,
        dry_run=dry_run,
        jobs=jobs,
    )
    with Bar("installed") as bar:
        opened = fillable_store(store)
        done = install(lock, opened, options, bar.show)
    if as_json:
        echo_transfers({"install": done}, dry_run=dry_run)
    else:
        told("install", done, opened.root, dry_run=dry_run)
    if not done.clean:
        sys.exit(FOUND)
