"""Find files and read them in bounded pieces, compressed or not."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from spade_envs.corpus.decode import WHOLE_BYTES, decode_bytes, decode_place
from spade_envs.corpus.documents import Document, Kind, Place, Unreadable
from spade_envs.corpus.markup import text_title

BLOCK_BYTES = 4 << 20
"""Plain text is read in blocks of this size, so that a huge file never fills the memory."""
LEAST_UNPACKED_BYTES = 64 << 20
MOST_TIMES_UNPACKED = 200
"""A compressed file may unpack to this many times its size, or to 64 MiB, and no more."""

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
    ".parquet": "parquet",
}
_IO_ERRORS = (OSError, EOFError, zlib.error)


def kind_of(path: Path) -> Kind | None:
    """Return how a file is read, by its name; None if it is no document."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = bool(suffixes) and suffixes[-1] == ".gz"
    if packed:
        suffixes.pop()
    kind = KINDS.get(suffixes[-1]) if suffixes else None
    return None if packed and kind == "parquet" else kind


def is_packed(path: Path) -> bool:
    """Whether a file is compressed, by its name."""
    return path.suffix.lower() == ".gz"


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


def scan(
    path: Path, source: str, kind: Kind, text_key: str | None = None
) -> Iterator[tuple[Place, Document | Unreadable]]:
    """Yield every document of a file with its place, in bounded memory.

    A row that cannot be used comes as `Unreadable` in place of its document.

    Args:
        path: the file.
        source: what it is called in the corpus.
        kind: text, html or jsonl.
        text_key: key of a row's text.

    Raises:
        Unreadable: the whole file, or what is left of it, cannot be used.
    """
    try:
        with open_file(path) as stream:
            if kind == "jsonl":
                yield from _scan_rows(stream, path, source, text_key)
            elif kind == "html":
                yield from _scan_page(stream, path, source)
            else:
                yield from _scan_blocks(stream, path, source)
    except _IO_ERRORS as error:
        raise Unreadable(f"cannot be read: {error}") from error


def read(place: Place) -> Document:
    """Read one document of a file of text, HTML or JSONL again.

    Raises:
        Unreadable: the file is gone or no longer holds it.
    """
    try:
        with open_file(place.path) as stream:
            stream.seek(place.start)
            raw = stream.read(place.length)
    except _IO_ERRORS as error:
        raise Unreadable(f"cannot be read: {error}") from error
    return decode_place(place, raw)


def unpack(path: Path, target: Path) -> int:
    """Write what a compressed file holds to a new file; return its size in bytes.

    Raises:
        Unreadable: it is broken or unpacks to too much; what was read until then is there.
        OSError: `target` cannot be written.
    """
    size = 0
    with target.open("xb") as out:
        for block in _blocks(path):
            out.write(block)
            size += len(block)
    return size


def _blocks(path: Path) -> Iterator[bytes]:
    try:
        with open_file(path) as stream:
            while block := stream.read1(1 << 20):
                yield block
    except _IO_ERRORS as error:
        raise Unreadable(f"cannot be read: {error}") from error


def open_file(path: Path) -> io.BufferedReader:
    """Open a file to read what it holds, uncompressed.

    Raises:
        OSError: it cannot be opened. While reading: `Unreadable` if it unpacks to too much.
    """
    if is_packed(path):
        return io.BufferedReader(_Unpacking(path), 1 << 17)
    return path.open("rb")


class _Unpacking(io.RawIOBase):
    """A compressed file that gives no more than its size makes plausible."""

    def __init__(self, path: Path) -> None:
        self._file = gzip.open(path, "rb")  # noqa: SIM115
        size = path.stat().st_size
        self._limit = max(LEAST_UNPACKED_BYTES, MOST_TIMES_UNPACKED * size)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._file.readinto1(buffer)
        if self._file.tell() > self._limit:
            why = (
                f"unpacks to more than {MOST_TIMES_UNPACKED} times its size; unpack it yourself "
                "if that is meant"
            )
            raise Unreadable(why, "too large")
        return count

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()
        super().close()


def _scan_rows(
    stream: IO[bytes], path: Path, source: str, text_key: str | None
) -> Iterator[tuple[Place, Document | Unreadable]]:
    start, number = 0, 0
    while raw := stream.readline(WHOLE_BYTES + 1):
        number += 1
        length = len(raw)
        while length > WHOLE_BYTES and not raw.endswith(b"\n"):
            raw = stream.readline(WHOLE_BYTES)
            if not raw:
                break
            length += len(raw)
        place = Place(
            path=path,
            kind="jsonl",
            source=f"{source}#{number}",
            start=start,
            length=length,
            number=number,
            text_key=text_key,
        )
        start += length
        if length > WHOLE_BYTES:
            yield place, Unreadable(f"is longer than {WHOLE_BYTES >> 20} MiB", "too large")
        elif raw.strip(b"\xef\xbb\xbf \t\r\n"):
            try:
                yield place, decode_place(place, raw)
            except Unreadable as error:
                yield place, error


def _scan_page(
    stream: io.BufferedReader, path: Path, source: str
) -> Iterator[tuple[Place, Document | Unreadable]]:
    raw, torn = _until_torn(stream, WHOLE_BYTES + 1)
    if len(raw) > WHOLE_BYTES:
        why = f"larger than {WHOLE_BYTES >> 20} MiB; split the page"
        raise Unreadable(why, "too large")
    if torn is not None:
        if not raw:
            raise torn
        raw = raw[: _cut(raw)]
    place = Place(path=path, kind="html", source=source, start=0, length=len(raw))
    yield place, decode_place(place, raw)
    if torn is not None:
        raise torn


def _scan_blocks(
    stream: io.BufferedReader, path: Path, source: str
) -> Iterator[tuple[Place, Document | Unreadable]]:
    start, offset, rest, title = 0, 0, b"", ""
    while True:
        new, torn = _until_torn(stream, BLOCK_BYTES - len(rest))
        raw = rest + new
        if torn is not None and not raw:
            raise torn
        if not raw and start:
            return
        cut = len(raw) if len(raw) < BLOCK_BYTES and torn is None else _cut(raw)
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
        if torn is not None:
            raise torn
        if not raw:  # an empty file is a document without text
            return


def _until_torn(stream: io.BufferedReader, count: int) -> tuple[bytes, Exception | None]:
    """Return as many bytes, or those before the end or a tear, and the error of that."""
    parts: list[bytes] = []
    try:
        while count > 0 and (part := stream.read1(count)):
            parts.append(part)
            count -= len(part)
    except (*_IO_ERRORS, Unreadable) as error:
        return b"".join(parts), error
    return b"".join(parts), None


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
