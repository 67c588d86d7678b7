"""Files and folders that a person names, outside every store: there whole, or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

from spade_envs.errors import ConfigError
from spade_envs.store.files import write_new
from spade_envs.store.room import check_way
from spade_envs.store.trouble import storage_error


def write_whole(path: Path, data: bytes) -> None:
    """Make the file at `path` hold `data`, at once; an ordinary file that is there is replaced.

    Nothing that lies in its folder is written through: the half-written file has a name that
    nobody can know.

    Raises:
        ConfigError: its folder is not there, or something else than an ordinary file is.
        StorageError: it cannot be written.
    """
    check_way(path)
    if not path.absolute().parent.is_dir():
        raise ConfigError(f"{path} cannot be written: its folder is not there; make that first")
    if os.path.lexists(path) and (path.is_symlink() or not path.is_file()):
        raise ConfigError(f"{path} is no ordinary file, so it is left alone; name another one")
    half = path.with_name(f".{uuid.uuid4().hex}.half")
    with placing(path):
        try:
            write_new(half, data)
            half.replace(path)
        finally:
            half.unlink(missing_ok=True)


def check_new(folder: Path) -> None:
    """Check that a folder can be made, or is there and empty.

    Raises:
        ConfigError: it holds something, or is no folder.
        StorageError: it may not be looked into.
    """
    with placing(folder):
        held = os.path.lexists(folder)
        if held and (folder.is_symlink() or not folder.is_dir() or any(folder.iterdir())):
            raise ConfigError(f"{folder} holds something already; name a new folder")


@contextlib.contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Give a folder to fill, which becomes `folder` at the end; it is removed if that fails.

    Raises:
        ConfigError: `folder` holds something.
        StorageError: it cannot be made or filled.
    """
    check_new(folder)
    above = folder.absolute().parent
    stage = above / f".{uuid.uuid4().hex}.half"
    with placing(folder):
        above.mkdir(parents=True, exist_ok=True)
        stage.mkdir()
        try:
            yield stage
            os.rename(stage, folder)  # an empty folder gives way
        finally:
            shutil.rmtree(stage, ignore_errors=True)


@contextlib.contextmanager
def placing(path: Path) -> Iterator[None]:
    """Turn failures of the disk into one sentence that names `path` and the mend.

    Raises:
        StorageError: the disk failed, or nothing may be written there.
    """
    try:
        yield
    except OSError as error:
        raise storage_error(error, "written", path, other="another place") from error
