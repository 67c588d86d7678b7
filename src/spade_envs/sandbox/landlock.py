"""Landlock: deny all file access, TCP and outward signals to this process and its children.

Set aside: PyPI `py-landlock` and `landlock` cost 3 to 9 ms for each worker, of a budget of 25 ms;
these lines cost 0.2 ms. The call numbers are the same on every architecture.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence

from spade_envs.sandbox import linux

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_PATH_BENEATH = ctypes.c_uint32(1)
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
_VERSION_FLAG = 1

# Number of file-access rights that each ABI knows (rights are consecutive bits).
_FS_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16, 6: 16, 7: 16}


class _Ruleset(ctypes.Structure):
    _fields_ = [
        ("handled_access_fs", ctypes.c_uint64),
        ("handled_access_net", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    ]


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32)]


def abi() -> int:
    """Return the kernel's Landlock ABI version, 0 where there is none."""
    try:
        size, flags = ctypes.c_size_t(0), ctypes.c_uint32(_VERSION_FLAG)
        return linux.syscall(_CREATE_RULESET, None, size, flags)
    except OSError:
        return 0


def deny_all(version: int, readable: Sequence[str] = ()) -> None:
    """Deny everything that ABI `version` can deny; needs no-new-privileges.

    Args:
        version: from `abi`.
        readable: folders below which files may still be read.

    Raises:
        OSError: the kernel refused.
    """
    rules = _Ruleset(handled_access_fs=(1 << _FS_RIGHTS.get(version, 16)) - 1)
    size = 8
    if version >= 4:
        rules.handled_access_net, size = 0b11, 16  # bind and connect
    if version >= 6:
        rules.scoped, size = 0b11, 24  # abstract unix sockets and signals
    no_flags = ctypes.c_uint32(0)
    descriptor = linux.syscall(
        _CREATE_RULESET, ctypes.byref(rules), ctypes.c_size_t(size), no_flags
    )
    for folder in readable:
        parent = os.open(folder, os.O_PATH | os.O_CLOEXEC)
        rule = _PathBeneath(_READ_FILE | _READ_DIR, parent)
        linux.syscall(
            _ADD_RULE, ctypes.c_int(descriptor), _PATH_BENEATH, ctypes.byref(rule), no_flags
        )
        os.close(parent)
    linux.syscall(_RESTRICT_SELF, ctypes.c_int(descriptor), no_flags)
    os.close(descriptor)
