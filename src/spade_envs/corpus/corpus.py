"""Open a corpus and draw passages from it."""

from __future__ import annotations

import hashlib
import logging
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from spade_envs.corpus import pydoc
from spade_envs.corpus.chunking import spans
from spade_envs.corpus.cursor import Cursor
from spade_envs.corpus.documents import Document, Place, Unreadable
from spade_envs.corpus.readers import KINDS, find_files, kind_of, read, scan
from spade_envs.errors import CorpusError
from spade_envs.types import Passage

_log = logging.getLogger(__name__)

DEFAULT_WORDS = 400


@dataclass(frozen=True, slots=True)
class Corpus:
    """All passages of some documents; their texts stay on disk until drawn."""

    name: str
    fingerprint: str
    """Hexadecimal sha256 over every passage, its source and its place; the first 16 digits."""
    documents: tuple[Document | Place, ...]
    spans: tuple[tuple[int, int, int], ...]
    """(document, start, end) of every passage, in reading order."""
    licence: str
    skipped: tuple[str, ...] = ()
    """Files and rows that could not be used, each with the reason."""

    def __len__(self) -> int:
        """Return the number of passages."""
        return len(self.spans)

    def passage(self, index: int) -> Passage:
        """Return one passage by its number in reading order, in [0, len(self)).

        Raises:
            CorpusError: its file has changed or gone since the corpus was opened.
        """
        where, start, end = self.spans[index]
        document = self._document(where)
        return Passage(
            text=document.text[start:end],
            title=document.title,
            corpus=self.name,
            source=document.source,
            offset=document.offset + start,
            licence=document.licence or self.licence,
            metadata=document.metadata,
        )

    def draw(self, cursor: Cursor) -> tuple[Passage, Cursor]:
        """Return the passage at the cursor and the cursor of the next one.

        Passages are drawn without replacement; an epoch that is used up is followed by another
        one in another order. The same cursor gives the same passage, in every process.

        Raises:
            CorpusError: the cursor belongs to another corpus, or a file has changed.
        """
        if cursor.corpus not in ("", self.fingerprint):
            raise CorpusError(
                f"the cursor was used with another corpus ({cursor.corpus}); corpus {self.name!r} "
                f"now has fingerprint {self.fingerprint}; start with a new cursor"
            )
        passage = self.passage(cursor.passage_index(len(self.spans)))
        return passage, replace(cursor, position=cursor.position + 1, corpus=self.fingerprint)

    def _document(self, where: int) -> Document:
        held = self.documents[where]
        if isinstance(held, Document):
            return held
        try:
            document = _read_again(held)
        except Unreadable as error:
            raise CorpusError(f"{held.path} {error}; it has changed since it was opened") from error
        last = bisect_right(self.spans, where, key=lambda span: span[0]) - 1
        if len(document.text) < self.spans[last][2]:
            raise CorpusError(f"{held.path} has changed since it was opened; open the corpus again")
        return document


@lru_cache(maxsize=8)
def _read_again(place: Place) -> Document:
    return read(place)


def open_corpus(
    spec: str | Path, *, words: int = DEFAULT_WORDS, licence: str | None = None
) -> Corpus:
    """Open a corpus; every document is read once to find its passages.

    Args:
        spec: `pydoc` for the built-in one, else a folder (of `.txt`, `.md`, `.rst`, `.html` and
            `.jsonl` files) or one such file; each may be compressed (`.gz`). Write `./pydoc` for
            a folder of that name.
        words: words per passage, >= 1.
        licence: SPDX identifier for documents that name none; `unknown` if not given.

    Raises:
        CorpusError: nothing is there, or nothing in it is readable text; the message says how
            to mend it.
    """
    if words < 1:
        raise CorpusError(f"words per passage must be >= 1, not {words}")
    if spec == "pydoc":
        every: Iterator[tuple[Document | Place, Document]] = ((d, d) for d in pydoc.documents())
        return _build("pydoc", every, [], words, licence or pydoc.LICENCE, "the built-in corpus")
    path = Path(spec).expanduser()
    if path.is_dir():
        root, files = path.resolve(), list(find_files(path))
        if not files:
            raise CorpusError(f"{path} holds no documents; expected files named {_suffixes()}")
    elif path.is_file():
        root, files = path.resolve().parent, [path.resolve()]
        if kind_of(path) is None:
            raise CorpusError(f"{path} is not a document by its name; expected {_suffixes()}")
    elif path.exists():
        raise CorpusError(f"{path} is neither a file nor a folder")
    else:
        raise CorpusError(
            f"there is no file or folder {str(path)!r}; the built-in corpus is called 'pydoc'"
        )
    skipped: list[str] = []
    found = _scan_all(root, files, skipped)
    return _build(
        _utf8(path.resolve().name), found, skipped, words, licence or "unknown", str(path)
    )


def _utf8(name: str) -> str:
    """Return a file's name with bytes that are not UTF-8 as escapes."""
    return name.encode("utf-8", "backslashreplace").decode()


def _scan_all(
    root: Path, files: list[Path], skipped: list[str]
) -> Iterator[tuple[Document | Place, Document]]:
    for file in files:
        source = _utf8(file.relative_to(root).as_posix())
        try:
            for place, document in scan(file, source):
                if isinstance(document, Unreadable):
                    skipped.append(f"{place.source} {document}")
                else:
                    yield place, document
        except Unreadable as error:
            skipped.append(f"{source} {error}")


def _build(
    name: str,
    found: Iterator[tuple[Document | Place, Document]],
    skipped: list[str],
    words: int,
    licence: str,
    where: str,
) -> Corpus:
    digest = hashlib.sha256()
    held: list[Document | Place] = []
    passages: list[tuple[int, int, int]] = []
    for keep, document in found:
        for start, end in spans(document.text, words):
            text = document.text[start:end]
            digest.update(f"{document.source}\0{document.offset + start}\0{text}\0".encode())
            passages.append((len(held), start, end))
        held.append(keep)
    if not passages:
        reason = f"; first problem: {skipped[0]}" if skipped else ": all of it is empty"
        raise CorpusError(f"{where} holds no text{reason}")
    if skipped:
        _log.warning("%s: %d files or rows skipped; first: %s", where, len(skipped), skipped[0])
    return Corpus(
        name=name,
        fingerprint=digest.hexdigest()[:16],
        documents=tuple(held),
        spans=tuple(passages),
        licence=licence,
        skipped=tuple(skipped),
    )


def _suffixes() -> str:
    return ", ".join(f"*{suffix}" for suffix in KINDS) + " (or any of these with .gz)"
