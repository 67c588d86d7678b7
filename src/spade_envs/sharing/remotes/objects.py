"""Any file system that fsspec knows as a remote: S3, GCS, Azure, memory; the one door to fsspec."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from spade_envs.errors import MissingExtra, RemoteError
from spade_envs.sharing.remotes.address import Address, masked
from spade_envs.sharing.remotes.protocol import TooLong, in_order
from spade_envs.trust.incoming import Entry

T = TypeVar("T")


@contextmanager
def open_object_remote(address: Address) -> Iterator[ObjectRemote]:
    """Give a place in a file system of fsspec as a remote."""
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise MissingExtra("fsspec", "hub") from None
    scheme = address.url.partition("://")[0]
    try:
        system, root = url_to_fs(address.url)
    except ImportError as error:
        raise RemoteError(
            f"{scheme}:// needs a further package ({masked(str(error), address.url)}); run: "
            f"pip install 'fsspec[{scheme}]'"
        ) from None
    except (ValueError, TypeError, KeyError, AttributeError, OSError) as error:  # of odd options
        raise RemoteError(f"{address.label}: {masked(str(error), address.url)}") from None
    yield ObjectRemote(system, str(root).rstrip("/"), address)


class ObjectRemote:
    """A remote that keeps whole objects under keys and renames nothing.

    Each object is written once. The place of a version is taken by its source, and the version is
    whole once its manifest is there; of two writers who meet, the second finds another source. S3
    decides that by itself; where a file system cannot, two writers within milliseconds may not
    notice each other, which digests show later.
    """

    def __init__(self, system: Any, root: str, address: Address) -> None:
        self._system, self._root, self._url = system, root, address.url
        self.label, self.written = address.label, address.written
        self.known_as, self.absent = address.known_as, ""
        self._is_bare = False

    def entries(self) -> Sequence[Entry]:
        """Return every object below the root."""
        self._system.invalidate_cache()
        self._is_bare = True
        try:
            found = self._ask("listed", lambda: self._system.find(self._root, detail=True))
        except FileNotFoundError:
            return ()
        self._is_bare = not found
        start = len(self._root) + 1
        return [
            Entry(name[start:], int(info.get("size") or 0), _kind(info))
            for name, info in sorted(found.items())
            if name[start:] and not name.endswith("/")
        ]

    def read(self, path: str, max_bytes: int) -> bytes:
        """Return an object's bytes."""
        place = f"{self._root}/{path}"
        data = self._ask("read", lambda: self._system.cat_file(place, start=0, end=max_bytes + 1))
        if len(data) > max_bytes:
            raise TooLong(f"{path} at {self.label} has more than {max_bytes} bytes")
        return bytes(data)

    def check_rights(self) -> None:
        """See that the bucket is there, of S3; what may be written shows only when it is.

        Of other services, who may write need not be let ask for the bucket.
        """
        bucket = self._root.partition("/")[0]
        is_s3 = self._url.partition("://")[0] in ("s3", "s3a")
        if is_s3 and self._is_bare and not self._ask("found", lambda: self._system.exists(bucket)):
            mend = "make it first, or name another one"
            raise RemoteError(f"{self.label}: there is no bucket {bucket!r}; {mend}")

    def add(self, folder: str, files: Mapping[str, bytes]) -> bool:
        """Write a version's files one by one, the manifest last; equal ones stay."""
        for name in in_order(files):
            path = f"{folder}/{name}"
            if not self.write_new(path, files[name]) and not self._holds(path, files[name]):
                return False
        return True

    def _holds(self, path: str, data: bytes) -> bool:
        try:
            return self.read(path, len(data)) == data
        except RemoteError:
            return False

    def write_new(self, path: str, data: bytes) -> bool:
        """Write one object; False if there is one."""
        place = f"{self._root}/{path}"
        try:
            self._write(lambda: self._system.pipe_file(place, data, mode="create"))
        except FileExistsError:
            return False
        return True

    def replace(self, path: str, data: bytes) -> None:
        """Write one object, whatever was there."""
        place = f"{self._root}/{path}"
        self._write(lambda: self._system.pipe_file(place, data))

    def finish(self, message: str) -> None:
        """Do nothing: every object is there as soon as it is written."""

    def _write(self, act: Callable[[], object]) -> None:
        try:
            self._ask("written", act)
        except FileNotFoundError:
            scheme = self._url.partition("://")[0]
            raise RemoteError(
                f"{self.label} cannot be written: a folder on the way is not there, and "
                f"{scheme}:// makes none; make the place that is named first"
            ) from None

    def _ask(self, doing: str, act: Callable[[], T]) -> T:
        try:
            return act()
        except (FileNotFoundError, FileExistsError):
            raise
        except _errors() as error:
            why = masked(str(error) or type(error).__name__, self._url)
            raise RemoteError(f"{self.label} cannot be {doing}: {why}") from None


def _errors() -> tuple[type[Exception], ...]:
    """Return what fsspec raises, and the libraries below it that are loaded."""
    names = (("botocore.exceptions", "BotoCoreError"), ("aiohttp", "ClientError"))
    found = (getattr(sys.modules.get(module), name, None) for module, name in names)
    mine = (error for error in found if error is not None)
    return (OSError, ValueError, RuntimeError, ImportError, *mine)


def _kind(info: Mapping[str, Any]) -> Any:
    if info.get("islink") or info.get("type") == "link":
        return "link"
    return "file" if info.get("type", "file") == "file" else "other"
