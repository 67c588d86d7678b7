"""Two folders that change places in one step, which only Linux can do."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from spade_envs.errors import StoreError

_NO_EXCHANGE = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


def exchange(one: Path, other: Path) -> None:
    """Let two folders of one file system change places, at once.

    Raises:
        StoreError: this system or file system cannot.
        OSError: the disk failed, or one of them is not there.
    """
    import ctypes

    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        raise StoreError("a certificate can only be renewed on Linux; publish into a new store")
    paths = (_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other))
    if rename(*paths, ctypes.c_uint(_RENAME_EXCHANGE)) != 0:
        number = ctypes.get_errno()
        if number in _NO_EXCHANGE:
            raise StoreError(f"{other} cannot be replaced at once here: {os.strerror(number)}")
        raise OSError(number, os.strerror(number))
