"""Every file operation of the store: reads that follow no link, writes that are whole or absent.

Stores come from strangers. A read walks from the root with `openat` and `O_NOFOLLOW`, takes regular
files only and at most so many bytes. A write becomes visible by one rename of something already
synced, so a process that is killed at any point leaves either nothing or the whole. Lines that are
added to a ledger are synced, and taken back if that fails. No lock is taken anywhere, and no clock
but that of the file system is compared with its times.

A disk that is full or broken is a `StorageError`: one sentence with the file and the mend.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from spade_envs.errors import Corrupt, StoreError
from spade_envs.store.exchange import exchange
from spade_envs.store.trouble import storage_error

T = TypeVar("T")

STAGING = ".staging"
_DIR_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_ADD_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})
_NO_FOLDER_SYNC = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})
_LINK_ERRORS = frozenset({errno.ELOOP, errno.ENOTDIR, errno.EMLINK})
_PIECE_BYTES = 1 << 28
_TRIES = 3


@contextlib.contextmanager
def told(doing: str, path: str | Path) -> Iterator[None]:
    """Turn failures of the disk into a `StorageError` that names `path`; others pass."""
    try:
        yield
    except (FileNotFoundError, FileExistsError, NotADirectoryError, StoreError):
        raise
    except OSError as error:
        raise storage_error(error, doing, path) from error


# Reading


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


@contextlib.contextmanager
def open_below(root: Path, folder: int, name: str) -> Iterator[int]:
    """Open a folder in an open folder and give its descriptor; see `open_folder`."""
    handle = _open_at(name, _DIR_FLAGS, folder, root)
    try:
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
        StorageError: the disk failed.
    """
    too_long = f"{path} in the store {root} has more than {max_bytes} bytes"
    try:
        with open_file(root, path) as file:
            size = max(0, os.fstat(file).st_size - start)
            if size > max_bytes:
                raise Corrupt(too_long)
            data = read_at(file, size + 1, start)  # as much room as is asked for is taken at once
            if len(data) > size:
                data += read_at(file, max_bytes + 1 - len(data), start + len(data))
    except (FileNotFoundError, NotADirectoryError, StoreError):
        raise
    except OSError as error:
        raise storage_error(error, "read", f"{root}/{path}") from error
    if len(data) > max_bytes:
        raise Corrupt(too_long)
    return data


def read_inside(root: Path, folder: int, path: str, *, max_bytes: int) -> bytes:
    """Return the bytes of a file in an open folder; see `read_file`.

    Args:
        root: folder of the store, for messages.
        folder: descriptor of the folder that holds the file.
        path: of the file, relative to the store.
        max_bytes: most bytes to read.

    Raises:
        Corrupt: it is a link, not regular, or longer than `max_bytes`.
        FileNotFoundError: there is no such file.
        StorageError: the disk failed.
    """
    try:
        file = _open_at(path.rpartition("/")[2], _FILE_FLAGS, folder, root)
        try:
            state = os.fstat(file)
            if not stat.S_ISREG(state.st_mode):
                raise Corrupt(f"{path} in the store {root} is not a regular file")
            data = os.pread(file, min(state.st_size, max_bytes) + 1, 0)
            if len(data) != state.st_size:  # a short read, or the file is growing
                data += read_at(file, max_bytes + 1 - len(data), len(data))
        finally:
            os.close(file)
    except (FileNotFoundError, NotADirectoryError, StoreError):
        raise
    except OSError as error:
        raise storage_error(error, "read", f"{root}/{path}") from error
    if len(data) > max_bytes:
        raise Corrupt(f"{path} in the store {root} has more than {max_bytes} bytes")
    return data


def read_at(file: int, count: int, at: int) -> bytes:
    """Return up to `count` bytes of an open file from byte `at` on; fewer only at its end."""
    parts = []
    while count > 0 and (part := os.pread(file, min(count, _PIECE_BYTES), at)):
        parts.append(part)
        at, count = at + len(part), count - len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


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


# Writing


def sync_folder(path: Path) -> None:
    """Make the names in a folder survive a power cut, where the file system can."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise
    finally:
        os.close(handle)


def make_folders(root: Path, *parts: str) -> Path:
    """Make the folders on the way to `parts`, so that they survive a power cut; gives the last.

    Raises:
        Corrupt: one is a link.
        StorageError: the disk failed.
    """
    refuse_links(root, *parts)
    path = root
    for part in parts:
        above, path = path, path / part
        with told("made", path):
            try:
                os.mkdir(path)
            except FileExistsError:
                continue
            sync_folder(above)
    return path


def write_new(path: Path, data: bytes, *, sync: bool = True) -> None:
    """Write a file that does not exist yet, and sync it."""
    handle = os.open(path, _NEW_FLAGS, 0o644)
    try:
        _write_all(handle, data)
        if sync:
            os.fsync(handle)
    finally:
        os.close(handle)


def _write_all(handle: int, data: bytes | memoryview) -> None:
    left = memoryview(data)
    while len(left):
        count = os.write(handle, left)
        if count < 1:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        left = left[count:]


def append_file(root: Path, target: Path, data: bytes) -> None:
    """Add whole lines to a file that nobody else adds to: all are on disk at return, or none.

    A line that a killed writer left torn is closed first, so that it spoils no other.

    Raises:
        Corrupt: a part of the path is a link.
        StorageError: the disk failed; what was written is taken back.
    """
    make_folders(root, *target.relative_to(root).parts[:-1])
    handle = open_to_add(root, target)
    with told("written", target):
        try:
            size = os.fstat(handle).st_size
            torn = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
            try:
                _add(handle, target, [b"\n" + data if torn else data], new=not size)
            except OSError:
                with contextlib.suppress(OSError):
                    os.ftruncate(handle, size)
                raise
        finally:
            os.close(handle)


def append_parts(root: Path, target: Path, parts: Iterable[bytes | memoryview]) -> None:
    """Add bytes to a file that nobody else adds to; all are on disk at return.

    Raises:
        Corrupt: a part of the path is a link.
        StorageError: the disk failed; some of the bytes may be there.
    """
    make_folders(root, *target.relative_to(root).parts[:-1])
    handle = open_to_add(root, target)
    with told("written", target):
        try:
            _add(handle, target, parts, new=not os.fstat(handle).st_size)
        finally:
            os.close(handle)


def _add(handle: int, target: Path, parts: Iterable[bytes | memoryview], *, new: bool) -> None:
    for part in parts:
        _write_all(handle, part)
    os.fsync(handle)
    if new:
        sync_folder(target.parent)


def open_to_add(root: Path, target: Path) -> int:
    """Open a file to be added to, made if it is not there, and return its descriptor.

    Raises:
        Corrupt: a part of the path is a link.
        StorageError: the disk failed.
    """
    refuse_links(root, *target.relative_to(root).parts)
    with told("written", target):
        return os.open(target, _ADD_FLAGS, 0o644)


def append_shared(root: Path, target: Path, data: bytes) -> None:
    """Add one line to a file of a cache, to which others may add as well; it may be lost or torn.

    Raises:
        Corrupt: a part of the path is a link.
        StorageError: the disk failed.
    """
    make_folders(root, *target.relative_to(root).parts[:-1])
    handle = open_to_add(root, target)
    with told("written", target):
        try:
            os.write(handle, b"\n" + data + b"\n")
        finally:
            os.close(handle)


@contextlib.contextmanager
def staged(root: Path) -> Iterator[Path]:
    """Give a fresh folder on the store's own file system; what is left in it is removed."""
    make_folders(root, STAGING)
    folder = root / STAGING / uuid.uuid4().hex
    try:
        with told("made", folder):
            os.mkdir(folder)
    except NotADirectoryError:
        place = root / STAGING
        raise Corrupt(f"{place} is no folder, as a store needs it; move it away") from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _in_staging(root: Path, target: Path, act: Callable[[Path], T]) -> T:
    """Let `act` work in a staging folder; anew if a sweeper took that, or a folder, away."""
    for _ in range(_TRIES - 1):
        with (
            contextlib.suppress(FileNotFoundError),
            staged(root) as stage,
            told("written", target),
        ):
            return act(stage)
    try:
        with staged(root) as stage, told("written", target):
            return act(stage)
    except FileNotFoundError as error:
        raise storage_error(error, "written", target) from error


def now_ns(root: Path) -> int:
    """Return the time by the clock of the store's file system, which stamps what lies there.

    Raises:
        StorageError: nothing can be written there.
    """
    with staged(root) as folder:
        return os.stat(folder).st_mtime_ns


def publish_folder(root: Path, target: Path, files: Mapping[str, bytes]) -> bool:
    """Make the folder `target` hold exactly `files`, at once; False if it already exists.

    Raises:
        StorageError: the disk failed. The folder is there whole or not at all.
    """
    parts = target.relative_to(root).parts[:-1]

    def act(stage: Path) -> bool:
        folder = _filled(stage, files)
        make_folders(root, *parts)
        try:
            os.rename(folder, target)
        except FileNotFoundError:
            if os.path.lexists(target):
                return False  # a shared folder answered a rename twice, or a rival was first
            raise
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                return False
            if error.errno == errno.ENOTDIR:
                raise Corrupt(f"{target} is not a folder") from None
            raise
        return True

    done = _in_staging(root, target, act)
    keep_folder(root, target)
    return done


def keep_folder(root: Path, target: Path) -> None:
    """Make a folder that somebody put in place survive a power cut.

    Raises:
        StorageError: the disk failed.
    """
    with told("synced", target):
        sync_folder(target.parent)
        if target.parent != root:
            sync_folder(target.parent.parent)


def _filled(stage: Path, files: Mapping[str, bytes]) -> Path:
    folder = stage / "new"
    os.mkdir(folder)
    for name, data in files.items():
        write_new(folder / name, data)
    sync_folder(folder)
    return folder


def exchange_folder(
    root: Path, target: Path, files: Mapping[str, bytes], *, dropped: frozenset[str] = frozenset()
) -> None:
    """Make the existing folder `target` hold `files`, at once, and what else it held.

    Args:
        root: folder of the store.
        target: the folder.
        files: by name.
        dropped: names of files that it is not to hold any longer.

    Raises:
        StoreError: this system or file system cannot exchange two folders.
        StorageError: the disk failed. The folder holds the old files or the new ones.
    """
    refuse_links(root, *target.relative_to(root).parts)

    def act(stage: Path) -> None:
        folder = _filled(stage, files)
        exchange(folder, target)
        try:
            # Others may have added to the folder until this moment, a tombstone for example.
            path = folder.relative_to(root).as_posix()
            for name in sorted(set(os.listdir(folder)) - files.keys() - dropped):
                publish_file(
                    root, target / name, read_file(root, f"{path}/{name}", max_bytes=1 << 20)
                )
        except (OSError, StoreError):
            exchange(folder, target)
            raise

    _in_staging(root, target, act)
    with told("synced", target):
        sync_folder(target.parent)


def publish_file(root: Path, target: Path, data: bytes) -> bool:
    """Make the file `target` hold `data`, at once; False if it already exists.

    Raises:
        StorageError: the disk failed. The file is there whole or not at all.
    """
    refuse_links(root, *target.relative_to(root).parts[:-1])

    def act(stage: Path) -> bool:
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
        return True

    done = _in_staging(root, target, act)
    with told("synced", target):
        sync_folder(target.parent)
    return done


def replace_file(
    root: Path, target: Path, data: bytes, *, sync: bool = True, mtime_ns: int | None = None
) -> None:
    """Make the file `target` hold `data`, at once, whatever it held before.

    Args:
        root: folder of the store.
        target: the file.
        data: what it holds from now on.
        sync: whether it must survive a power cut; what is derived need not.
        mtime_ns: modification time that it bears; None stands for now.

    Raises:
        StorageError: the disk failed. The file holds what it held or `data`.
    """

    def act(stage: Path) -> None:
        write_new(stage / "new", data, sync=sync)
        if mtime_ns is not None:
            os.utime(stage / "new", ns=(mtime_ns, mtime_ns))
        os.replace(stage / "new", target)

    _in_staging(root, target, act)
    if sync:
        with told("synced", target):
            sync_folder(target.parent)


def set_time(root: Path, path: str, data: bytes, *, mtime_ns: int) -> bool:
    """Give a file a modification time, if it holds `data`; else change nothing and give False."""
    try:
        with told("read", root / path), open_file(root, path) as file:
            if os.fstat(file).st_size != len(data) or read_at(file, len(data), 0) != data:
                return False
            os.utime(file, ns=(mtime_ns, mtime_ns))  # of what was read, not of what replaced it
            return True
    except (OSError, Corrupt):
        return False


# Removing


def take_away(root: Path, path: Path) -> Path | None:
    """Rename a file or folder into the staging folder, at once; None if it is gone already.

    Whoever is writing into it finds it gone rather than half there.

    Raises:
        Corrupt: a folder on the way is a link.
        StorageError: the disk failed.
    """
    refuse_links(root, *path.relative_to(root).parts[:-1])
    make_folders(root, STAGING)
    away = root / STAGING / uuid.uuid4().hex
    with told("removed", path):
        try:
            os.rename(path, away)
        except FileNotFoundError:
            return None
    return away


def destroy(path: Path) -> None:
    """Remove what was taken away, and all that is in it; no link is followed.

    Raises:
        StorageError: the disk failed.
    """
    with told("removed", path), contextlib.suppress(FileNotFoundError):  # a rival was faster
        if stat.S_ISDIR(os.lstat(path).st_mode):
            shutil.rmtree(path)
        else:
            os.unlink(path)


def remove_if_empty(path: Path) -> bool:
    """Remove a folder if nothing is in it; False if something is, or it is gone already."""
    try:
        os.rmdir(path)
    except OSError:
        return False
    return True
