"""Where every passage lies: compact arrays, in memory or on disk."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, cast

import numpy as np

from spade_envs.corpus.documents import Document, Kind, Place

FORMAT = 1
DOCUMENT = np.dtype([("file", "<u4"), ("start", "<u8"), ("length", "<u4"), ("mark", "<u8")])
"""`mark` is the number of a row, or the offset of a part of a text."""
PASSAGE = np.dtype([("document", "<u4"), ("start", "<u4"), ("end", "<u4"), ("crc", "<u4")])
"""Start and end in characters of the document; `crc` of the passage in UTF-8."""
DOCUMENTS, PASSAGES, META = "documents.bin", "passages.bin", "index.json"
_FLUSH = 1 << 15


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEntry:
    """A file that documents are read from again."""

    path: str
    kind: Kind
    source: str
    """What it is called in the corpus."""
    title: str = ""
    text_key: str | None = None
    unpacked: str | None = None
    """Name of its uncompressed copy beside the index, if it has one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What one source of a corpus came to."""

    name: str
    first: int
    """Number of its first passage."""
    passages: int
    documents: int
    characters: int
    """Of all its passages."""
    fingerprint: str
    """Hexadecimal sha256 over every passage, its source and its place."""
    licence: str
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Passages that a filter left out, by reason."""
    unusable: Mapping[str, int] = field(default_factory=dict)
    """Files and rows without a usable text, by reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """All passages of a corpus; their texts stay where they are."""

    files: tuple[FileEntry, ...]
    parts: tuple[Part, ...]
    documents: Table
    """One `DOCUMENT` each."""
    passages: Table
    """One `PASSAGE` each, in reading order."""
    examples: tuple[str, ...] = ()
    """The first files and rows that could not be used, each with the reason."""
    held: tuple[Document, ...] = ()
    """Documents that are in memory."""
    folder: Path | None = None
    """Where the arrays lie, if on disk."""

    def place(self, number: int) -> Place:
        """Return where a document lies.

        Raises:
            IndexError: there is no such document.
        """
        row = self.documents.row(number)
        entry = self.files[int(row["file"])]
        start, mark = int(row["start"]), int(row["mark"])
        rows = entry.kind not in ("text", "html", "held")
        path = Path(entry.path)
        if entry.unpacked is not None and self.folder is not None:
            path = self.folder / entry.unpacked
        return Place(
            path=path,
            kind=entry.kind,
            source=f"{entry.source}#{mark}" if rows else entry.source,
            start=start,
            length=int(row["length"]),
            offset=0 if rows else mark,
            number=mark if rows else 0,
            title=entry.title,
            text_key=entry.text_key,
        )


class Table:
    """An array in memory, or in a file that is read row by row.

    A file is not mapped into memory: should somebody shorten it, that is an error to be told and
    not the end of the process.
    """

    def __init__(self, kind: np.dtype[Any], held: np.ndarray[Any, Any] | Path) -> None:
        """Take an array of `kind`, or open a file of them.

        Raises:
            OSError: the file cannot be opened.
        """
        self._kind = kind
        self._array = held if isinstance(held, np.ndarray) else None
        self._file = None if isinstance(held, np.ndarray) else held.open("rb", buffering=0)
        size = 0 if self._file is None else os.fstat(self._file.fileno()).st_size
        self._count = size // kind.itemsize if self._array is None else len(self._array)

    def __len__(self) -> int:
        return self._count

    def row(self, number: int) -> np.void:
        """Return one row, `number` in [-len, len).

        Raises:
            IndexError: there is none.
        """
        number += self._count if number < 0 else 0
        if not 0 <= number < self._count:
            raise IndexError(number)
        found = self.rows(number, number + 1)
        if not len(found):
            raise IndexError(number)
        row: np.void = found[0]
        return row

    def rows(self, first: int, last: int) -> np.ndarray[Any, Any]:
        """Return the rows from `first` up to `last`; fewer if there are fewer."""
        if self._array is not None:
            return self._array[first:last]
        assert self._file is not None
        size = self._kind.itemsize
        raw = os.pread(self._file.fileno(), (last - first) * size, first * size)
        return np.frombuffer(raw[: len(raw) // size * size], self._kind)

    def pieces(self, first: int = 0, last: int | None = None) -> Iterator[np.ndarray[Any, Any]]:
        """Yield the rows from `first` up to `last`, or to the end, a million at a time."""
        last = self._count if last is None else last
        for at in range(first, last, 1 << 20):
            yield self.rows(at, min(at + (1 << 20), last))


class Column:
    """Rows of an array that grows, in memory or in a file."""

    def __init__(self, kind: np.dtype[Any], path: Path | None) -> None:
        self._kind, self._path = kind, path
        self._rows: list[Any] = []
        self._done: list[np.ndarray[Any, Any]] = []
        self._file = None if path is None else path.open("xb")
        self.count = 0

    def append(self, row: Any) -> None:
        """Add one row."""
        self._rows.append(row)
        self.count += 1
        if len(self._rows) >= _FLUSH:
            self._flush()

    def extend(self, rows: np.ndarray[Any, Any]) -> None:
        """Add many rows at once; not to be mixed with `append`."""
        self.count += len(rows)
        if self._file is None:
            self._done.append(rows)
        else:
            self._file.write(rows.tobytes())

    def finish(self) -> np.ndarray[Any, Any] | Path:
        """Return the array, or the file that it lies in."""
        self._flush()
        if self._file is None or self._path is None:
            return np.concatenate([np.empty(0, self._kind), *self._done])
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        return self._path

    def _flush(self) -> None:
        if self._rows:
            rows, self._rows = np.array(self._rows, dtype=self._kind), []
            if self._file is None:
                self._done.append(rows)
            else:
                self._file.write(rows.tobytes())


def save(index: Index, folder: Path, signature: str) -> None:
    """Write what is not in the arrays beside them, and last, so that it vouches for them."""
    data = {
        "format": FORMAT,
        "signature": signature,
        "documents": len(index.documents),
        "passages": len(index.passages),
        "files": [list(asdict(entry).values()) for entry in index.files],
        "parts": [asdict(part) for part in index.parts],
        "examples": list(index.examples),
    }
    with (folder / META).open("x", encoding="utf-8", errors="surrogateescape") as file:
        json.dump(data, file)
        file.flush()
        os.fsync(file.fileno())


def load(folder: Path, signature: str) -> Index | None:
    """Return the index in a folder; None if there is none, or it is stale, torn or foreign."""
    try:
        with (folder / META).open(encoding="utf-8", errors="surrogateescape") as file:
            data = json.load(file)
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            return None
        if data["signature"] != signature:
            return None
        index = Index(
            files=tuple(FileEntry(**dict(zip(_NAMES, row, strict=True))) for row in data["files"]),
            parts=tuple(Part(**part) for part in data["parts"]),
            documents=Table(DOCUMENT, folder / DOCUMENTS),
            passages=Table(PASSAGE, folder / PASSAGES),
            examples=tuple(data["examples"]),
            folder=folder,
        )
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
    lengths = (len(index.documents), len(index.passages))
    if lengths != (data["documents"], data["passages"]) or not _whole(index):
        return None
    return index


_NAMES = [entry.name for entry in fields(FileEntry)]


def _whole(index: Index) -> bool:
    copies = [entry.unpacked for entry in index.files if entry.unpacked is not None]
    folder = cast("Path", index.folder)
    return all("/" not in name and (folder / name).is_file() for name in copies)


def mapped(held: np.ndarray[Any, Any] | Path, kind: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return a finished column as an array; a file of one's own is mapped into memory."""
    if isinstance(held, np.ndarray):
        return held
    return np.memmap(held, dtype=kind, mode="r") if held.stat().st_size else np.empty(0, kind)


def total(parts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """Return the sums of counts by reason, the greatest first."""
    sums: dict[str, int] = {}
    for counts in parts:
        for reason, count in counts.items():
            sums[reason] = sums.get(reason, 0) + count
    return dict(sorted(sums.items(), key=lambda item: (-item[1], item[0])))
