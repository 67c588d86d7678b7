"""Whether a store is somewhere or could be made there, told before anything is written."""

from __future__ import annotations

import os
from pathlib import Path

from spade_envs.errors import ConfigError, Corrupt, StorageError
from spade_envs.store.files import STAGING, told
from spade_envs.store.layout import ENVS, MARKER, check_empty, check_marker
from spade_envs.store.trouble import NO_RIGHTS


def check_room(root: Path) -> None:
    """Check that `root` is an envstore or that one can be made there; makes nothing.

    Raises:
        ConfigError: `root` holds something else, or lies where no folder can be.
        FormatTooNew: a newer release wrote it.
        Corrupt: its marker is unreadable.
        StorageError: it may not be looked into, or nothing may be made where it would be.
    """
    check_way(root)
    with told("read", root):
        if (root / MARKER).exists():
            check_marker(root)
            return  # whether it may be written to, `EnvStore.require_writable` says
        if root.is_dir():
            check_empty(root)
        elif os.path.lexists(root):
            raise ConfigError(f"{root} is no folder; name a new one")
    check_rights(root)


def check_way(root: Path) -> None:
    """Check that a folder is at `root` or could be, by what it would lie in.

    Raises:
        ConfigError: something on the way is no folder.
        StorageError: something on the way may not be entered.
    """
    above = _above(root)
    if not above.is_dir():
        raise ConfigError(f"{root} cannot be there: {above} is no folder; name another place")
    if not os.access(above, os.X_OK):
        raise StorageError(f"{root} cannot be reached: {above} may not be entered; {NO_RIGHTS}")


def check_rights(root: Path) -> None:
    """Check that a version may be placed in `root`, or that `root` may be made.

    Raises:
        StorageError: it may not.
        Corrupt: a file is where a folder of the store belongs.
    """
    if os.path.lexists(root):
        for place in (root, *check_folders(root)):
            if not os.access(place, os.W_OK | os.X_OK):
                raise StorageError(f"{place} cannot be written: Permission denied; {NO_RIGHTS}")
    elif not os.access(above := _above(root), os.W_OK | os.X_OK):
        raise StorageError(
            f"{root} cannot be made: nothing may be written into {above}; {NO_RIGHTS}"
        )


def check_folders(root: Path) -> list[Path]:
    """Return which folders of a store are there.

    Raises:
        Corrupt: a file is where one belongs.
    """
    inside = [root / name for name in (ENVS, STAGING) if os.path.lexists(root / name)]
    if strange := next((place for place in inside if not os.path.isdir(place)), None):
        raise Corrupt(f"{strange} is no folder, as a store needs it; move it away")
    return inside


def _above(root: Path) -> Path:
    """Return the nearest folder above that is there, or what is there instead of one."""
    path = root.absolute()
    if ".." in path.parts:  # behind a link that leads elsewhere
        path = Path(os.path.realpath(path))
    return next((each for each in path.parents if os.path.lexists(each)), path)  # `/` has none
