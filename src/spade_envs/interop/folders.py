"""Folders of files: plain ones, and published pools, which list the checksums of their files.

Nothing of a list is passed over in silence. A list that cannot be read ends the pool; a line that
cannot be understood is an error of its own, and so is a file without a checksum.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from spade_envs.errors import Corrupt, NotFound
from spade_envs.interop.files import of_file, read_bounded
from spade_envs.interop.target import Target
from spade_envs.manifest.canonical import parse_json
from spade_envs.types import Json

MAX_LIST_BYTES = 64_000_000
MAX_BAD_LINES = 20
"""Lines of one list that are told one by one."""

_CHECKSUMS, _MANIFEST, _GAMES = "checksums.sha256", "manifest.jsonl", "games"
_FILE_KEYS = ("path", "file", "file_name")
_LINE = re.compile(r"([0-9A-Fa-f]{64})[ \t]+\*?(\S.*)")
_HEX = re.compile(r"[0-9A-Fa-f]{64}")


class _BadLineError(ValueError):
    """A line of a list that says nothing usable; the message says why."""


@dataclass(frozen=True, slots=True)
class _Listed:
    """What one line says of one Python file."""

    name: str
    """Relative to the pool's folder."""
    sha256: str | None
    """In lower case; None if the line gives none."""


@dataclass(slots=True)
class _Lists:
    """What both lists of a pool say."""

    sums: dict[str, set[str]] = field(default_factory=dict)
    """Checksums by name of the file."""
    bad: list[Target] = field(default_factory=list)
    """Lines that could not be understood."""


def of_folder(folder: Path) -> list[Target]:
    """Return the targets of a folder: a pool if it has a list of its files, else all its `.py`.

    Raises:
        NotFound: there is nothing to check in it.
        Corrupt: a pool's list is no ordinary file, is too large or cannot be read.
    """
    is_pool = any(os.path.lexists(folder / name) for name in (_CHECKSUMS, _MANIFEST))
    found = list(_of_pool(folder)) if is_pool else [_plain(path) for path in _sources(folder)]
    if not found:
        raise NotFound(f"{folder} holds no Python files to check")
    return found


def _plain(path: Path) -> Target:
    if path.is_symlink():
        return Target(label=str(path), error="a link instead of a file; it is not followed")
    return of_file(path)


def _sources(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.py") if not path.name.startswith("_"))


def _of_pool(folder: Path) -> Iterator[Target]:
    """Yield the targets of a pool: the lines of its lists that are no use, then its files."""
    games = folder / _GAMES
    here = {path.relative_to(folder).as_posix(): path for path in
            _sources(games if games.is_dir() else folder)}  # fmt: skip
    lists = _read(folder)
    for name in lists.sums.keys() - here.keys():
        if os.path.lexists(folder / name):
            here[name] = folder / name  # listed, and beside the lists
    yield from lists.bad
    for name in sorted({*lists.sums, *here}):
        yield _target(str(folder / name), here.get(name), lists.sums.get(name))


def _target(label: str, path: Path | None, sums: set[str] | None) -> Target:
    if path is None:
        return Target(label=label, error="the pool lists this file, but it is not there")
    if path.is_symlink():
        return Target(label=label, error="a link instead of a file; it is not followed")
    if sums is None:
        return Target(label=label, error="the pool does not list this file; it is not verified")
    if not sums:
        return Target(
            label=label, error="the pool gives no sha256 for this file; it is not verified"
        )
    if len(sums) > 1:
        return Target(label=label, error="the pool gives several checksums for this file")
    return of_file(path, label=label, sha256=min(sums))


def _read(folder: Path) -> _Lists:
    lists = _Lists()
    for list_name, understand in ((_MANIFEST, _of_row), (_CHECKSUMS, _of_sum)):
        path = folder / list_name
        bad = 0
        for number, line in enumerate(_lines(path), 1):
            where = f"{path}:{number}"
            try:
                listed = understand(folder, line) if line.strip() else None
            except _BadLineError as error:
                bad += 1
                if bad <= MAX_BAD_LINES:
                    lists.bad.append(Target(label=where, error=str(error)))
                continue
            if listed is not None:
                found = lists.sums.setdefault(listed.name, set())
                found |= set() if listed.sha256 is None else {listed.sha256}
        if bad > MAX_BAD_LINES:
            more = f"{bad - MAX_BAD_LINES} more of its lines cannot be understood"
            lists.bad.append(Target(label=str(path), error=more))
    return lists


def _lines(path: Path) -> list[bytes]:
    """Return the lines of a list; none if there is no such list."""
    if path.is_symlink():
        raise Corrupt(f"{path} is a link instead of a file, so its pool is not checked")
    try:
        data = read_bounded(path, MAX_LIST_BYTES)
    except FileNotFoundError:
        return []
    except OSError as error:
        why = error.strerror or error
        raise Corrupt(f"{path} cannot be read, so its pool is not checked: {why}") from None
    return data.removeprefix(b"\xef\xbb\xbf").splitlines()


def _of_sum(folder: Path, line: bytes) -> _Listed | None:
    """Return what a line of `sha256sum` says; None if it is not about a Python file to check."""
    found = _LINE.fullmatch(_text(line))
    if found is None:
        raise _BadLineError("this line is not of the form of sha256sum: 64 hex digits and a file")
    checksum, name = found[1].lower(), PurePosixPath(found[2].rstrip())
    if name.is_absolute() or ".." in name.parts:
        raise _BadLineError("this line names a file outside the pool")
    if name.suffix != ".py" or name.parent.as_posix() not in (".", _GAMES):
        return None
    literal = os.path.lexists(folder / name)
    return _Listed(name.as_posix() if literal else _placed(folder, name.name), checksum)


def _of_row(folder: Path, line: bytes) -> _Listed | None:
    """Return what a row of the manifest says; None if it is not about a Python file."""
    try:
        row: Json = parse_json(line, "this line")
    except Corrupt as error:
        raise _BadLineError(str(error)) from None
    if not isinstance(row, dict):
        raise _BadLineError("this line is no JSON object")
    name = next((row[key] for key in _FILE_KEYS if key in row), None)
    if not isinstance(name, str) or not name:
        raise _BadLineError(f"this line names no file; give one of {', '.join(_FILE_KEYS)}")
    path = PurePosixPath(_text(name.encode("utf-8", "surrogatepass")))
    if path.suffix != ".py":
        return None
    checksum = row.get("sha256")
    if checksum is not None and not (isinstance(checksum, str) and _HEX.fullmatch(checksum)):
        raise _BadLineError(f"sha256 of {path.name} must be 64 hex digits")
    return _Listed(_placed(folder, path.name), None if checksum is None else checksum.lower())


def _placed(folder: Path, name: str) -> str:
    """Return where a file of this name lies: in `games/` if there is such a folder, or beside."""
    inside = f"{_GAMES}/{name}"
    if os.path.lexists(folder / inside):
        return inside
    beside = os.path.lexists(folder / name) or not (folder / _GAMES).is_dir()
    return name if beside else inside


def _text(line: bytes) -> str:
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        raise _BadLineError("this line is not UTF-8 text") from None
    if not text.isprintable() and not text.replace("\t", " ").isprintable():
        raise _BadLineError("this line holds control characters")
    return text
