"""What became of plays: one append-only file per writer under `ledger/`, and figures from all.

Each line of `ledger/plays-<writer>.jsonl` sums up some plays of one environment. Sums add up in
any order, so any number of processes may write and nobody needs a lock. A line counts from its
line end on: what a killed writer left half-written is never read.
"""

from __future__ import annotations

import hashlib
import os
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec

from spade_envs.errors import ConfigError, Corrupt
from spade_envs.intervals import Interval, gain_interval, mean_interval, wilson
from spade_envs.store.files import (
    append_file,
    make_folders,
    open_file,
    open_folder,
    read_at,
    refuse_links,
    told,
)

LEDGER = "ledger"
_PREFIX = "plays-"
_WRITER = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_FILE = re.compile(rf"{_PREFIX}[a-z0-9-]+\.jsonl")
_CHUNK_BYTES = 1 << 22

INSTANCE = "instance"
"""The environment's own hint."""

Count = Annotated[int, msgspec.Meta(ge=0, le=10**12)]
Sum = Annotated[float, msgspec.Meta(ge=-1e15, le=1e15)]


class Plays(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Some plays of one environment, summed up. Faulty episodes do not count."""

    digest: Annotated[str, msgspec.Meta(pattern=r"^sha256:[0-9a-f]{64}$")]
    policy: Annotated[str, msgspec.Meta(max_length=300)] = ""
    """Who played, such as a model's name."""
    level: Annotated[int, msgspec.Meta(ge=0, le=10**6)] | None = None
    """Where all plays are of one level, that one."""
    hint: Annotated[str, msgspec.Meta(pattern=r"^[a-z]{1,20}(?::[0-9a-f]{12})?$")] = INSTANCE
    """What the hinted plays were shown: `instance` (the environment's `hint()`), `policy` (written
    by the player for the instance) or `strategy:<its first digits>` (`store.strategies`)."""
    plays: Count = 0
    """Episodes without the hint."""
    successes: Count = 0
    returns: Sum = 0.0
    """Sum of their returns."""
    squares: Sum | None = None
    """Sum of the squares of their returns; None where nobody kept it."""
    hinted: Count = 0
    """Episodes with the hint, on the same instances."""
    hinted_successes: Count = 0
    hinted_returns: Sum = 0.0
    hinted_squares: Sum | None = None
    pairs: Count = 0
    """Instances that were played once with the hint and once without."""
    both: Count = 0
    """Those of them that were won both times."""
    key: Annotated[str, msgspec.Meta(max_length=200)] = ""
    """Names these very plays: of the lines with one key the first counts, so that a writer that
    was killed may write again what it may have written. Lines without a key all count."""

    @property
    def sound(self) -> bool:
        """Whether no success is counted without its play, and no pair without its episodes."""
        return (
            self.successes <= self.plays
            and self.hinted_successes <= self.hinted
            and self.pairs <= min(self.plays, self.hinted)
            and self.both <= min(self.pairs, self.successes, self.hinted_successes)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What some plays of one environment say together."""

    plays: int = 0
    successes: int = 0
    returns: float = 0.0
    squares: float | None = 0.0
    hinted: int = 0
    hinted_successes: int = 0
    hinted_returns: float = 0.0
    hinted_squares: float | None = 0.0
    pairs: int = 0
    both: int = 0
    hints: tuple[str, ...] = ()
    """Which hints the hinted plays were shown, in order."""

    @property
    def success(self) -> float | None:
        """Share of the plays without the hint that were won, in [0, 1]; None before the first."""
        return self.successes / self.plays if self.plays else None

    @property
    def success_interval(self) -> Interval:
        """Its 95 % Wilson interval; (0, 1) before the first play."""
        return wilson(self.successes, self.plays)

    @property
    def hinted_success(self) -> float | None:
        """Share of the plays with the hint that were won; None before the first."""
        return self.hinted_successes / self.hinted if self.hinted else None

    @property
    def hinted_interval(self) -> Interval:
        """Its 95 % Wilson interval; (0, 1) before the first play."""
        return wilson(self.hinted_successes, self.hinted)

    @property
    def mean_return(self) -> float | None:
        """Mean return without the hint; None before the first play."""
        return self.returns / self.plays if self.plays else None

    @property
    def return_interval(self) -> Interval | None:
        """Its 95 % normal interval; None below two plays, or where squares were not kept."""
        if self.squares is None:
            return None
        return mean_interval(self.returns, self.squares, self.plays)

    @property
    def regret(self) -> float | None:
        """Success with the hint minus success without, in [-1, 1]; None where one is missing."""
        if not (self.plays and self.hinted):
            return None
        return self.hinted_successes / self.hinted - self.successes / self.plays

    @property
    def regret_interval(self) -> Interval | None:
        """Its 95 % interval: paired if every play has its pair, else wider; None without regret."""
        if not (self.plays and self.hinted):
            return None
        paired = self.pairs == self.plays == self.hinted
        return gain_interval(
            (self.successes, self.plays),
            (self.hinted_successes, self.hinted),
            both=self.both if paired else None,
        )

    @classmethod
    def of(cls, lines: Sequence[Plays]) -> Figures:
        """Return what some lines of a ledger say together."""
        return cls(
            plays=sum([line.plays for line in lines]),
            successes=sum([line.successes for line in lines]),
            returns=sum([line.returns for line in lines]),
            squares=_squares([line.squares for line in lines if line.plays]),
            hinted=sum([line.hinted for line in lines]),
            hinted_successes=sum([line.hinted_successes for line in lines]),
            hinted_returns=sum([line.hinted_returns for line in lines]),
            hinted_squares=_squares([line.hinted_squares for line in lines if line.hinted]),
            pairs=sum([line.pairs for line in lines]),
            both=sum([line.both for line in lines]),
            hints=tuple(sorted({line.hint for line in lines if line.hinted})),
        )

    def plus(self, more: Plays | Figures) -> Figures:
        """Return the figures with some plays more."""
        line = more if isinstance(more, Figures) else Figures.of([more])
        hints = line.hints
        known = set(hints) <= set(self.hints)
        return Figures(
            plays=self.plays + line.plays,
            successes=self.successes + line.successes,
            returns=self.returns + line.returns,
            squares=_sum(self.squares, line.squares, line.plays),
            hinted=self.hinted + line.hinted,
            hinted_successes=self.hinted_successes + line.hinted_successes,
            hinted_returns=self.hinted_returns + line.hinted_returns,
            hinted_squares=_sum(self.hinted_squares, line.hinted_squares, line.hinted),
            pairs=self.pairs + line.pairs,
            both=self.both + line.both,
            hints=self.hints if known else tuple(sorted({*self.hints, *hints})),
        )


_DECODER = msgspec.json.Decoder(Plays)


class Cell(NamedTuple):
    """Whose plays of what."""

    digest: str
    policy: str
    level: int | None
    """None where a line sums up several levels or tells none."""
    hint: str


def _squares(sums: Sequence[float | None]) -> float | None:
    known = [each for each in sums if each is not None]
    return sum(known) if len(known) == len(sums) else None


def _sum(first: float | None, second: float | None, plays: int) -> float | None:
    """Return a sum of squares; unknown as soon as some plays have none."""
    if not plays:
        return first
    return None if first is None or second is None else first + second


class PlayWriter:
    """Appends plays to a file of its own; several may write into one store at once.

    Args:
        root: folder of the store.
        writer: names the file, lower-case slugs such as a run's name.
        fresh: add an ending to the name, so that the file is new. Without, the one writer of that
            name goes on in its file: what a kill tore is cut off, and keys that the file holds are
            not written again.

    Raises:
        ConfigError: `writer` cannot name a file.
        Corrupt: the ledger's folder or the file is a link.
    """

    def __init__(self, root: Path, writer: str = "plays", *, fresh: bool = True) -> None:
        if len(writer) > 60 or _WRITER.fullmatch(writer) is None:
            raise ConfigError(f"writer must be a slug such as 'run-3', not {writer!r}")
        make_folders(root, LEDGER)
        name = f"{_PREFIX}{writer}-{uuid.uuid4().hex[:12]}" if fresh else f"{_PREFIX}{writer}"
        self._root, self.path = root, root / LEDGER / f"{name}.jsonl"
        refuse_links(root, LEDGER, self.path.name)
        self._written = set() if fresh else _mended(self.path)

    def append(self, lines: Iterable[Plays]) -> None:
        """Note plays; they are on disk when this returns, and none of them if it raises.

        Raises:
            ConfigError: more successes than plays, or figures that are no figures.
            StorageError: the disk failed.
        """
        data, keys = [], set()
        for line in lines:
            encoded = msgspec.json.encode(line, order="sorted")
            if _decoded(encoded) is None:
                raise ConfigError(f"these are no sound figures of plays: {line}")
            if line.key and (hashed := _key_hash(line.digest, line.key)) not in self._written:
                keys.add(hashed)
            elif line.key:
                continue
            data.append(encoded + b"\n")
        if not data:
            return
        append_file(self._root, self.path, b"".join(data))
        self._written |= keys


def _mended(path: Path) -> set[bytes]:
    """Cut off a torn last line, and return the keys that the file holds, hashed."""
    try:
        with told("read", path):
            data = path.read_bytes()
    except FileNotFoundError:
        return set()
    whole = data.rfind(b"\n") + 1
    if whole < len(data):
        with told("written", path):
            os.truncate(path, whole)
    lines = [_decoded(raw) for raw in data[:whole].splitlines()]
    return {_key_hash(line.digest, line.key) for line in lines if line is not None and line.key}


class PlayReader:
    """Figures of a store's environments, kept up to date by reading only what is new.

    Args:
        root: folder of the store.
        policy: count the plays of this player alone; None counts everybody's.
        keys: count the lines alone whose key begins so.
    """

    def __init__(self, root: Path, policy: str | None = None, keys: str = "") -> None:
        self._root = root
        self._policy, self._prefix = policy, keys
        self._read: dict[str, tuple[int, int]] = {}  # by file: inode, bytes read
        self._figures: dict[str, Figures] = {}
        self._cells: dict[Cell, Figures] = {}
        self._keys: set[bytes] = set()
        self.passed_over = 0
        """Lines that cannot be read or are unsound."""

    def figures(self) -> Mapping[str, Figures]:
        """Return the figures by digest, with all plays that are on disk now."""
        sizes = _sizes(self._root)
        if any(_changed(sizes.get(name), *seen) for name, seen in self._read.items()):
            self._read, self._figures, self._cells, self._keys = {}, {}, {}, set()
            self.passed_over = 0
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

    def cells(self) -> Mapping[Cell, Figures]:
        """Return the same figures divided by player, level and hint."""
        self.figures()
        return self._cells

    def has(self, digest: str, key: str) -> bool:
        """Whether a line of that key was among those that the last look counted."""
        return _key_hash(digest, key) in self._keys

    def _follow(self, name: str, at: int, size: int) -> int:
        """Take the whole lines of a file between two places, and return where they end."""
        path = f"{LEDGER}/{name}"
        with told("read", self._root / path), open_file(self._root, path) as file:
            while at < size:
                data = read_at(file, min(_CHUNK_BYTES, size - at), at)
                whole = data.rfind(b"\n") + 1
                if not whole and len(data) < _CHUNK_BYTES:
                    break  # half-written; it may yet become whole
                whole = whole or len(data)  # no note is so long
                self._take(data[:whole])
                at += whole
        return at

    def _take(self, data: bytes) -> None:
        groups: dict[Cell, list[Plays]] = {}
        for raw in data.splitlines():
            line = _decoded(raw)
            if line is None:
                self.passed_over += 1
            elif self._wants(line) and self._is_new(line):
                cell = Cell(line.digest, line.policy, line.level, line.hint)
                groups.setdefault(cell, []).append(line)
        for cell, lines in groups.items():
            found = Figures.of(lines)
            self._cells[cell] = self._cells.get(cell, Figures()).plus(found)
            before = self._figures.get(cell.digest, Figures())
            self._figures[cell.digest] = before.plus(found)

    def _wants(self, line: Plays) -> bool:
        mine = self._policy is None or line.policy == self._policy
        return mine and line.key.startswith(self._prefix)

    def _is_new(self, line: Plays) -> bool:
        if not line.key:
            return True
        key = _key_hash(line.digest, line.key)
        if key in self._keys:
            return False
        self._keys.add(key)
        return True


def _key_hash(digest: str, key: str) -> bytes:
    return hashlib.blake2b(f"{digest} {key}".encode("utf-8", "replace"), digest_size=8).digest()


def _changed(now: tuple[int, int] | None, inode: int, read: int) -> bool:
    """Whether a file that was read is gone, replaced or cut: then all figures start anew."""
    return now is None or now[0] != inode or now[1] < read


def is_sound(line: bytes) -> bool:
    """Whether a line of a ledger holds plays that count."""
    return _decoded(line) is not None


def _decoded(raw: bytes) -> Plays | None:
    try:
        line = _DECODER.decode(raw)
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
