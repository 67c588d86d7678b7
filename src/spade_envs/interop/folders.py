"""Folders of files: plain ones, and published pools, which list the checksums of their files.

The files of a pool lie in `games/`, in folders of it (`games/gen_0001/`), or beside the lists.

Nothing of a list is passed over in silence. A list that cannot be read ends the pool; a line that
cannot be understood is an error of its own, and so is a file without a checksum.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from spade_envs.errors import Corrupt, IdError, NotFound
from spade_envs.ids import check_digest, slugify
from spade_envs.interop.files import of_file, read_bounded
from spade_envs.interop.target import Target
from spade_envs.manifest.canonical import parse_json
from spade_envs.packing.licences import spdx
from spade_envs.types import Json, Skill

MAX_LIST_BYTES = 64_000_000
MAX_BAD_LINES = 20
"""Lines of one list that are told one by one."""

_CHECKSUMS, _MANIFEST, _GAMES = "checksums.sha256", "manifest.jsonl", "games"
_FILE_KEYS = ("path", "file", "file_name", "path_in_dataset", "filename")
_DEPTH = 2
"""Folders from `games` on that a file may lie in, `games` itself included."""
_LINE = re.compile(r"([0-9A-Fa-f]{64})[ \t]+\*?(\S.*)")
_HEX = re.compile(r"[0-9A-Fa-f]{64}")


class _BadLineError(ValueError):
    """A line of a list that says nothing usable; the message says why."""


@dataclass(frozen=True, slots=True)
class _Told:
    """What a row says of a file besides its checksum; nobody has verified it."""

    licence: str = "unknown"
    title: str | None = None
    skills: tuple[str, ...] = ()
    digest: str | None = None


@dataclass(frozen=True, slots=True)
class _Listed:
    """What one line says of one Python file."""

    name: str
    """Relative to the pool's folder."""
    sha256: str | None
    """In lower case; None if the line gives none."""
    told: _Told | None = None


@dataclass(slots=True)
class _Lists:
    """What both lists of a pool say."""

    sums: dict[str, set[str]] = field(default_factory=dict)
    """Checksums by name of the file."""
    told: dict[str, set[_Told]] = field(default_factory=dict)
    """What rows say, by name of the file; of two that differ, neither counts."""
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


def _sources(folder: Path, pattern: str = "*.py") -> list[Path]:
    return sorted(path for path in folder.glob(pattern) if not path.name.startswith("_"))


def _of_pool(folder: Path) -> Iterator[Target]:
    """Yield the targets of a pool: the lines of its lists that are no use, then its files."""
    games = folder / _GAMES
    inside = games.is_dir()
    found = [*_sources(games), *_sources(games, "*/*.py")] if inside else _sources(folder)
    here = {path.relative_to(folder).as_posix(): path for path in found}
    lists = _read(folder)
    for name in lists.sums.keys() - here.keys():
        if os.path.lexists(folder / name):
            here[name] = folder / name  # listed, and beside the lists
    yield from lists.bad
    for name in sorted({*lists.sums, *here}):
        target = _target(folder, name, here.get(name), lists.sums.get(name))
        told = lists.told.get(name, set())
        yield _with(target, next(iter(told))) if len(told) == 1 else target


def _with(target: Target, told: _Told) -> Target:
    return replace(
        target, licence=told.licence, title=told.title, skills=told.skills, digest=told.digest
    )


def _target(folder: Path, name: str, path: Path | None, sums: set[str] | None) -> Target:
    label = str(folder / name)
    if path is None:
        return Target(label=label, error="the pool lists this file, but it is not there")
    ways = [folder.joinpath(*PurePosixPath(name).parts[:end]) for end in range(1, _DEPTH + 2)]
    if any(way.is_symlink() for way in ways):
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
                if listed.told is not None:
                    lists.told.setdefault(listed.name, set()).add(listed.told)
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
    if name.suffix != ".py" or not _may_lie(name):
        return None
    literal = os.path.lexists(folder / name)
    deep = literal or len(name.parts) > _DEPTH
    return _Listed(name.as_posix() if deep else _placed(folder, name.name), checksum)


def _may_lie(name: PurePosixPath) -> bool:
    """Whether a file of a pool may lie there: beside the lists, in `games`, in a folder of it."""
    return len(name.parts) == 1 or (name.parts[0] == _GAMES and len(name.parts) <= _DEPTH + 1)


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
    if path.is_absolute() or ".." in path.parts:
        raise _BadLineError("this line names a file outside the pool")
    if path.suffix != ".py":
        return None
    checksum = row.get("sha256")
    if checksum is not None and not (isinstance(checksum, str) and _HEX.fullmatch(checksum)):
        raise _BadLineError(f"sha256 of {path.name} must be 64 hex digits")
    nested = _nested(folder, path)
    return _Listed(
        nested or _placed(folder, path.name),
        None if checksum is None else checksum.lower(),
        _told(row),
    )


def _nested(folder: Path, path: PurePosixPath) -> str:
    """Return where a row's file lies if that is a folder of `games`; empty if it is not."""
    parts = path.parts if path.parts[0] == _GAMES else (_GAMES, *path.parts)
    usable = len(parts) == _DEPTH + 1
    return "/".join(parts) if usable and os.path.lexists(folder.joinpath(*parts)) else ""


def _told(row: dict[str, Json]) -> _Told:
    """Return what a row says besides, as far as it is of a form that we know."""
    licence, title, digest = (row.get(key) for key in ("licence", "title", "digest"))
    licence = licence if isinstance(licence, str) else row.get("license")
    many = row.get("skills")
    skills = many if isinstance(many, list) and many else [row.get("skill")]
    slugs = [slugify(skill) for skill in skills if isinstance(skill, str)]
    try:
        known = check_digest(digest) if isinstance(digest, str) else None
    except IdError:
        known = None
    return _Told(
        licence=(spdx(licence) if isinstance(licence, str) else None) or "unknown",
        title=title if isinstance(title, str) and title.isprintable() and title else None,
        skills=tuple(dict.fromkeys(slug for slug in slugs if slug in set(Skill))),
        digest=known,
    )


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
