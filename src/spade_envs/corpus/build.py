"""Read every document once: passages, filters, fingerprints."""

from __future__ import annotations

import hashlib
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from spade_envs.corpus.chunking import spans
from spade_envs.corpus.documents import Document, Place, Unreadable
from spade_envs.corpus.index import (
    DOCUMENT,
    DOCUMENTS,
    PASSAGE,
    PASSAGES,
    Column,
    FileEntry,
    Index,
    Part,
    Table,
)
from spade_envs.corpus.near import NearDuplicates
from spade_envs.corpus.settings import Filters
from spade_envs.corpus.sieve import sieve
from spade_envs.corpus.sources import Origin, scan_origin

EXAMPLES = 100
"""So many files and rows that could not be used are told one by one; all are counted."""
NEAR = "near-duplicate"

_Mask = np.ndarray[Any, np.dtype[np.bool_]]
Progress = Callable[[int, int], None]
"""Called with the bytes read and the bytes there are."""


def build(
    origins: Sequence[Origin],
    *,
    words: int,
    filters: Filters,
    folder: Path | None,
    progress: Progress | None = None,
) -> Index:
    """Read all sources and return where their passages lie.

    Args:
        origins: the sources.
        words: words per passage, >= 1.
        filters: what to leave out.
        folder: where arrays and uncompressed copies are written; None to hold them in memory.
        progress: called now and then.

    Raises:
        MissingExtra: a filter or a file needs a library that is not installed.
        OSError: the folder cannot be written.
    """
    builder = _Builder(words, filters, folder)
    report = _Report(progress, origins)
    read = [builder.read(origin, report) for origin in origins]
    return builder.finish(read)


@dataclass(frozen=True, slots=True)
class _Read:
    """What reading one source came to."""

    origin: Origin
    passages: int
    documents: int
    fingerprint: str
    left_out: Mapping[str, int]
    unusable: Mapping[str, int]


class _Builder:
    def __init__(self, words: int, filters: Filters, folder: Path | None) -> None:
        self._words, self._folder = words, folder
        self._sieve = sieve(filters)
        self._threshold = filters.near_duplicates
        self._near = NearDuplicates(self._threshold, folder) if self._threshold else None
        self._documents = Column(DOCUMENT, folder and folder / DOCUMENTS)
        self._passages = Column(PASSAGE, folder and folder / PASSAGES)
        self._files: list[FileEntry] = []
        self._held: list[Document] = []
        self._examples: list[str] = []
        self._copies = 0

    def read(self, origin: Origin, report: _Report) -> _Read:
        """Read one source."""
        before, documents, digest = self._passages.count, 0, hashlib.sha256()
        left_out: Counter[str] = Counter()
        unusable: Counter[str] = Counter()
        report.begin(origin)
        for entry, place, found in scan_origin(origin, self._folder, self._copies):
            report.at(entry, place)
            if isinstance(found, Unreadable):
                unusable[found.reason] += 1
                if len(self._examples) < EXAMPLES:
                    self._examples.append(f"{place.source} {found}")
            elif self._add(entry, place, found, digest, left_out):
                documents += 1
            elif place.kind != "text" or place.start == 0:
                unusable["empty"] += 1
        self._copies += len(origin.files)
        report.end()
        return _Read(
            origin=origin,
            passages=self._passages.count - before,
            documents=documents,
            fingerprint=digest.hexdigest(),
            left_out=left_out,
            unusable=unusable,
        )

    def _add(
        self,
        entry: FileEntry,
        place: Place,
        document: Document,
        digest: Any,
        left_out: Counter[str],
    ) -> bool:
        """Add a document's passages; return whether it holds text."""
        number, before = self._documents.count, self._passages.count
        found = spans(document.text, self._words)
        for start, end in found:
            text = document.text[start:end]
            why = self._sieve(text)
            if why is not None:
                left_out[why] += 1
                continue
            raw = text.encode()
            digest.update(f"{document.source}\0{document.offset + start}\0".encode())
            digest.update(raw + b"\0")
            self._passages.append((number, start, end, zlib.crc32(raw)))
            if self._near is not None:
                self._near.add(text)
        if self._passages.count > before:
            if not self._files or self._files[-1] != entry:
                self._files.append(entry)
            mark = place.offset if place.kind == "text" else place.number
            self._documents.append((len(self._files) - 1, place.start, place.length, mark))
            if place.kind == "held":
                self._held.append(document)
        return bool(found)

    def finish(self, read: Sequence[_Read]) -> Index:
        """Return the index."""
        documents = Table(DOCUMENT, self._documents.finish())
        passages = Table(PASSAGE, self._passages.finish())
        kept = None
        if self._near is not None:
            kept = self._near.kept()
            passages = self._only(passages, kept)
        parts: list[Part] = []
        first = begun = 0
        for one in read:
            mask = None if kept is None else kept[begun : begun + one.passages]
            begun += one.passages
            count = one.passages if mask is None else int(mask.sum())
            parts.append(self._part(one, first, passages, count, mask))
            first += count
        return Index(
            files=tuple(self._files),
            parts=tuple(parts),
            documents=documents,
            passages=passages,
            examples=tuple(self._examples),
            held=tuple(self._held),
            folder=self._folder,
        )

    def _part(
        self, one: _Read, first: int, passages: Table, count: int, mask: _Mask | None
    ) -> Part:
        left_out, fingerprint = dict(one.left_out), one.fingerprint
        if mask is not None:
            text = f"{fingerprint}/{self._threshold}/".encode()
            fingerprint = hashlib.sha256(text + np.packbits(mask).tobytes()).hexdigest()
            if count < one.passages:
                left_out[NEAR] = one.passages - count
        sizes = (
            rows["end"].astype(np.int64) - rows["start"]
            for rows in passages.pieces(first, first + count)
        )
        return Part(
            name=one.origin.name,
            first=first,
            passages=count,
            documents=one.documents,
            characters=sum(int(size.sum()) for size in sizes),
            fingerprint=fingerprint,
            licence=one.origin.licence,
            left_out=left_out,
            unusable=dict(one.unusable),
        )

    def _only(self, passages: Table, kept: _Mask) -> Table:
        """Return the passages that are kept."""
        path = self._folder and self._folder / "kept.bin"
        column, first = Column(PASSAGE, path), 0
        for rows in passages.pieces():
            column.extend(rows[kept[first : first + len(rows)]])
            first += len(rows)
        held = column.finish()
        if isinstance(held, Path):
            held = held.replace(held.with_name(PASSAGES))
        return Table(PASSAGE, held)


class _Report:
    """Tells how far reading has come, about once for every MiB."""

    def __init__(self, progress: Progress | None, origins: Sequence[Origin]) -> None:
        self._progress = progress
        self._total = sum(origin.bytes for origin in origins)
        self._before = self._told = 0
        self._starts: dict[str, tuple[int, int]] = {}

    def begin(self, origin: Origin) -> None:
        """Note that a source comes next."""
        self._starts = {}
        for (_, name, _), size in zip(origin.files, origin.sizes, strict=True):
            self._starts[name] = (self._before, self._before + size)
            self._before += size

    def at(self, entry: FileEntry, place: Place) -> None:
        """Note that a place was read."""
        if self._progress is None:
            return
        first, last = self._starts[entry.source]
        inside = place.start + place.length if place.kind in ("text", "html", "jsonl") else 0
        self._tell(min(first + inside, last))

    def end(self) -> None:
        """Note that a source was read."""
        self._tell(self._before)

    def _tell(self, done: int) -> None:
        if self._progress is not None and (done - self._told >= 1 << 20 or done == self._total):
            self._told = done
            self._progress(done, self._total)
