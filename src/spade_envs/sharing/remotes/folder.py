"""A folder as a remote, such as one on a shared disk: an envstore like any other."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Literal

from spade_envs.errors import ConfigError, Corrupt, NotFound, RemoteError, StorageError
from spade_envs.sharing.remotes.address import Address
from spade_envs.sharing.remotes.protocol import TooLong, Unreadable
from spade_envs.store import open_store
from spade_envs.store.files import publish_file, publish_folder, read_file, replace_file
from spade_envs.store.layout import CATALOG, INDEX, MARKER, create_store
from spade_envs.store.room import check_rights, check_way
from spade_envs.trust.incoming import Entry, Limits
from spade_envs.trust.paths import LEFT_ALONE

_OF_ONE_FILE = frozenset({errno.EACCES, errno.EPERM, errno.EIO})
_MOST_STRANGE = 1000
_DEEPEST = 16
"""Folders in folders that are looked into; those of a store are three."""


@contextmanager
def open_folder_remote(address: Address) -> Iterator[FolderRemote]:
    """Give a folder as a remote.

    Raises:
        NotFound: something else than a folder is there, or it lies where none can be.
        RemoteError: it may not be entered.
    """
    root = Path(address.url)
    try:
        check_way(root)
    except ConfigError as error:
        raise NotFound(str(error)) from None
    except StorageError as error:
        raise RemoteError(str(error)) from None
    if os.path.lexists(root) and not root.is_dir():
        raise NotFound(f"{root} is no folder; name the folder of a store")
    yield FolderRemote(root)


class FolderRemote:
    """An envstore in a folder of this machine, or of a disk that it shares."""

    def __init__(self, root: Path) -> None:
        self.root, self.label, self.written = root, str(root), str(root)
        self.known_as, self.absent = self.label, ""

    def entries(self) -> Sequence[Entry]:
        """Return every file, links as such; what is never shared is left out."""
        if not self.root.exists():
            return ()
        # Of what is no store it is enough to know that something is there: `/` may be named.
        most = Limits().entries + 1 if os.path.lexists(self.root / MARKER) else _MOST_STRANGE
        try:
            return list(islice(_walk(self.root, ""), most))
        except OSError as error:
            raise RemoteError(f"{self.label} cannot be listed: {error.strerror}") from None

    def read(self, path: str, max_bytes: int) -> bytes:
        """Return a file's bytes; no link is followed."""
        try:
            return read_file(self.root, path, max_bytes=max_bytes)
        except FileNotFoundError:
            raise
        except Corrupt as error:
            raise TooLong(str(error)) from None
        except OSError as error:
            kind = Unreadable if error.errno in _OF_ONE_FILE else RemoteError
            raise kind(str(error)) from None

    def check_rights(self) -> None:
        """See that something may be written there."""
        check_rights(self.root)

    def add(self, folder: str, files: Mapping[str, bytes]) -> bool:
        """Publish a version, at once."""
        create_store(self.root)
        placed = publish_folder(self.root, self.root / folder, files)
        return placed or self._holds(folder, files)

    def _holds(self, folder: str, files: Mapping[str, bytes]) -> bool:
        """Whether a rival has just published the same."""
        try:
            return all(
                self.read(f"{folder}/{name}", len(data)) == data for name, data in files.items()
            )
        except (RemoteError, FileNotFoundError):
            return False

    def write_new(self, path: str, data: bytes) -> bool:
        """Write one file, at once; False if there is one."""
        create_store(self.root)
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        return publish_file(self.root, self.root / path, data)

    def replace(self, path: str, data: bytes) -> None:
        """Replace a ledger; index and catalogue are derived from the folders at the end."""
        if path in (INDEX, CATALOG):
            return
        create_store(self.root)
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        replace_file(self.root, self.root / path, data)

    def finish(self, message: str) -> None:
        """Bring index and catalogue up to date."""
        open_store(self.root).refresh()


def _walk(folder: Path, prefix: str) -> Iterator[Entry]:
    try:
        with os.scandir(folder) as found:
            inside = sorted(found, key=lambda entry: entry.name)
    except PermissionError:
        if not prefix:
            raise
        yield Entry(prefix[:-1], 0, "unreadable")
        return
    except FileNotFoundError:  # gone since its name was read
        return
    for entry in inside:
        path = f"{prefix}{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            if prefix.count("/") >= _DEEPEST:
                yield Entry(path, 0, "other")
            elif prefix or entry.name not in LEFT_ALONE:
                yield from _walk(Path(entry.path), f"{path}/")
            continue
        kind: Literal["file", "link", "other"] = "file"
        if not entry.is_file(follow_symlinks=False):
            kind = "link" if entry.is_symlink() else "other"
        with contextlib.suppress(FileNotFoundError):
            yield Entry(path, entry.stat(follow_symlinks=False).st_size, kind)
