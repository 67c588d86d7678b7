"""What transfers print: a bar while they run, then what became of each version."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spade_envs.sharing import Transfer
    from spade_envs.sharing.outcome import Kind

_COUNTED: tuple[Kind, ...] = ("new", "same", "kept", "withdrawn", "conflict", "refused", "skipped")


def told(way: str, transfer: Transfer, root: Path, *, dry_run: bool) -> None:
    """Print what became of each version that is not simply there already, and the sums.

    Args:
        way: `push`, `pull` or `install`.
        transfer: what was done.
        root: store of this machine.
        dry_run: whether it would only be done.
    """
    from spade_envs.cli.output import commands_apart, counted, print_table, say, say_commands

    notes, commands = commands_apart((each.note, each.command) for each in transfer.outcomes)
    rows = [
        (each.kind, each.id if each.placed in ("", each.id) else f"{each.id} as {each.placed}",
         note)
        for each, note in zip(transfer.outcomes, notes, strict=True)
        if each.kind != "same" or each.note
    ]  # fmt: skip
    if rows:
        print_table("", ("", "environment", "note"), rows)
    say_commands(commands, "commands")
    for note in transfer.notes:
        say(note)
    sums = [f"{len(transfer.of(kind))} {kind}" for kind in _COUNTED if transfer.of(kind)]
    would = "would " if dry_run else ""
    where = f"{would}{way} {'to' if way == 'push' else 'from'} {transfer.remote}"
    moved = f"; {counted(transfer.bytes_moved, 'byte')} of files moved" if not dry_run else ""
    say(f"{where}: {', '.join(sums) or 'nothing there'}{moved}")
    if way != "push" and not dry_run:
        _tell_consent(transfer, root)


def _tell_consent(transfer: Transfer, root: Path) -> None:
    """Say which commands let what is new run; whoever has just pulled does not know them yet."""
    from spade_envs.cli.output import say, say_commands
    from spade_envs.trust.consent import consent_command
    from spade_envs.trust.origin import origin_in, origins_of
    from spade_envs.trust.runs import standing
    from spade_envs.trust.settings import load

    settings, asked = load(), dict[str, None]()
    for each in transfer.of("new"):
        origins = origins_of(each.digest)
        origin = origin_in(root, each.placed, origins)
        if origin and not standing(each.digest, settings).consented:
            asked[consent_command(origin)] = None
    if asked:
        say("nothing of it runs yet; see who made it with spade-envs audit, then let it run with:")
        say_commands(list(asked), "namespaces")


def echo_transfers(done: Mapping[str, Transfer], *, dry_run: bool) -> None:
    """Print transfers as JSON, by way."""
    from spade_envs.cli.output import echo_json

    echo_json({"dry_run": dry_run, **{way: as_plain(each) for way, each in done.items()}})


def as_plain(transfer: Transfer) -> dict[str, Any]:
    """Return a transfer as plain JSON."""
    names = ("kind", "id", "placed", "digest", "note")
    return {
        "remote": transfer.remote,
        "bytes_moved": transfer.bytes_moved,
        "notes": list(transfer.notes),
        "environments": [
            {name: getattr(each, name) for name in names} for each in transfer.outcomes
        ],
    }
