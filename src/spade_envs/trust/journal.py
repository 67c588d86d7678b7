"""What this machine noted about environments from elsewhere, in files of JSON lines.

They lie in the user's own state folder, outside every store, so no remote can write to them. Lines
are only ever added; a torn one is passed over.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import msgspec

from spade_envs.errors import StorageError, StoreError
from spade_envs.store.files import read_at, sync_folder

T = TypeVar("T", bound=msgspec.Struct)

_MAX_BYTES = 256 << 20


def state_folder() -> Path:
    """Return the folder of these files, `$XDG_STATE_HOME/spade-envs/trust` on Linux."""
    from platformdirs import user_state_path

    return user_state_path("spade-envs", appauthor=False) / "trust"


def append(name: str, notes: Sequence[msgspec.Struct]) -> None:
    """Add notes to a file of this machine, and sync it; the file is made if it is not there.

    Raises:
        StorageError: it cannot be written to; what would be noted must not go on.
    """
    if not notes:
        return
    path = state_folder() / name
    lines = b"".join(b"\n" + msgspec.json.encode(note) + b"\n" for note in notes)
    try:
        _add(path, lines)
    except OSError as error:
        raise _unwritten(error, path) from None


def check_rights(name: str) -> None:
    """Check that notes could be added to a file; makes nothing.

    Raises:
        StorageError: they could not.
    """
    path = state_folder() / name
    place = next(each for each in (path, *path.parents) if os.path.lexists(each))
    if not os.access(place, os.W_OK):
        denied = PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(place))
        raise _unwritten(denied, path)


def _unwritten(error: OSError, path: Path) -> StorageError:
    return _failed(
        error,
        f"{path} cannot be written ({error}), and what is exchanged must be noted there; free "
        "space, or set XDG_STATE_HOME to a folder of your own",
    )


def _failed(error: OSError, text: str) -> StorageError:
    told = StorageError(f"{text}, then do the same again")
    told.errno = error.errno
    return told


def _add(path: Path, lines: bytes) -> None:
    """Add lines, as others may in this moment, so that neither they nor the file's name are lost.

    What a failing disk took of them stays: whoever took it back might take away another's.
    """
    missing = [each for each in (path.parent, *path.parent.parents) if not each.exists()]
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    new = not path.exists()
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        while lines:
            lines = lines[os.write(handle, lines) :]
        os.fsync(handle)
    finally:
        os.close(handle)
    if new:
        for each in (path.parent, *(folder.parent for folder in missing)):
            sync_folder(each)


def grouped(name: str, kind: type[T], key: str) -> Mapping[str, Sequence[T]]:
    """Return the notes of a file by one of their fields, oldest first; empty if there is no file.

    Of a file that has grown since the last call, only what is new is read.

    Args:
        name: of the file.
        kind: of its notes.
        key: name of a field that holds text.

    Raises:
        StorageError: the disk failed.
        StoreError: the file is there and may not be read.
    """
    path = state_folder() / name
    with _lock:
        try:
            if not os.path.lexists(path):
                return {}  # asked first: a writer may make it after a try to open it
            with path.open("rb") as stream:
                return _grown(path, stream, kind, key)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            if os.path.lexists(path):
                raise StoreError(f"{path} cannot be read, and it says what was pulled") from None
            return {}  # where nothing can be noted, nothing was pulled
        except OSError as error:
            raise _failed(
                error,
                f"{path} cannot be read ({error}), and it says what was pulled; mend the disk",
            ) from None


class _Known(msgspec.Struct):
    """What was read of a file, up to the end of its last whole line."""

    inode: int
    end: int = 0
    groups: dict[str, list[Any]] = {}


_known: dict[Path, _Known] = {}
_lock = threading.Lock()


def _grown(path: Path, stream: BinaryIO, kind: type[T], key: str) -> Mapping[str, Sequence[T]]:
    found = os.fstat(stream.fileno())
    known = _known.get(path)
    if known is None or known.inode != found.st_ino or found.st_size < known.end:
        known = _known[path] = _Known(found.st_ino)
    if found.st_size > known.end:
        if found.st_size - known.end > _MAX_BYTES:
            raise StoreError(f"{path} has more than {_MAX_BYTES} bytes; move it away")
        data = read_at(stream.fileno(), found.st_size - known.end, known.end)
        data = data[: data.rfind(b"\n") + 1]
        decoder = msgspec.json.Decoder(kind)
        for line in data.split(b"\n"):
            if line:
                try:
                    note = decoder.decode(line)
                except (msgspec.DecodeError, UnicodeDecodeError):
                    continue  # torn by a kill, or of a newer release
                known.groups.setdefault(getattr(note, key), []).append(note)
        known.end += len(data)
    return known.groups
