"""Where every passage lies: compact arrays, in memory or mapped from disk."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
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
    documents: np.ndarray[Any, Any]
    """One `DOCUMENT` each."""
    passages: np.ndarray[Any, Any]
    """One `PASSAGE` each, in reading order."""
    examples: tuple[str, ...] = ()
    """The first files and rows that could not be used, each with the reason."""
    held: tuple[Document, ...] = ()
    """Documents that are in memory."""
    folder: Path | None = None
    """Where the arrays lie, if on disk."""

    def place(self, number: int) -> Place:
        """Return where a document lies."""
        row = self.documents[number]
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

    def finish(self) -> np.ndarray[Any, Any]:
        """Return the array, mapped if it lies in a file."""
        self._flush()
        if self._file is None or self._path is None:
            return np.concatenate([np.empty(0, self._kind), *self._done])
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        return _mapped(self._path, self._kind)

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()

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
            documents=_mapped(folder / DOCUMENTS, DOCUMENT),
            passages=_mapped(folder / PASSAGES, PASSAGE),
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


def _mapped(path: Path, kind: np.dtype[Any]) -> np.ndarray[Any, Any]:
    if not path.stat().st_size:
        return np.empty(0, kind)
    return np.memmap(path, dtype=kind, mode="r")


def total(parts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """Return the sums of counts by reason, the greatest first."""
    sums: dict[str, int] = {}
    for counts in parts:
        for reason, count in counts.items():
            sums[reason] = sums.get(reason, 0) + count
    return dict(sorted(sums.items(), key=lambda item: (-item[1], item[0])))
