"""Find files and read them in bounded pieces, compressed or not."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Literal, cast

from spade_envs.corpus.decode import decode_bytes, decode_place
from spade_envs.corpus.documents import Document, Place, Unreadable
from spade_envs.corpus.markup import text_title

BLOCK_BYTES = 4 << 20
"""Plain text is read in blocks of this size, so that a huge file never fills the memory."""
WHOLE_BYTES = 16 << 20
"""Largest HTML page and largest JSONL row."""

Kind = Literal["text", "html", "jsonl"]
KINDS: dict[str, Kind] = {
    ".txt": "text",
    ".text": "text",
    ".md": "text",
    ".markdown": "text",
    ".rst": "text",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
_IO_ERRORS = (OSError, EOFError, zlib.error)


def kind_of(path: Path) -> Kind | None:
    """Return how a file is read, by its name; None if it is no document."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    return KINDS.get(suffixes[-1]) if suffixes else None


def find_files(folder: Path) -> Iterator[Path]:
    """Yield the documents below a folder, sorted by path; hidden ones are left out.

    Links to folders are not followed, so loops do no harm; links to files only within the folder.
    """
    root = folder.resolve()
    for parent, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(parent, name)
            if name.startswith(".") or kind_of(path) is None:
                continue
            real = Path(os.path.realpath(path))  # unlike resolve(), it does not raise on a loop
            if path.is_symlink() and not real.is_relative_to(root):
                continue
            if real.is_file():
                yield path


def scan(path: Path, source: str) -> Iterator[tuple[Place, Document | Unreadable]]:
    """Yield every document of a file with its place, in bounded memory.

    A row that cannot be used comes as `Unreadable` in place of its document.

    Raises:
        Unreadable: the whole file cannot be used.
    """
    kind = kind_of(path) or "text"
    try:
        with _open(path) as stream:
            if kind == "jsonl":
                yield from _scan_rows(stream, path, source)
            elif kind == "html":
                raw = stream.read(WHOLE_BYTES + 1)
                if len(raw) > WHOLE_BYTES:
                    raise Unreadable(f"larger than {WHOLE_BYTES >> 20} MiB; split the page")
                place = Place(path=path, kind="html", source=source, start=0, length=len(raw))
                yield place, decode_place(place, raw)
            else:
                yield from _scan_blocks(stream, path, source)
    except _IO_ERRORS as error:
        raise Unreadable(f"cannot be read: {error}") from error


def read(place: Place) -> Document:
    """Read one document again.

    Raises:
        Unreadable: the file is gone or no longer holds it.
    """
    try:
        with _open(place.path) as stream:
            stream.seek(place.start)
            raw = stream.read(place.length)
    except _IO_ERRORS as error:
        raise Unreadable(f"cannot be read: {error}") from error
    return decode_place(place, raw)


def _open(path: Path) -> IO[bytes]:
    if path.suffix.lower() == ".gz":
        return cast("IO[bytes]", gzip.open(path, "rb"))
    return path.open("rb")


def _scan_rows(
    stream: IO[bytes], path: Path, source: str
) -> Iterator[tuple[Place, Document | Unreadable]]:
    start, number = 0, 0
    while raw := stream.readline(WHOLE_BYTES + 1):
        number += 1
        place = Place(
            path=path, kind="jsonl", source=f"{source}#{number}", start=start, length=len(raw)
        )
        start += len(raw)
        if len(raw) > WHOLE_BYTES:
            raise Unreadable(f"line {number} is longer than {WHOLE_BYTES >> 20} MiB")
        if not raw.strip(b"\xef\xbb\xbf \t\r\n"):
            continue
        try:
            yield place, decode_place(place, raw)
        except Unreadable as error:
            yield place, error


def _scan_blocks(
    stream: IO[bytes], path: Path, source: str
) -> Iterator[tuple[Place, Document | Unreadable]]:
    start, offset, rest, title = 0, 0, b"", ""
    while True:
        raw = rest + stream.read(BLOCK_BYTES - len(rest))
        if not raw:
            return
        cut = len(raw) if len(raw) < BLOCK_BYTES else _cut(raw)
        raw, rest = raw[:cut], raw[cut:]
        text = decode_bytes(raw, first=start == 0)
        title = title or text_title(text, Path(source).name)
        place = Place(
            path=path,
            kind="text",
            source=source,
            start=start,
            length=len(raw),
            offset=offset,
            title=title,
        )
        yield place, Document(text=text, title=title, source=source, offset=offset)
        start, offset = start + len(raw), offset + len(text)


def _cut(raw: bytes) -> int:
    """Return where to end a full block: after its last line or word, never inside a character."""
    for mark in (b"\n", b" "):
        found = raw.rfind(mark, len(raw) // 2)
        if found >= 0:
            return found + 1
    end = len(raw) - 1
    while end > len(raw) - 4 and raw[end] & 0xC0 == 0x80:
        end -= 1
    return end
