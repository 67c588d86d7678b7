"""One more line in a sorted file that is derived, without looking at the rest of a large store.

Looking at every folder takes two seconds for 50,000 environments, too long for each one that is
published. So a large file gets one line more and keeps its time: whatever was younger than the file
still is, and is looked at by whoever reads. What two writers at once do not see of each other is
missing from the file, which costs readers time until the next refresh, and nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from spade_envs.errors import Corrupt
from spade_envs.store.files import open_file, read_at, replace_file
from spade_envs.store.layout import MAX_INDEX_BYTES

Order = tuple[str, int]
"""Name and number of a version."""

LEAST_BYTES = 1 << 20
"""Smaller files are made anew: that takes a tenth of a second, and mends what else they lack."""


def is_large(root: Path, name: str) -> bool:
    """Whether a derived file of a store is long enough to be worth a line put in."""
    try:
        return os.stat(root / name, follow_symlinks=False).st_size >= LEAST_BYTES
    except OSError:
        return False


def insert(root: Path, name: str, row: bytes, order: Callable[[bytes], Order], *, at: int) -> bool:
    """Put a line into a sorted file of a store, at once; False if the file must be made anew.

    Args:
        root: folder of the store.
        name: of the file in it.
        row: the line, with its end.
        order: of a line; raises ValueError for one that is none.
        at: byte where the first line begins.

    Raises:
        StorageError: the disk failed. The file holds what it held, or one line more.
    """
    try:
        with open_file(root, name) as file:
            state = os.fstat(file)
            if state.st_size > MAX_INDEX_BYTES:
                return False
            data = read_at(file, state.st_size, 0)
        grown = with_row(data, row, order, at=at)
    except (OSError, Corrupt, ValueError):
        return False
    if grown != data:
        replace_file(root, root / name, grown, sync=False, mtime_ns=state.st_mtime_ns)
    return True


def with_row(data: bytes, row: bytes, order: Callable[[bytes], Order], *, at: int) -> bytes:
    """Return sorted lines with one more in its place; unchanged if they hold that very line.

    Raises:
        ValueError: a line that is looked at is none, or another one has the place.
    """
    if len(data) <= at or not data.endswith(b"\n"):
        raise ValueError("it holds no line, or the last one is torn")
    wanted, low, high = order(row), at, len(data)
    while low < high:
        begin = data.rfind(b"\n", low, (low + high) // 2) + 1 or low
        end = data.index(b"\n", begin) + 1
        found = order(data[begin:end])
        if found == wanted:
            if data[begin:end] != row:
                raise ValueError("another line has the place")
            return data
        low, high = (end, high) if found < wanted else (low, begin)
    return b"".join((data[:low], row, data[low:]))
