"""Vectors on disk: append-only files, one per writer, under `.cache/memory/<embedder>/`.

A file is a line that names the embedder, then blocks. A block is 48 bytes (magic, number of rows,
checksum), the rows' digests (32 bytes each) and the rows (float32, little-endian). The checksum is
over the first line, the number, the digests and the rows, so digests and vectors cannot come apart
and no block can be moved under another embedder. A block counts if it is whole; what comes after
one that is not is passed over, and those environments are embedded anew.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import struct
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from spade_envs.errors import ConfigError, Corrupt
from spade_envs.manifest.canonical import canonical_json
from spade_envs.memory.embedders.base import MAX_DIMENSION, Fingerprint, Vectors
from spade_envs.store.files import (
    append_parts,
    make_folders,
    open_file,
    open_folder,
    read_at,
    read_file,
    refuse_links,
    replace_file,
    told,
)
from spade_envs.store.trouble import storage_error

_log = logging.getLogger(__name__)

CACHE = ".cache"
FOLDER = "memory"
CURRENT = "embedder.json"
_FILE = re.compile(r"v-[0-9a-f]{12}\.vec")
_MAGIC = b"SPADEVEC1\n"
_HEAD = struct.Struct("<4sI8x32s")
_BLOCK = b"vblk"
_DIGEST_BYTES = 32
_MAX_HEAD_BYTES = 4096
MAX_ROWS = 1 << 16
"""Most rows of one block."""
_LENGTH_SLACK = 1e-3


@dataclass(frozen=True, slots=True)
class Block:
    """Some vectors and whose they are."""

    digests: tuple[str, ...]
    rows: Vectors


def place_of(fingerprint: Fingerprint) -> str:
    """Return the folder of an embedder's vectors, relative to the store."""
    return f"{CACHE}/{FOLDER}/{fingerprint.folder}"


def check_rows(rows: Vectors, dimension: int) -> Vectors:
    """Return rows as float32, checked to be vectors that may be kept.

    Raises:
        ConfigError: another shape, numbers that are not finite, or rows longer than 1.
    """
    rows = np.ascontiguousarray(rows, dtype="<f4")
    if rows.ndim != 2 or rows.shape[1] != dimension:
        raise ConfigError(f"vectors have shape (rows, {dimension}) here, not {rows.shape}")
    if not _sound(rows):
        raise ConfigError("vectors must be finite and of length 1 (or 0)")
    return rows


def _sound(rows: Vectors) -> bool:
    """Whether all rows are finite and none is longer than 1; NaN fails every comparison."""
    squares = np.einsum("ij,ij->i", rows, rows)
    return bool((squares <= 1 + _LENGTH_SLACK).all())


class VectorWriter:
    """Appends vectors to a file of its own, made with the first ones.

    Args:
        root: folder of the store.
        fingerprint: of the embedder.
    """

    def __init__(self, root: Path, fingerprint: Fingerprint) -> None:
        self._root, self._fingerprint = root, fingerprint
        self._first = _first_line(fingerprint)
        self._begin()

    def _begin(self) -> None:
        """Take a fresh file for what comes next."""
        name = f"v-{uuid.uuid4().hex[:12]}.vec"
        self._path = self._root / place_of(self._fingerprint) / name
        self._begun = False

    def append(self, digests: Sequence[str], rows: Vectors) -> None:
        """Keep one row per digest; they are on disk when this returns.

        Raises:
            ConfigError: not one sound row per digest, or a digest that is none.
            StorageError: the disk failed; what comes next goes into another file.
        """
        rows = check_rows(rows, self._fingerprint.dimension)
        if len(digests) != len(rows):
            raise ConfigError(f"{len(digests)} digests for {len(rows)} vectors")
        parts: list[bytes | memoryview] = [] if self._begun else [self._first]
        for start in range(0, len(rows), MAX_ROWS):
            payload = (
                b"".join(map(_raw, digests[start : start + MAX_ROWS])),
                rows[start : start + MAX_ROWS].data.cast("B"),
            )
            count = len(payload[0]) // _DIGEST_BYTES
            parts.append(_HEAD.pack(_BLOCK, count, _checksum(self._first, count, *payload)))
            parts += payload
        if len(rows):
            self._write(parts)

    def _write(self, parts: Sequence[bytes | memoryview]) -> None:
        try:
            append_parts(self._root, self._path, parts)
        except OSError as error:
            path = self._path
            self._begin()  # nothing that comes after half a block would be read
            raise storage_error(error, "written", path) from None
        self._begun = True


class VectorReader:
    """Reads the vectors of one embedder, each block once, as they arrive.

    Args:
        root: folder of the store.
        fingerprint: of the embedder.
    """

    def __init__(self, root: Path, fingerprint: Fingerprint) -> None:
        self._root, self._fingerprint = root, fingerprint
        self._folder = place_of(fingerprint)
        self._first = _first_line(fingerprint)
        self._read: dict[str, int] = {}
        self._broken: set[str] = set()

    def new(self) -> Iterator[Block]:
        """Yield the blocks that were not yielded before, by file and place."""
        for name in self._names():
            if name in self._broken:
                continue
            try:
                yield from self._blocks(name)
            except (Corrupt, OSError) as error:
                self._broken.add(name)
                _log.warning("%s/%s is passed over from here: %s", self._folder, name, error)

    def _names(self) -> list[str]:
        try:
            with (
                told("read", self._root / self._folder),
                open_folder(self._root, *self._folder.split("/")) as handle,
            ):
                return sorted(name for name in os.listdir(handle) if _FILE.fullmatch(name))
        except (FileNotFoundError, Corrupt):
            return []

    def _blocks(self, name: str) -> Iterator[Block]:
        with open_file(self._root, f"{self._folder}/{name}") as file:
            size = os.fstat(file).st_size
            at = self._read.get(name, 0)
            if at == 0 and size >= len(self._first):
                if read_at(file, len(self._first), 0) != self._first:
                    raise Corrupt("it is not of this embedder")
                at = self._read[name] = len(self._first)
            while at and size - at >= _HEAD.size:
                magic, count, checksum = _HEAD.unpack(_read_all(file, _HEAD.size, at))
                if magic != _BLOCK or not 0 < count <= MAX_ROWS:
                    raise Corrupt(f"no block begins at byte {at}")
                width = _DIGEST_BYTES + 4 * self._fingerprint.dimension
                if size - at - _HEAD.size < count * width:
                    return  # half-written; it may yet become whole
                payload = _read_all(file, count * width, at + _HEAD.size)
                if _checksum(self._first, count, payload) != checksum:
                    raise Corrupt(f"the block at byte {at} is not what was written")
                at += _HEAD.size + len(payload)
                self._read[name] = at
                yield self._block(payload, count)

    def _block(self, payload: bytes, count: int) -> Block:
        names = payload[: count * _DIGEST_BYTES].hex()
        width = 2 * _DIGEST_BYTES
        digests = tuple(f"sha256:{names[at : at + width]}" for at in range(0, len(names), width))
        rows = np.frombuffer(payload, dtype="<f4", offset=count * _DIGEST_BYTES)
        rows = rows.reshape(count, self._fingerprint.dimension)
        if not _sound(rows):
            raise Corrupt("it holds vectors that are not finite or too long")
        return Block(digests, rows)


def _read_all(file: int, count: int, at: int) -> bytes:
    data = read_at(file, count, at)
    if len(data) != count:
        raise Corrupt("it became shorter while it was read")
    return data


def _checksum(first: bytes, count: int, *payload: bytes | memoryview) -> bytes:
    made = hashlib.blake2b(first, digest_size=32)
    made.update(struct.pack("<I", count))
    for part in payload:
        made.update(part)
    return made.digest()


def _first_line(fingerprint: Fingerprint) -> bytes:
    return _MAGIC + f"{fingerprint.sha256}\n".encode()


def _raw(digest: str) -> bytes:
    try:
        raw = bytes.fromhex(digest.removeprefix("sha256:"))
    except ValueError:
        raw = b""
    if len(raw) != _DIGEST_BYTES or len(digest) != 71 or not digest.islower():
        raise ConfigError(f"{digest!r} is not a digest")
    return raw


# Which embedder a store's memory is of


def read_current(root: Path) -> Fingerprint | None:
    """Return the embedder that the store's memory is of; None if there is none, or it is unclear.

    A note that cannot be read is as good as none: memory can always be made again.
    """
    from spade_envs.manifest.canonical import parse_json

    path = f"{CACHE}/{FOLDER}/{CURRENT}"
    try:
        found = parse_json(read_file(root, path, max_bytes=_MAX_HEAD_BYTES), path)
        current = Fingerprint(**found)
    except (OSError, Corrupt, TypeError):
        return None
    texts = (current.name, current.revision)
    lines = all(isinstance(text, str) and text.isprintable() for text in texts)
    numbers = type(current.dimension) is int and type(current.text) is int
    return current if lines and numbers and 1 <= current.dimension <= MAX_DIMENSION else None


def write_current(root: Path, fingerprint: Fingerprint) -> None:
    """Note which embedder the store's memory is of, at once."""
    refuse_links(root, CACHE, FOLDER, CURRENT)
    make_folders(root, CACHE, FOLDER)
    replace_file(root, root / CACHE / FOLDER / CURRENT, canonical_json(asdict(fingerprint)))


def drop_others(root: Path, kept: Fingerprint) -> None:
    """Remove the vectors of all embedders but one."""
    import shutil

    refuse_links(root, CACHE, FOLDER)
    for path in sorted((root / CACHE / FOLDER).iterdir()):
        if path.name not in (kept.folder, CURRENT) and path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
