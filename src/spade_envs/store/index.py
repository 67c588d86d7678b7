"""The derived index: one line of JSON per version, sorted by id, withdrawn versions included.

The folders are the truth. `load` compares the index with the names of the folders that are there:
versions that the index lacks are read from their manifests, lines without a folder are passed over,
and an index that is missing or unreadable is rebuilt. So an index is never wrong, only slow.
"""

from __future__ import annotations

import logging
from functools import lru_cache
from pathlib import Path

import msgspec

from spade_envs.errors import Corrupt, FormatTooNew, NotFound, StorageError
from spade_envs.ids import NAMESPACE, EnvId
from spade_envs.store.files import read_file, replace_file, set_time
from spade_envs.store.insertion import insert
from spade_envs.store.layout import INDEX, MAX_INDEX_BYTES, check_envs, scan
from spade_envs.store.read import clean_line, read_tombstone, read_version
from spade_envs.types import EnvKind, Record

logger = logging.getLogger(__name__)


class IndexLine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """One line of `index.jsonl`: a `Record` without the store's place."""

    digest: str
    id: str
    kind: EnvKind
    levels: int
    licence: str
    max_turns: int
    skills: tuple[str, ...]
    summary: str
    title: str
    withdrawn: str | None = None

    def to_record(self, root: Path) -> Record:
        """Return the record of this line."""
        return Record(
            id=self.id,
            digest=self.digest,
            store=root,
            title=clean_line(self.title),
            summary=clean_line(self.summary),
            kind=self.kind,
            levels=self.levels,
            max_turns=self.max_turns,
            skills=self.skills,
            licence=self.licence,
            withdrawn=self.withdrawn,
        )


_CLOCK_MARGIN_NS = 2_000_000_000
"""File systems stamp with a coarse clock, some of them to two seconds."""

_DECODER = msgspec.json.Decoder(IndexLine)


def load(root: Path, *, trusting: bool = False, strict: bool = False) -> list[IndexLine]:
    """Return one line for every readable version of the store, sorted by name and version.

    Versions that cannot be read are logged and left out; `verify` says what is wrong with them.

    Args:
        root: folder of the store.
        trusting: believe the index about every name whose folder is older than the index. Much
            faster; may miss a withdrawal whose writer was killed, which `get` does not.
        strict: raise where the disk fails, instead of leaving out what it does not give.

    Raises:
        Corrupt: the versions lie in no folder.
        StorageError: the folders cannot be looked at, or `strict` and a manifest cannot be read.
    """
    check_envs(root)
    written_at_ns = _modified_ns(root / INDEX)  # before the reading: a rival may replace the file
    indexed = read_index(root) or {}
    known = _known(indexed) if trusting else None
    present = scan(root, known=known, known_at_ns=written_at_ns)
    if stray := indexed.keys() - present.keys():
        _tell_once(
            f"{root / INDEX} names {len(stray)} version(s) that are not there, such as "
            f"{min(stray)}; reindex mends it"
        )
    lines: list[IndexLine] = []
    for env_id, withdrawn in present.items():
        line = indexed.get(env_id)
        if line is None or (line.withdrawn is not None) != withdrawn:
            line = derive(root, EnvId.parse(env_id), strict=strict)
        if line is not None:
            lines.append(line)
    lines.sort(key=order)
    return lines


@lru_cache(maxsize=256)
def _tell_once(text: str) -> None:
    """Log a warning that would be the same at every look at a store."""
    logger.warning("%s", text)


def _modified_ns(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _known(indexed: dict[str, IndexLine]) -> dict[str, dict[str, bool]]:
    known: dict[str, dict[str, bool]] = {}
    for env_id, line in indexed.items():
        name = env_id.rpartition("-v")[0].removeprefix(f"{NAMESPACE}/")
        known.setdefault(name, {})[env_id] = line.withdrawn is not None
    return known


def rebuild(root: Path, *, strict: bool = False) -> list[IndexLine]:
    """Return one line for every readable version, from the manifests alone, sorted.

    Args:
        root: folder of the store.
        strict: raise where the disk fails, instead of leaving out what it does not give.

    Raises:
        Corrupt: `strict` and the versions lie in no folder.
        StorageError: see `load`.
    """
    if strict:
        check_envs(root)
    found = [derive(root, EnvId.parse(env_id), strict=strict) for env_id in scan(root)]
    return sorted((line for line in found if line is not None), key=order)


def derive(root: Path, env_id: EnvId, *, strict: bool = False) -> IndexLine | None:
    """Return the index line that a version's own files give; None (and a log) if unreadable.

    Raises:
        StorageError: `strict` and the disk failed.
    """
    try:
        record = read_version(root, env_id).to_record(root, read_tombstone(root, env_id))
    except (Corrupt, NotFound, FormatTooNew, OSError) as error:
        if strict and isinstance(error, StorageError):
            raise
        logger.warning("%s is left out: %s", env_id, error)
        return None
    return line_of(record)


def line_of(record: Record) -> IndexLine:
    """Return the index line of a record."""
    names = IndexLine.__struct_fields__
    return IndexLine(**{name: getattr(record, name) for name in names})


def read_index(root: Path) -> dict[str, IndexLine] | None:
    """Return the lines of the index by id; None if it is missing or unreadable."""
    try:
        data = read_file(root, INDEX, max_bytes=MAX_INDEX_BYTES)
        lines = _DECODER.decode_lines(data)
    except FileNotFoundError:
        return None
    except (OSError, Corrupt, msgspec.DecodeError, UnicodeDecodeError) as error:
        _tell_once(f"{root / INDEX} is unreadable and passed over: {error}; reindex mends it")
        return None
    return {line.id: line for line in lines}


def encode(lines: list[IndexLine]) -> bytes:
    """Return the bytes of an index of these lines."""
    return b"".join(map(_row, lines))


def _row(line: IndexLine) -> bytes:
    return msgspec.json.encode(line, order="sorted") + b"\n"


def insert_line(root: Path, line: IndexLine) -> bool:
    """Put one more line into the index; False if that must be made anew.

    Raises:
        StorageError: the disk failed.
    """
    return insert(root, INDEX, _row(line), _order_of_row, at=0)


def _order_of_row(row: bytes) -> tuple[str, int]:
    try:
        return order(_DECODER.decode(row))
    except msgspec.DecodeError as error:
        raise ValueError(str(error)) from None


def write_index(root: Path, lines: list[IndexLine], *, scanned_at_ns: int) -> None:
    """Replace the index, at once.

    Args:
        root: folder of the store.
        lines: what the index says from now on.
        scanned_at_ns: when the folders were looked at, by the clock of the file system
            (`files.now_ns`); it becomes the file's modification time, so
            that what is published between the look and the write is not taken for indexed.
    """
    stamp_ns = scanned_at_ns - _CLOCK_MARGIN_NS
    data = encode(lines)
    if not set_time(root, INDEX, data, mtime_ns=stamp_ns):
        replace_file(root, root / INDEX, data, sync=False, mtime_ns=stamp_ns)


def order(line: IndexLine) -> tuple[str, int]:
    """Return what lines are sorted by: name, then number."""
    return order_of(line.id)


def order_of(env_id: str) -> tuple[str, int]:
    """Return what ids are sorted by, as `order` does; ValueError if it has no number."""
    name, _, version = env_id.rpartition("-v")
    return name, int(version)
