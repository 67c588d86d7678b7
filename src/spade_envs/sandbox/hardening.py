"""Lock the zygote, then each worker, one layer after another; a layer that fails says why.

Zygote: no-new-privs, own namespaces, an empty read-only root, an unprivileged user, no
capabilities, not traceable. Worker: resource limits, Landlock, seccomp. Each function returns
notes on what it could not do; `layers` decides whether what is left is enough.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Sequence
from typing import Any

from spade_envs.sandbox import landlock, layers, linux, seccomp

_NOBODY = 65534
_MOST_THREADS = 1024
"""Of the user in all, where threads are allowed."""
_OTHER_NAMESPACES = (
    linux.CLONE_NEWNS
    | linux.CLONE_NEWNET
    | linux.CLONE_NEWIPC
    | linux.CLONE_NEWUTS
    | linux.CLONE_NEWPID
)

Notes = dict[str, str]
"""Layer name -> empty text where it is active, else why it is not."""


def enter_namespaces(notes: Notes) -> None:
    """Leave the host's namespaces; the next child is process 1 of a new one."""
    linux.no_new_privileges()
    notes[layers.NO_NEW_PRIVS] = "" if linux.has_no_new_privileges() else "the kernel refused"
    uid, gid = os.getuid(), os.getgid()
    try:
        if uid == 0:
            try:
                linux.unshare(_OTHER_NAMESPACES)
            except OSError:
                linux.unshare(_OTHER_NAMESPACES | linux.CLONE_NEWUSER)
                _map_ids(uid, gid)
        else:
            linux.set_dumpable(True)  # else /proc/self/uid_map belongs to root
            linux.unshare(_OTHER_NAMESPACES | linux.CLONE_NEWUSER)
            _map_ids(uid, gid)
    except OSError as error:
        notes[layers.NAMESPACES] = str(error)
    else:
        notes[layers.NAMESPACES] = ""


def lock_zygote(notes: Notes, working_dir: str, *, keep_root: bool = False) -> None:
    """Empty the file system, drop user and capabilities, forbid tracing.

    Args:
        notes: what `enter_namespaces` noted; added to.
        working_dir: current directory inside the empty root.
        keep_root: leave file system and user in place, for Landlock alone to guard.
    """
    if keep_root:
        notes[layers.EMPTY_ROOT] = "left out for a library that reads files"
        os.chdir("/")
    elif notes[layers.NAMESPACES] == "":
        notes[layers.EMPTY_ROOT] = _attempt(lambda: _empty_root(working_dir))
    else:
        notes[layers.EMPTY_ROOT] = "needs namespaces"
        os.chdir("/")
    linux.drop_capability_bounds()
    notes[layers.UNPRIVILEGED] = (
        "left out: files may be readable for this user alone" if keep_root else _attempt(_drop_user)
    )
    notes[layers.CAPABILITIES] = _attempt(linux.drop_capabilities)
    linux.set_dumpable(False)


def lock_worker(
    filter_: Any,
    landlock_abi: int,
    address_bytes: int,
    cpu_s: int,
    readable: Sequence[str] = (),
) -> Notes:
    """Set limits, Landlock and the system-call filter on this process.

    Args:
        filter_: from `seccomp.build_filter`, or None if there is none.
        landlock_abi: from `landlock.abi`; 0 skips it.
        address_bytes: address space that may be mapped in all.
        cpu_s: CPU seconds of the whole life.
        readable: folders that a trusted library may read; none leaves no file at all.
    """
    notes: Notes = {}
    os.closerange(4, 1 << 20)  # what is left: /dev/null three times, and the channel
    notes[layers.LANDLOCK] = (
        _attempt(lambda: landlock.deny_all(landlock_abi, readable))
        if landlock_abi
        else "not in this kernel"
    )
    notes[layers.RLIMITS] = _attempt(lambda: _limit(address_bytes, cpu_s, weaker=bool(readable)))
    notes[layers.SECCOMP] = _attempt(filter_.load) if filter_ is not None else "no libseccomp"
    return notes


def _attempt(action: Callable[[], Any]) -> str:
    try:
        action()
    except (OSError, ValueError) as error:
        return str(error) or type(error).__name__
    return ""


def _map_ids(uid: int, gid: int) -> None:
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{uid} {uid} 1"),
        ("gid_map", f"{gid} {gid} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def _empty_root(working_dir: str) -> None:
    linux.mount(None, "/", None, linux.MS_REC | linux.MS_PRIVATE)
    flags = linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC
    linux.mount("none", "/tmp", "tmpfs", flags, "size=64k,mode=755")  # noqa: S108  a mount point
    os.chdir("/tmp")  # noqa: S108
    inside = os.path.normpath("/" + working_dir)
    os.makedirs("." + inside, exist_ok=True)
    dot = b".\0"
    linux.syscall(seccomp.resolve("pivot_root"), dot, dot)
    linux.unmount(".")
    os.chdir("/")
    linux.mount(None, "/", None, flags | linux.MS_REMOUNT | linux.MS_BIND | linux.MS_RDONLY)
    os.chdir(inside)


def _drop_user() -> None:
    if os.getuid() != 0:
        return
    os.setgroups([])
    os.setresgid(_NOBODY, _NOBODY, _NOBODY)
    os.setresuid(_NOBODY, _NOBODY, _NOBODY)


def _limit(address_bytes: int, cpu_s: int, *, weaker: bool) -> None:
    _set(resource.RLIMIT_AS, address_bytes)
    _set(resource.RLIMIT_CPU, cpu_s)
    _set(resource.RLIMIT_NOFILE, 64 if weaker else 8)
    _set(resource.RLIMIT_NPROC, _MOST_THREADS if weaker else 0)
    for kind in (
        resource.RLIMIT_FSIZE,
        resource.RLIMIT_CORE,
        resource.RLIMIT_MEMLOCK,
        resource.RLIMIT_MSGQUEUE,
        resource.RLIMIT_SIGPENDING,
    ):
        _set(kind, 0)


def _set(kind: int, value: int) -> None:
    hard = resource.getrlimit(kind)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (value, value))


def mapped_bytes() -> int:
    """Return how much address space this process has mapped; needs /proc."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()
