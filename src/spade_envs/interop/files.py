"""Files and folders of files: plain ones, and published pools with checksums."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from spade_envs.errors import NotFound
from spade_envs.interop.target import Target
from spade_envs.types import EnvSource

MAX_BYTES = 4_000_000
"""Greatest size of a file that is read at all; the gates refuse far smaller ones."""

_CHECKSUMS, _MANIFEST, _GAMES = "checksums.sha256", "manifest.jsonl", "games"
_FILE_KEYS = ("path", "file", "file_name")


def of_file(path: Path, *, label: str = "", sha256: str | None = None) -> Target:
    """Return the target of one Python file; what is wrong with it is the target's `error`.

    Args:
        path: the file.
        label: what to call it; the path by default.
        sha256: checksum that its bytes must have, in hexadecimal.
    """
    label = label or str(path)
    try:
        data = read_bounded(path)
    except OSError as error:
        return Target(label=label, error=f"the file cannot be read: {error.strerror or error}")
    if sha256 is not None and hashlib.sha256(data).hexdigest() != sha256.lower():
        return Target(label=label, error="the file does not have the checksum that the pool lists")
    try:
        code = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return Target(label=label, error=f"the file is not UTF-8 text: {error.reason}")
    return Target(label=label, source=EnvSource(code=code, origin=label))


def read_bounded(path: Path) -> bytes:
    """Return the bytes of an ordinary file of at most `MAX_BYTES`.

    Raises:
        OSError: it is a pipe, a device or too large, or cannot be read.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError("it is not an ordinary file")
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise OSError(f"it is larger than {MAX_BYTES} bytes")
    return data


def of_folder(folder: Path) -> list[Target]:
    """Return the targets of a folder: a pool if it has a list of its files, else all its `.py`.

    Raises:
        NotFound: there is nothing to check in it.
    """
    is_pool = (folder / _CHECKSUMS).is_file() or (folder / _MANIFEST).is_file()
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
    listed = _listed(folder)
    root = folder / _GAMES if (folder / _GAMES).is_dir() else folder
    here = {path.relative_to(folder).as_posix(): path for path in _sources(root)}
    for name in sorted({*listed, *here}):
        label = str(folder / name)
        if name not in here:
            yield Target(label=label, error="the pool lists this file, but it is not there")
        elif here[name].is_symlink():
            yield Target(label=label, error="a link instead of a file; it is not followed")
        elif name not in listed:
            yield Target(label=label, error="the pool does not list this file; it is not verified")
        else:
            yield of_file(here[name], label=label, sha256=listed[name])


def _listed(folder: Path) -> dict[str, str | None]:
    """Return the pool's Python files and their checksums, as far as it gives any."""
    found = {
        name: row.get("sha256") if isinstance(row.get("sha256"), str) else None
        for name, row in _manifest_rows(folder)
    }
    for line in _lines(folder / _CHECKSUMS):
        checksum, _, name = line.partition(" ")
        name = name.strip().lstrip("*").removeprefix("./")
        in_games = Path(name).parent.as_posix() in (_GAMES, ".")
        if name.endswith(".py") and in_games and len(checksum) == 64:
            found[name] = checksum
    return found


def _manifest_rows(folder: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    inside = f"{_GAMES}/" if (folder / _GAMES).is_dir() else ""
    for line in _lines(folder / _MANIFEST):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        names = [row[key] for key in _FILE_KEYS if key in row] if isinstance(row, dict) else []
        if names and isinstance(names[0], str) and names[0].endswith(".py"):
            yield inside + Path(names[0]).name, row


def _lines(path: Path) -> list[str]:
    try:
        return [line for line in path.read_text("utf-8", "replace").splitlines() if line.strip()]
    except OSError:
        return []
