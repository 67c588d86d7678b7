"""The few Linux calls that Python 3.11 does not offer, through ctypes.

Set aside: `python-prctl` (needs a compiler), `pyroute2` (large), `os.unshare` (Python 3.12 on).
"""

from __future__ import annotations

import ctypes
import os

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 32, 4096, 16384, 1 << 18
MNT_DETACH = 2

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4
_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_GET_NO_NEW_PRIVS = 24, 38, 39
_CAPABILITY_VERSION_3 = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def syscall(number: int, *args: object) -> int:
    """Make a system call by number.

    Raises:
        OSError: the kernel refused.
    """
    return _checked(_libc.syscall(ctypes.c_long(number), *args), f"syscall {number}")


def unshare(flags: int) -> None:
    """Leave the namespaces in `flags` for new ones."""
    _checked(_libc.unshare(ctypes.c_int(flags)), "unshare")


def mount(source: str | None, target: str, kind: str | None, flags: int, data: str = "") -> None:
    """Mount a file system."""
    args = [None if text is None else text.encode() for text in (source, target, kind)]
    result = _libc.mount(args[0], args[1], args[2], ctypes.c_ulong(flags), data.encode())
    _checked(result, f"mount {target}")


def unmount(target: str) -> None:
    """Detach the file system at `target`."""
    _checked(_libc.umount2(target.encode(), MNT_DETACH), f"umount {target}")


def _prctl(option: int, *args: int) -> int:
    padded = [ctypes.c_ulong(value) for value in (*args, 0, 0, 0, 0)[:4]]
    return _checked(_libc.prctl(ctypes.c_int(option), *padded), f"prctl {option}")


def no_new_privileges() -> None:
    """Give up every privilege that an exec could bring, for good."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def has_no_new_privileges() -> bool:
    """Whether `no_new_privileges` is in force."""
    return _prctl(_PR_GET_NO_NEW_PRIVS) == 1


def die_with_parent(signal_number: int = 9) -> None:
    """Have the kernel signal this process when its parent thread ends."""
    _prctl(_PR_SET_PDEATHSIG, signal_number)


def set_dumpable(dumpable: bool) -> None:
    """Allow or forbid that others of the same user trace or read this process."""
    _prctl(_PR_SET_DUMPABLE, int(dumpable))


def drop_capability_bounds() -> None:
    """Empty the capability bounding set, as far as allowed."""
    for capability in range(64):
        try:
            _prctl(_PR_CAPBSET_DROP, capability)
        except OSError:
            return


def drop_capabilities() -> None:
    """Give up all capabilities of this process."""
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    nothing = (ctypes.c_uint32 * 6)()
    _checked(_libc.capset(header, nothing), "capset")
