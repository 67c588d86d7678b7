"""Open a corpus and draw passages from it."""

from __future__ import annotations

import hashlib
import json
import logging
import zlib
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from spade_envs.corpus.build import Progress, build
from spade_envs.corpus.cache import cached, default_cache
from spade_envs.corpus.cursor import Cursor
from spade_envs.corpus.documents import Document, Place, Unreadable
from spade_envs.corpus.index import FORMAT, Index, Part, total
from spade_envs.corpus.order import Sampling
from spade_envs.corpus.settings import (
    DEFAULT_WORDS,
    CorpusSettings,
    Filters,
    Source,
    is_settings,
    read_settings,
)
from spade_envs.corpus.sources import Origin, read_place, resolve
from spade_envs.errors import CorpusError
from spade_envs.types import Passage

_log = logging.getLogger(__name__)

CACHED_BYTES = 32 << 20
"""Larger corpora have their index on disk; smaller ones are read anew, in memory."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """All passages of some documents; their texts stay on disk until drawn."""

    name: str
    fingerprint: str
    """Hexadecimal; of every passage, its source and its place, and of the sampling."""
    index: Index
    sampling: Sampling

    def __len__(self) -> int:
        """Return the number of passages."""
        return len(self.index.passages)

    @property
    def parts(self) -> tuple[Part, ...]:
        """What each source came to."""
        return self.index.parts

    @property
    def skipped(self) -> tuple[str, ...]:
        """Files and rows that could not be used, each with the reason; the first hundred."""
        return self.index.examples

    @property
    def unusable(self) -> Mapping[str, int]:
        """Files and rows that could not be used, counted by reason."""
        return total([part.unusable for part in self.parts])

    @property
    def left_out(self) -> Mapping[str, int]:
        """Passages that the filters left out, counted by reason."""
        return total([part.left_out for part in self.parts])

    def passage(self, index: int) -> Passage:
        """Return one passage by its number in reading order, in [0, len(self)).

        Raises:
            CorpusError: its file has changed or gone since the corpus was opened.
        """
        try:
            number, start, end, crc = self.index.passages.row(index).tolist()
            place = self.index.place(number)
        except IndexError:
            if not -len(self) <= index < len(self):
                raise CorpusError(f"there is no passage {index}, only {len(self)}") from None
            raise CorpusError(f"the index {self.index.folder} is broken; delete it") from None
        document = self._document(place)
        text = "" if document is None else document.text[start:end]
        if document is None or zlib.crc32(text.encode()) != crc:
            raise CorpusError(
                f"{place.source} has changed since it was opened ({place.path}); open the corpus "
                "again"
            )
        part = self.parts[bisect_right(self.parts, index, key=lambda part: part.first) - 1]
        return Passage(
            text=text,
            title=document.title,
            corpus=part.name,
            source=document.source,
            offset=document.offset + start,
            licence=document.licence or part.licence,
            metadata=document.metadata,
        )

    def draw(self, cursor: Cursor) -> tuple[Passage, Cursor]:
        """Return the passage at the cursor and the cursor of the next one.

        Passages are drawn without replacement, unless the settings say otherwise; an epoch that
        is used up is followed by another one in another order. The same cursor gives the same
        passage, in every process.

        Raises:
            CorpusError: the cursor belongs to another corpus, or a file has changed.
        """
        if cursor.corpus not in ("", self.fingerprint):
            raise CorpusError(
                f"the cursor was used with another corpus ({cursor.corpus}); corpus {self.name!r} "
                f"now has fingerprint {self.fingerprint}; start with a new cursor"
            )
        passage = self.passage(self.sampling.index(cursor.seed, cursor.position))
        return passage, replace(cursor, position=cursor.position + 1, corpus=self.fingerprint)

    def _document(self, place: Place) -> Document | None:
        """Return a document; None if it is no longer there."""
        if place.kind == "held":
            return self.index.held[place.start]
        return _read_again(place, _stamp(place.path))


@lru_cache(maxsize=4)
def _read_again(place: Place, stamp: tuple[int, int]) -> Document | None:
    try:
        return read_place(place)
    except Unreadable as error:
        _log.warning("%s %s", place.source, error)
        return None


def _stamp(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_size, found.st_mtime_ns


def open_corpus(
    spec: str | Path | CorpusSettings,
    *,
    words: int | None = None,
    licence: str | None = None,
    cache: Path | None = None,
    progress: Progress | None = None,
) -> Corpus:
    """Open a corpus; every document is read once to find its passages.

    The index of a corpus of more than 32 MiB is kept in a cache and used again until a file's
    size or time changes; then the first passage is there at once, and memory holds a few
    documents, however large the corpus is.

    Args:
        spec: `pydoc` for the built-in one, else a folder (of text, Markdown, reStructuredText,
            HTML, JSONL and Parquet files) or one such file, compressed (`.gz`) or not; `hf:NAME`
            for a Hugging Face dataset; a TOML file of settings, or settings. Write `./pydoc` for
            a folder of that name.
        words: words per passage, >= 1, if the settings do not say; 400 if neither does.
        licence: SPDX identifier for documents that name none; `unknown` if not given.
        cache: where indexes are kept; by default `SPADE_CORPUS_CACHE` or the user's cache.
        progress: called now and then with the bytes read and the bytes there are.

    Raises:
        CorpusError: nothing is there, or nothing in it is readable text; the message says how
            to mend it.
        MissingExtra: a format or a filter needs a library that is not installed.
    """
    try:
        settings = _settings(spec, words)
        origins = [resolve(source, licence) for source in settings.sources]
    except (OSError, RuntimeError) as error:  # a name that no system takes, a user without home
        raise CorpusError(f"{str(spec)[:200]} cannot be opened: {error}"[:400]) from error
    count, filters = settings.words or DEFAULT_WORDS, settings.filters

    def make(folder: Path | None) -> Index:
        return build(origins, words=count, filters=filters, folder=folder, progress=progress)

    if sum(origin.bytes for origin in origins) < CACHED_BYTES:
        try:
            index = make(None)
        except OSError as error:
            raise CorpusError(f"{origins[0].where} cannot be read: {error}") from error
    else:
        size = sum(origin.bytes for origin in origins) >> 20
        note = partial(_log.warning, "indexing %s, about %d MiB, once", origins[0].where, size)
        key, signature = _key(origins, count, filters), _signature(origins, filters)
        index = cached(cache or default_cache(), key, signature, make, note)
    _refuse_empty(index, origins, weighted=bool(settings.shares()))
    return _corpus(index, origins, settings)


def _settings(spec: str | Path | CorpusSettings, words: int | None) -> CorpusSettings:
    if words is not None and words < 1:
        raise CorpusError(f"words per passage must be >= 1, not {words}")
    if isinstance(spec, CorpusSettings):
        settings = spec
    elif is_settings(Path(spec).expanduser()):
        settings = read_settings(Path(spec).expanduser())
    else:
        settings = CorpusSettings(sources=(Source(path=str(spec)),))
    return settings if settings.words else replace(settings, words=words or DEFAULT_WORDS)


def _refuse_empty(index: Index, origins: Sequence[Origin], *, weighted: bool) -> None:
    for part, origin in zip(index.parts, origins, strict=True):
        if part.passages or (len(index.passages) and not weighted):
            continue
        if part.left_out:
            counts = ", ".join(f"{number} {why}" for why, number in part.left_out.items())
            raise CorpusError(f"the filters leave nothing of {origin.where}: {counts}")
        first = index.examples[0] if index.examples else ""
        reason = f"; first problem: {first}" if first else ": all of it is empty"
        raise CorpusError(f"{origin.where} holds no text{reason}")
    if index.examples:
        many = sum(total([part.unusable for part in index.parts]).values())
        _log.warning(
            "%s: %d files or rows not read, or not to their end; first: %s",
            origins[0].where,
            many,
            index.examples[0],
        )


def _corpus(index: Index, origins: Sequence[Origin], settings: CorpusSettings) -> Corpus:
    shares = settings.shares() if len(origins) > 1 else ()
    sampling = Sampling(tuple(part.passages for part in index.parts), shares, settings.replacement)
    fingerprint = index.parts[0].fingerprint
    if len(origins) > 1 or settings.replacement:
        prints = [part.fingerprint for part in index.parts]
        text = json.dumps([prints, shares, settings.replacement])
        fingerprint = hashlib.sha256(text.encode()).hexdigest()
    name = " + ".join(dict.fromkeys(part.name for part in index.parts))
    return Corpus(name=name[:200], fingerprint=fingerprint[:16], index=index, sampling=sampling)


def _key(origins: Sequence[Origin], words: int, filters: Filters) -> str:
    named = [[one.place, one.source.text_key] for one in origins]
    text = json.dumps([FORMAT, words, asdict(filters), named], sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:32]


def _signature(origins: Sequence[Origin], filters: Filters) -> str:
    digest = hashlib.sha256()
    for origin in origins:
        digest.update(f"{origin.name}\0{origin.licence}\n".encode())
        for stamp in origin.stamps:
            digest.update("\0".join(map(str, stamp)).encode() + b"\n")
    needed = {"rensa": filters.near_duplicates, "py3langid": filters.languages}
    for package in (name for name, used in needed.items() if used):
        digest.update(f"{package} {_version(package)}\n".encode())
    return digest.hexdigest()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"
