"""A disk that fails on demand, in the place of the `os` of whatever writes to disks."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from spade_envs.store import files
from spade_envs.trust import journal

WRITERS: tuple[Any, ...] = (files, journal)


@dataclass(frozen=True)
class Fault:
    """Which calls fail, and how."""

    calls: frozenset[str]
    number: int
    lasting: bool = False
    """Whether all later ones fail too."""


FAULTS = {
    "disk full": Fault(frozenset({"write", "mkdir", "open"}), errno.ENOSPC, lasting=True),
    "full for a moment": Fault(frozenset({"write", "mkdir", "open"}), errno.ENOSPC),
    "sync fails": Fault(frozenset({"fsync"}), errno.EIO),
    "rename fails": Fault(frozenset({"rename", "replace", "link"}), errno.EIO),
    "read fails": Fault(frozenset({"pread"}), errno.EIO),
    "folder goes": Fault(frozenset({"rename", "mkdir", "open"}), errno.ESTALE, lasting=True),
}


class FailingDisk:
    """The `os` module, except that the chosen calls fail from, or at, the n-th one."""

    def __init__(self, fault: Fault, at: int) -> None:
        self.fault, self.left, self.fired = fault, at, False

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        if name not in self.fault.calls:
            return real

        def call(*args: Any, **kwargs: Any) -> Any:
            if name == "open" and not args[1] & os.O_CREAT:
                return real(*args, **kwargs)
            if name in ("mkdir", "open") and os.path.lexists(args[0]):
                return real(*args, **kwargs)  # nothing is to be made
            if self.left > 0 or (self.fired and not self.fault.lasting):
                self.left -= 1
                return real(*args, **kwargs)
            self.fired = True
            if name == "write":
                real(args[0], args[1][: len(args[1]) // 2])  # a disk is full in mid-word
            raise OSError(self.fault.number, os.strerror(self.fault.number))

        return call


class ShortWrites:
    """The `os` module of a system that takes a few bytes at a time, and gives no more."""

    def __getattr__(self, name: str) -> Any:
        if name == "write":
            return lambda handle, data: os.write(handle, data[:7])
        if name == "pread":
            return lambda handle, count, at: os.pread(handle, min(count, 7), at)
        return getattr(os, name)


@contextmanager
def on(disk: Any) -> Iterator[Any]:
    """Let the store's files, and what is noted outside it, lie on this disk."""
    for module in WRITERS:
        module.os = disk
    try:
        yield disk
    finally:
        for module in WRITERS:
            module.os = os
