"""Ledgers of plays between stores: each has one writer and only grows, so they never clash."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from spade_envs.errors import Corrupt
from spade_envs.sharing.local import make
from spade_envs.sharing.offered import Offered
from spade_envs.sharing.remotes.protocol import LOST, Remote
from spade_envs.store.files import make_folders, read_file, replace_file
from spade_envs.store.plays import LEDGER, Cell, Figures, PlayReader, is_sound

MAX_LEDGER_BYTES = 64 << 20
_FILE = re.compile(rf"{LEDGER}/plays-[a-z0-9]+(?:-[a-z0-9]+)*\.jsonl")


def fetch_plays(offered: Offered) -> Mapping[Cell, Figures]:
    """Return the figures of the plays that a remote notes; lines that are unsound do not count."""
    with tempfile.TemporaryDirectory(prefix="spade-envs-") as folder:
        root = Path(folder)
        (root / LEDGER).mkdir()
        for path, data in _offered(offered):
            (root / path).write_bytes(data)
        return dict(PlayReader(root).cells())


def pull_plays(offered: Offered, root: Path, *, dry_run: bool = False) -> list[str]:
    """Take the ledgers that a store lacks, and those that have grown; returns what is to be told.

    A ledger that is longer here, or another one, stays as it is.
    """
    notes = []
    for path, data in _offered(offered):
        bad = sum(not is_sound(line) for line in data.splitlines())
        if bad:
            notes.append(f"{path} is left out: {bad} of its lines are no sound plays")
            continue
        here = _read(root, path)
        if here is None:
            notes.append(f"{path} here cannot be read, so it stays")
        elif _grown(here, data):
            if not dry_run:
                make(root)
                make_folders(root, LEDGER)
                replace_file(root, root / path, data)
            notes.append(f"{path}: {data.count(10) - here.count(10)} new lines")
        elif not data.startswith(here) and not here.startswith(data):
            notes.append(f"{path} is another ledger there and here; yours stays")
    return notes


def push_plays(offered: Offered, root: Path, remote: Remote, *, dry_run: bool = False) -> list[str]:
    """Give a remote the ledgers that it lacks, and those that have grown; returns what to tell."""
    notes = []
    for file in sorted((root / LEDGER).glob("plays-*.jsonl")):
        path = f"{LEDGER}/{file.name}"
        here = _read(root, path)
        if here is None or not _FILE.fullmatch(path):
            continue
        here = here[: here.rfind(b"\n") + 1]  # a line that is being written is not whole yet
        entry = offered.entries.get(path)
        try:
            there = b"" if entry is None else offered.reader.read(path, MAX_LEDGER_BYTES)
        except LOST:
            notes.append(f"{path} there cannot be read, so it stays")
            continue
        if _grown(there, here):
            remote.check_rights()  # of a dry run, too: it foretells
            if not dry_run:
                remote.replace(path, here)
            notes.append(f"{path}: {here.count(10) - there.count(10)} new lines")
        elif not here.startswith(there) and not there.startswith(here):
            notes.append(f"{path} is another ledger there and here; theirs stays")
    return notes


def _grown(old: bytes, new: bytes) -> bool:
    return len(new) > len(old) and new.startswith(old) and old[-1:] in (b"", b"\n")


def _offered(offered: Offered) -> Iterator[tuple[str, bytes]]:
    for entry in offered.listing.others:
        if _FILE.fullmatch(entry.path) and 0 < entry.size <= MAX_LEDGER_BYTES:
            try:
                data = offered.reader.read(entry.path, entry.size)
            except LOST:
                continue  # it is growing just now; the next time will do
            yield entry.path, data[: data.rfind(b"\n") + 1]


def _read(root: Path, path: str) -> bytes | None:
    """Return a ledger of ours, empty if there is none; None if it cannot be read."""
    try:
        return read_file(root, path, max_bytes=MAX_LEDGER_BYTES)
    except FileNotFoundError:
        return b""
    except (Corrupt, OSError):
        return None
