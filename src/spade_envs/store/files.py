"""Every file operation of the store: reads that follow no link, writes that are whole or absent.

Stores come from strangers. A read walks from the root with `openat` and `O_NOFOLLOW`, takes regular
files only and at most so many bytes. A write becomes visible by one rename of something already
synced, so a process that is killed at any point leaves either nothing or the whole.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

from spade_envs.errors import Corrupt, StoreError

STAGING = ".staging"
_DIR_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})
_LINK_ERRORS = frozenset({errno.ELOOP, errno.ENOTDIR, errno.EMLINK})


@contextlib.contextmanager
def open_folder(root: Path, *parts: str) -> Iterator[int]:
    """Open a folder below `root` and give its descriptor; no part may be a link.

    Raises:
        Corrupt: a part is a symbolic link or not a folder.
        FileNotFoundError: a part is missing.
    """
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts:
            below = _open_at(part, _DIR_FLAGS, handle, root)
            os.close(handle)
            handle = below
        yield handle
    finally:
        os.close(handle)


def _open_at(part: str, flags: int, handle: int, root: Path) -> int:
    if part in ("", ".", "..") or "/" in part or "\0" in part:
        raise Corrupt(f"{part!r} is not a file name inside the store {root}")
    try:
        return os.open(part, flags, dir_fd=handle)
    except OSError as error:
        if error.errno in _LINK_ERRORS:
            raise Corrupt(f"{part!r} in the store {root} is a link or of the wrong kind") from None
        raise


def read_file(root: Path, path: str, *, max_bytes: int, start: int = 0) -> bytes:
    """Return the bytes of the file at `path`, relative to `root` and with `/` as separator.

    Args:
        root: folder of the store.
        path: of the file in it.
        max_bytes: most bytes to read.
        start: bytes at the file's beginning to leave out.

    Raises:
        Corrupt: a part of the path is a link, the file is not regular or longer than `max_bytes`.
        FileNotFoundError: there is no such file.
    """
    with open_file(root, path) as file:
        too_long = f"{path} in the store {root} has more than {max_bytes} bytes"
        size = max(0, os.fstat(file).st_size - start)
        if size > max_bytes:
            raise Corrupt(too_long)
        with os.fdopen(os.dup(file), "rb") as stream:
            stream.seek(start)
            data = stream.read(size + 1)  # as much room as is asked for is taken at once
            if len(data) > size:
                data += stream.read(max_bytes + 1 - len(data))
    if len(data) > max_bytes:
        raise Corrupt(too_long)
    return data


@contextlib.contextmanager
def open_file(root: Path, path: str) -> Iterator[int]:
    """Open the file at `path`, relative to `root`, for reading and give its descriptor.

    Raises:
        Corrupt: a part of the path is a link, or the file is not regular.
        FileNotFoundError: there is no such file.
    """
    *folders, name = path.split("/")
    with open_folder(root, *folders) as handle, _reading(name, handle, root) as file:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise Corrupt(f"{path} in the store {root} is not a regular file")
        yield file


@contextlib.contextmanager
def _reading(name: str, handle: int, root: Path) -> Iterator[int]:
    file = _open_at(name, _FILE_FLAGS, handle, root)
    try:
        yield file
    finally:
        os.close(file)


def refuse_links(root: Path, *parts: str) -> None:
    """Check that no existing folder on the way to `parts` is a link out of the store.

    Raises:
        Corrupt: one is.
    """
    path = root
    for part in parts:
        path = path / part
        if path.is_symlink():
            raise Corrupt(f"{path} is a symbolic link; an envstore must not hold any")


def sync_folder(path: Path) -> None:
    """Make the names in a folder survive a power cut."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_new(path: Path, data: bytes) -> None:
    """Write a file that does not exist yet, and sync it."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o644), "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


@contextlib.contextmanager
def staged(root: Path) -> Iterator[Path]:
    """Give a fresh folder on the store's own file system; what is left in it is removed."""
    refuse_links(root, STAGING)
    os.makedirs(root / STAGING, exist_ok=True)
    folder = root / STAGING / uuid.uuid4().hex
    os.mkdir(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def publish_folder(root: Path, target: Path, files: Mapping[str, bytes]) -> bool:
    """Make the folder `target` hold exactly `files`, at once; False if it already exists."""
    refuse_links(root, *target.relative_to(root).parts[:-1])
    with staged(root) as stage:
        folder = stage / "new"
        os.mkdir(folder)
        for name, data in files.items():
            write_new(folder / name, data)
        sync_folder(folder)
        os.makedirs(target.parent, exist_ok=True)
        try:
            os.rename(folder, target)
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                return False
            if error.errno == errno.ENOTDIR:
                raise Corrupt(f"{target} is not a folder") from None
            raise
    sync_folder(target.parent)
    sync_folder(target.parent.parent)
    return True


def exchange_folder(root: Path, target: Path, files: Mapping[str, bytes]) -> Mapping[str, bytes]:
    """Make the existing folder `target` hold `files`, at once; gives what else it held.

    Raises:
        StoreError: this system or file system cannot exchange two folders.
    """
    refuse_links(root, *target.relative_to(root).parts)
    with staged(root) as stage:
        folder = stage / "new"
        os.mkdir(folder)
        for name, data in files.items():
            write_new(folder / name, data)
        sync_folder(folder)
        _exchange(folder, target)
        path = folder.relative_to(root).as_posix()
        left = sorted(set(os.listdir(folder)) - files.keys())
        kept = {name: read_file(root, f"{path}/{name}", max_bytes=1 << 20) for name in left}
    sync_folder(target.parent)
    return kept


_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


def _exchange(one: Path, other: Path) -> None:
    import ctypes

    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        raise StoreError("a certificate can only be renewed on Linux; publish into a new store")
    paths = (_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other))
    if rename(*paths, ctypes.c_uint(_RENAME_EXCHANGE)) != 0:
        number = ctypes.get_errno()
        raise StoreError(f"{other} cannot be replaced at once here: {os.strerror(number)}")


def publish_file(root: Path, target: Path, data: bytes) -> bool:
    """Make the file `target` hold `data`, at once; False if it already exists."""
    refuse_links(root, *target.relative_to(root).parts[:-1])
    with staged(root) as stage:
        write_new(stage / "new", data)
        try:
            os.link(stage / "new", target, follow_symlinks=False)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            # This file system has no hard links; of two writers at once, the later one wins.
            if os.path.lexists(target):
                return False
            os.replace(stage / "new", target)
    sync_folder(target.parent)
    return True


def replace_file(root: Path, target: Path, data: bytes) -> None:
    """Make the file `target` hold `data`, at once, whatever it held before."""
    with staged(root) as stage:
        write_new(stage / "new", data)
        os.replace(stage / "new", target)
    sync_folder(target.parent)


def sweep_staging(root: Path, *, older_than_s: float = 86_400.0) -> int:
    """Remove what killed writers left behind; gives the number of folders removed."""
    swept = 0
    with contextlib.suppress(FileNotFoundError), os.scandir(root / STAGING) as entries:
        for entry in entries:
            if time.time() - entry.stat(follow_symlinks=False).st_mtime > older_than_s:
                shutil.rmtree(entry.path, ignore_errors=True)
                swept += 1
    return swept
