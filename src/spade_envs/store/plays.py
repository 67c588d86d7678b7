"""What became of plays: one append-only file per writer under `ledger/`, and figures from all.

Each line of `ledger/plays-<writer>.jsonl` sums up some plays of one environment. Sums add up in
any order, so any number of processes may write and nobody needs a lock. A line counts from its
line end on: what a killed writer left half-written is never read.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

import msgspec

from spade_envs.errors import ConfigError, Corrupt
from spade_envs.store.files import open_file, open_folder, refuse_links

LEDGER = "ledger"
_PREFIX = "plays-"
_WRITER = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_FILE = re.compile(rf"{_PREFIX}[a-z0-9-]+\.jsonl")
_CHUNK_BYTES = 1 << 22

Count = Annotated[int, msgspec.Meta(ge=0, le=10**12)]
Sum = Annotated[float, msgspec.Meta(ge=-1e15, le=1e15)]


class Plays(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Some plays of one environment, summed up. Faulty episodes do not count."""

    digest: Annotated[str, msgspec.Meta(pattern=r"^sha256:[0-9a-f]{64}$")]
    policy: Annotated[str, msgspec.Meta(max_length=300)] = ""
    """Who played, such as a model's name."""
    plays: Count = 0
    """Episodes without the hint."""
    successes: Count = 0
    returns: Sum = 0.0
    """Sum of their returns."""
    hinted: Count = 0
    """Episodes with the hint, on the same instances."""
    hinted_successes: Count = 0
    hinted_returns: Sum = 0.0

    @property
    def sound(self) -> bool:
        """Whether no success is counted without its play."""
        return self.successes <= self.plays and self.hinted_successes <= self.hinted


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What all plays of one environment say together."""

    plays: int = 0
    successes: int = 0
    returns: float = 0.0
    hinted: int = 0
    hinted_successes: int = 0
    hinted_returns: float = 0.0

    @property
    def success(self) -> float | None:
        """Share of the plays without the hint that were won, in [0, 1]; None before the first."""
        return self.successes / self.plays if self.plays else None

    @property
    def regret(self) -> float | None:
        """Mean return with the hint minus mean return without; None where one is missing."""
        if not (self.plays and self.hinted):
            return None
        return self.hinted_returns / self.hinted - self.returns / self.plays

    def plus(self, line: Plays) -> Figures:
        """Return the figures with some plays more."""
        names = [field.name for field in fields(self)]
        return Figures(**{name: getattr(self, name) + getattr(line, name) for name in names})


class PlayWriter:
    """Appends plays to a file of its own; several may write into one store at once.

    Args:
        root: folder of the store.
        writer: names the file, lower-case slugs such as a run's name; a fresh ending is added.

    Raises:
        ConfigError: `writer` cannot name a file.
        Corrupt: the ledger's folder is a link.
    """

    def __init__(self, root: Path, writer: str = "plays") -> None:
        if len(writer) > 60 or _WRITER.fullmatch(writer) is None:
            raise ConfigError(f"writer must be a slug such as 'run-3', not {writer!r}")
        refuse_links(root, LEDGER)
        (root / LEDGER).mkdir(exist_ok=True)
        self.path = root / LEDGER / f"{_PREFIX}{writer}-{uuid.uuid4().hex[:12]}.jsonl"

    def append(self, lines: Iterable[Plays]) -> None:
        """Note plays; they are on disk when this returns.

        Raises:
            ConfigError: more successes than plays, or figures that are no figures.
        """
        data = []
        for line in lines:
            encoded = msgspec.json.encode(line, order="sorted")
            if _decoded(encoded) is None:
                raise ConfigError(f"these are no sound figures of plays: {line}")
            data.append(encoded + b"\n")
        if not data:
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(self.path, flags, 0o644), "ab") as stream:
            stream.write(b"".join(data))
            stream.flush()
            os.fsync(stream.fileno())


class PlayReader:
    """Figures of a store's environments, kept up to date by reading only what is new.

    Args:
        root: folder of the store.
        policy: count the plays of this player alone; None counts everybody's.
    """

    def __init__(self, root: Path, policy: str | None = None) -> None:
        self._root = root
        self._policy = policy
        self._read: dict[str, tuple[int, int]] = {}  # by file: inode, bytes read
        self._figures: dict[str, Figures] = {}
        self.passed_over = 0
        """Lines that cannot be read or are unsound."""

    def figures(self) -> Mapping[str, Figures]:
        """Return the figures by digest, with all plays that are on disk now."""
        sizes = _sizes(self._root)
        if any(_changed(sizes.get(name), *seen) for name, seen in self._read.items()):
            self._read, self._figures, self.passed_over = {}, {}, 0
        for name in sorted(sizes):
            inode, size = sizes[name]
            start = self._read.get(name, (inode, 0))[1]
            if size <= start:
                continue
            try:
                self._read[name] = (inode, self._follow(name, start, size))
            except (FileNotFoundError, Corrupt):
                continue  # it went just now; the next look starts anew
        return self._figures

    def _follow(self, name: str, at: int, size: int) -> int:
        """Take the whole lines of a file between two places, and return where they end."""
        with open_file(self._root, f"{LEDGER}/{name}") as file:
            while at < size:
                data = os.pread(file, min(_CHUNK_BYTES, size - at), at)
                whole = data.rfind(b"\n") + 1
                if not whole and len(data) < _CHUNK_BYTES:
                    break  # half-written; it may yet become whole
                whole = whole or len(data)  # no note is so long
                self._take(data[:whole])
                at += whole
        return at

    def _take(self, data: bytes) -> None:
        for raw in data.splitlines():
            line = _decoded(raw)
            if line is None:
                self.passed_over += 1
            elif self._policy is None or line.policy == self._policy:
                before = self._figures.get(line.digest, Figures())
                self._figures[line.digest] = before.plus(line)


def _changed(now: tuple[int, int] | None, inode: int, read: int) -> bool:
    """Whether a file that was read is gone, replaced or cut: then all figures start anew."""
    return now is None or now[0] != inode or now[1] < read


def _decoded(raw: bytes) -> Plays | None:
    try:
        line = msgspec.json.decode(raw, type=Plays)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return line if line.sound else None


def _sizes(root: Path) -> dict[str, tuple[int, int]]:
    """Return inode and size of every file of plays; links and other things are passed over."""
    found = {}
    try:
        with open_folder(root, LEDGER) as handle, os.scandir(handle) as entries:
            for entry in entries:
                if _FILE.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                    state = entry.stat(follow_symlinks=False)
                    found[entry.name] = (state.st_ino, state.st_size)
    except (FileNotFoundError, Corrupt):
        return {}
    return found
