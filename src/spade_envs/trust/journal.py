"""What this machine noted about environments from elsewhere, in files of JSON lines.

They lie in the user's own state folder, outside every store, so no remote can write to them. Lines
are only ever added; a torn one is passed over.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from spade_envs.errors import StoreError

T = TypeVar("T", bound=msgspec.Struct)

_MAX_BYTES = 256 << 20


def state_folder() -> Path:
    """Return the folder of these files, `$XDG_STATE_HOME/spade-envs/trust` on Linux."""
    from platformdirs import user_state_path

    return user_state_path("spade-envs", appauthor=False) / "trust"


def append(name: str, notes: Sequence[msgspec.Struct]) -> None:
    """Add notes to a file of this machine, and sync it; the file is made if it is not there.

    Raises:
        StoreError: it cannot be written to; what would be noted must not go on.
    """
    if not notes:
        return
    path = state_folder() / name
    lines = b"".join(b"\n" + msgspec.json.encode(note) + b"\n" for note in notes)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(path, flags, 0o600)
        try:
            while lines:
                lines = lines[os.write(handle, lines) :]
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written ({error}), and what is pulled must be noted there; free "
            "space, or set XDG_STATE_HOME to a folder of your own"
        ) from None


def grouped(name: str, kind: type[T], key: str) -> Mapping[str, Sequence[T]]:
    """Return the notes of a file by one of their fields, oldest first; empty if there is no file.

    Args:
        name: of the file.
        kind: of its notes.
        key: name of a field that holds text.

    Raises:
        StoreError: the file is there and cannot be read.
    """
    path = state_folder() / name
    try:
        found = path.stat()
        mark = (found.st_mtime_ns, found.st_size, found.st_ino)
        known = _read.get(path)
        if known is not None and known[0] == mark:
            groups: dict[str, list[T]] = known[1]
            return groups
        if found.st_size > _MAX_BYTES:
            raise StoreError(f"{path} has more than {_MAX_BYTES} bytes; move it away")
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        if os.path.lexists(path):
            raise StoreError(f"{path} cannot be read, and it says what was pulled") from None
        return {}  # where nothing can be noted, nothing was pulled
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error}") from None
    groups = {}
    decoder = msgspec.json.Decoder(kind)
    for line in data.split(b"\n"):
        if line:
            try:
                note = decoder.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError):
                continue  # torn by a kill, or of a newer release
            groups.setdefault(getattr(note, key), []).append(note)
    _read[path] = (mark, groups)
    return groups


_read: dict[Path, tuple[tuple[int, int, int], Any]] = {}
