"""What transfers print: a bar while they run, then what became of each version."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spade_envs.sharing import Transfer
    from spade_envs.sharing.outcome import Kind

_COUNTED: tuple[Kind, ...] = ("new", "same", "kept", "withdrawn", "conflict", "refused", "skipped")


def told(way: str, transfer: Transfer, *, dry_run: bool) -> None:
    """Print what became of each version that is not simply there already, and the sums."""
    from spade_envs.cli.output import counted, print_table, say

    rows = [
        (each.kind, each.id if each.placed in ("", each.id) else f"{each.id} as {each.placed}",
         each.note)
        for each in transfer.outcomes
        if each.kind != "same" or each.note
    ]  # fmt: skip
    if rows:
        print_table("", ("", "environment", "note"), rows)
    for note in transfer.notes:
        say(note)
    sums = [f"{len(transfer.of(kind))} {kind}" for kind in _COUNTED if transfer.of(kind)]
    would = "would " if dry_run else ""
    where = f"{would}{way} {'to' if way == 'push' else 'from'} {transfer.remote}"
    moved = f"; {counted(transfer.bytes_moved, 'byte')} of files moved" if not dry_run else ""
    say(f"{where}: {', '.join(sums) or 'nothing there'}{moved}")


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
