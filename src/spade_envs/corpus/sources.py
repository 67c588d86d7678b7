"""From what a source is called to its files, and from these to documents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from spade_envs.corpus import pydoc
from spade_envs.corpus.documents import Document, Kind, Place, Unreadable
from spade_envs.corpus.index import FileEntry
from spade_envs.corpus.readers import KINDS, find_files, is_packed, kind_of, read, scan, unpack
from spade_envs.corpus.settings import BUILT_IN, HUB, Source
from spade_envs.errors import CorpusError, MissingExtra

_PACKING = 4
"""Compressed files and Parquet files count as so many times their size."""
_LEAST_COPY_BYTES = 4 << 20
"""Compressed files that unpack to less are read through the compression."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """A source whose files are known."""

    source: Source
    name: str
    """What its passages name as their corpus."""
    where: str
    """What messages call it."""
    licence: str
    files: tuple[tuple[Path, str, Kind], ...]
    """Path, name in the corpus, kind."""
    stamps: tuple[tuple[str, int, int], ...]
    """Name, size and time of change of each file; decides whether an index is stale."""
    whole: bool = False
    """Whether it is one file that the user named."""

    @property
    def place(self) -> str:
        """Return where it is, the same from every folder that one works in."""
        path = self.source.path
        held = path == BUILT_IN or path.startswith(HUB)
        return path if held else str(Path(path).expanduser().resolve())

    @property
    def sizes(self) -> list[int]:
        """Return about how much there is to read of each file, in bytes."""
        return [
            size * (_PACKING if is_packed(path) or kind == "parquet" else 1)
            for (path, _, kind), (_, size, _) in zip(self.files, self.stamps, strict=True)
        ]

    @property
    def bytes(self) -> int:
        """Return about how much there is to read."""
        return sum(self.sizes)


def resolve(source: Source, licence: str | None) -> Origin:
    """Find the files of a source.

    Args:
        source: what to look for.
        licence: of documents that name none, if the source does not say.

    Raises:
        CorpusError: nothing is there, or no documents; the message says how to mend it.
        MissingExtra: it needs a library that is not installed.
    """
    licence = source.licence or licence
    if source.path == BUILT_IN:
        return Origin(
            source=source,
            name=BUILT_IN,
            where="the built-in corpus",
            licence=licence or pydoc.LICENCE,
            files=((Path(BUILT_IN), BUILT_IN, "held"),),
            stamps=((BUILT_IN, 0, 0),),
        )
    if source.path.startswith(HUB):
        return _dataset(source, licence)
    if not source.path:
        raise CorpusError("name a corpus: a folder, a file, pydoc or hf:NAME; . is this folder")
    path = Path(source.path).expanduser()
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
    named = [(file, utf8(file.relative_to(root).as_posix())) for file in files]
    found = tuple((file, name, kind_of(file) or kind_of(path) or "text") for file, name in named)
    return Origin(
        source=source,
        name=utf8(path.resolve().name),
        where=str(path),
        licence=licence or "unknown",
        files=found,
        stamps=tuple((name, *_stamp(file)) for file, name in named),
        whole=path.is_file(),
    )


def scan_origin(
    origin: Origin, copies: Path | None, first_copy: int
) -> Iterator[tuple[FileEntry, Place, Document | Unreadable]]:
    """Yield every document of a source with its file and place.

    What cannot be used comes as `Unreadable`, rows and whole files alike.

    Args:
        origin: the source.
        copies: folder for uncompressed copies; None to read through the compression.
        first_copy: number that the first copy is named by.

    Raises:
        MissingExtra: the source is one file that needs a library that is not installed.
        OSError: a copy cannot be written.
    """
    for number, (path, name, kind) in enumerate(origin.files):
        entry = FileEntry(path=str(path), kind=kind, source=name, text_key=origin.source.text_key)
        try:
            if kind == "held":
                yield from _held(entry)
            elif copies is not None and is_packed(path):
                yield from _unpacked(entry, copies, f"copy-{first_copy + number}")
            else:
                for place, document in scan_file(entry, path):
                    yield _titled(entry, place), place, document
        except Unreadable as error:
            yield entry, _whole(entry), error
        except MissingExtra as error:
            if origin.whole or kind == "hub":
                raise
            yield entry, _whole(entry), Unreadable(f"is left out: {error}", "needs an extra")


def scan_file(entry: FileEntry, path: Path) -> Iterator[tuple[Place, Document | Unreadable]]:
    """Yield every document of one file.

    Raises:
        Unreadable: it, or what is left of it, cannot be used.
        MissingExtra: it needs a library that is not installed.
    """
    if entry.kind == "parquet":
        from spade_envs.corpus.parquet import scan_parquet

        return scan_parquet(path, entry.source, entry.text_key)
    if entry.kind == "hub":
        from spade_envs.corpus.hub import scan_dataset

        return scan_dataset(entry.path, entry.source, entry.text_key)
    return scan(path, entry.source, entry.kind, entry.text_key)


def read_place(place: Place) -> Document:
    """Read one document again.

    Raises:
        Unreadable: it is gone or changed.
        MissingExtra: it needs a library that is not installed.
    """
    if place.kind == "parquet":
        from spade_envs.corpus.parquet import read_parquet

        return read_parquet(place)
    if place.kind == "hub":
        from spade_envs.corpus.hub import read_dataset

        return read_dataset(place)
    return read(place)


def utf8(name: str) -> str:
    """Return a file's name with bytes that are not UTF-8 as escapes."""
    return name.encode("utf-8", "backslashreplace").decode()


def _held(entry: FileEntry) -> Iterator[tuple[FileEntry, Place, Document]]:
    for number, document in enumerate(pydoc.documents()):
        place = Place(
            path=Path(BUILT_IN), kind="held", source=document.source, start=number, length=0
        )
        yield entry, place, document


def _unpacked(
    entry: FileEntry, copies: Path, name: str
) -> Iterator[tuple[FileEntry, Place, Document | Unreadable]]:
    """Unpack a file beside the index and scan the copy; keep it if it is large."""
    copy, broken = copies / name, None
    try:
        unpack(Path(entry.path), copy)
    except Unreadable as error:
        broken = error
    large = copy.stat().st_size >= _LEAST_COPY_BYTES
    kept = replace(entry, unpacked=name if large else None)
    try:
        for place, document in scan_file(entry, copy):
            yield _titled(kept, place), place, document
    except Unreadable as error:
        broken = broken or error
    if not large:
        copy.unlink()
    if broken is not None:
        raise broken


def _titled(entry: FileEntry, place: Place) -> FileEntry:
    return entry if entry.title == place.title else replace(entry, title=place.title)


def _dataset(source: Source, licence: str | None) -> Origin:
    from spade_envs.corpus.hub import licence_of, signature

    name = source.path.removeprefix(HUB)
    rows, size, fingerprint = signature(name)
    shown = utf8(Path(name.partition("#")[0]).name)
    return Origin(
        source=source,
        name=shown,
        where=source.path,
        licence=licence or licence_of(name) or "unknown",
        files=((Path(name), shown, "hub"),),
        stamps=((f"{fingerprint}/{rows}", size, 0),),
    )


def _whole(entry: FileEntry) -> Place:
    return Place(path=Path(entry.path), kind=entry.kind, source=entry.source, start=0, length=0)


def _stamp(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return 0, 0  # it went away meanwhile; reading it will say so
    return found.st_size, found.st_mtime_ns


def _suffixes() -> str:
    text = ", ".join(f"*{suffix}" for suffix in KINDS)
    return f"{text} (or any of these but Parquet with .gz), or a *.toml that names sources"
