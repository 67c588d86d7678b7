"""What became of every attempt of a run: append-only, so that a killed run can go on."""

from __future__ import annotations

import errno
import fcntl
import json
import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from spade_envs.errors import Corrupt, StoreError
from spade_envs.store import EnvStore
from spade_envs.store.files import append_file, make_folders, open_to_add, read_file, refuse_links
from spade_envs.types import Json, RejectionStage

_log = logging.getLogger(__name__)

FOLDER = "ledger"
_MAX_BYTES = 256 << 20
_STAGES = frozenset(get_args(RejectionStage))
_MAX_FAILED = 100
_NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL})


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One finished attempt."""

    attempt: int
    digest: str | None = None
    """Of the environment that came of it, if one did."""
    stage: RejectionStage | None = None
    reason: str = ""
    cursor: Json = None
    """Where in the corpus the attempt drew its passage."""
    skill: str = ""
    """What it was to exercise."""
    turn: int = 0
    """Repairs that led to it."""
    failed: tuple[str, ...] = ()
    """Gates that it failed."""
    process: str = ""
    """Names the process that finished it."""
    at_s: float = 0.0
    """When it did, in seconds since that process began."""


class Ledger:
    """The finished attempts of one run.

    A line that was torn by a kill is passed over; its attempt counts as unfinished.
    """

    def __init__(self, store: EnvStore, key: str) -> None:
        self._root, self._path = store.root, _path_of(store, key)
        refuse_links(store.root, FOLDER, self._path.name)
        try:
            raw = read_file(store.root, f"{FOLDER}/{key}.jsonl", max_bytes=_MAX_BYTES)
        except FileNotFoundError:
            raw = b""
        self._lines = {line.attempt: line for line in map(_read, raw.split(b"\n")) if line}

    def __contains__(self, attempt: int) -> bool:
        return attempt in self._lines

    def get(self, attempt: int) -> Line | None:
        """Return what became of an attempt, or None if it is not finished."""
        return self._lines.get(attempt)

    def lines(self) -> list[Line]:
        """Return every finished attempt, in order of their numbers."""
        return [self._lines[attempt] for attempt in sorted(self._lines)]

    def append(self, line: Line) -> None:
        """Note a finished attempt; it is on disk when this returns.

        Raises:
            StorageError: the disk failed; the attempt counts as unfinished.
        """
        fields = {name: getattr(line, name) for name in Line.__slots__}
        kept = {k: v for k, v in fields.items() if k == "attempt" or v not in (None, "", (), 0)}
        append_file(self._root, self._path, json.dumps(kept).encode() + b"\n")
        self._lines[line.attempt] = line

    def forget(self, attempt: int) -> None:
        """Treat an attempt as unfinished from now on, in this process."""
        self._lines.pop(attempt, None)


class Hold:
    """Keeps a run to one process at a time, until it is released or the process dies.

    Two at once would come to the same outcomes and pay for every answer twice. On a file system
    without locks nobody is kept away.

    Args:
        store: where the run works.
        key: name of the run.

    Raises:
        StoreError: another process is at this run.
        StorageError: the disk failed.
    """

    def __init__(self, store: EnvStore, key: str) -> None:
        self._handle: int | None = None
        make_folders(store.root, FOLDER)
        self._handle = open_to_add(store.root, _path_of(store, key))
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.release()
            raise StoreError(
                f"another process is at this run ({key} in {store.root}); wait for it or stop it, "
                f"or begin a run beside it with another seed"
            ) from None
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                self.release()
                raise
            _log.warning("%s has no locks: see that only one process is at a run", store.root)

    def release(self) -> None:
        """Let others at the run."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    def __del__(self) -> None:
        self.release()


def _path_of(store: EnvStore, key: str) -> Path:
    return store.root / FOLDER / f"{key}.jsonl"


def _read(raw: bytes) -> Line | None:
    if not raw.strip():
        return None
    try:
        fields = json.loads(raw)
        failed = [str(gate)[:20] for gate in fields.pop("failed", ())][:_MAX_FAILED]
        line = Line(**fields, failed=tuple(failed))
        if any(type(number) is not int or number < 0 for number in (line.attempt, line.turn)):
            raise Corrupt("no attempt")
        if not all(isinstance(text, str) for text in (line.reason, line.skill, line.process)):
            raise Corrupt("a text that is none")
        stages = line.digest is None and line.stage in _STAGES
        if not stages and (not isinstance(line.digest, str) or line.stage is not None):
            raise Corrupt("neither accepted nor rejected")
        if type(line.at_s) not in (int, float) or not 0 <= line.at_s < 1e12:
            raise Corrupt("no time")
    except (ValueError, TypeError, AttributeError, RecursionError, Corrupt):
        _log.warning("passed over a line of the generation ledger that is not whole")
        return None
    return line
