"""The system-call filter of a worker, through libseccomp so that it holds on every architecture.

Names are resolved by libseccomp for the native architecture; calls through any other (32-bit,
x32) kill the process. Everything that is not on the list fails with EPERM.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import errno
from typing import Any

PROT_EXEC = 4

ALLOWED = (
    "read", "write", "readv", "writev", "recvfrom", "sendto", "poll", "ppoll", "close",
    "fstat", "lseek",
    "brk", "munmap", "mremap", "madvise", "futex", "membarrier", "sched_yield",
    "rt_sigreturn", "rt_sigaction", "rt_sigprocmask", "sigaltstack", "restart_syscall",
    "clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep", "gettimeofday", "time",
    "getpid", "gettid", "getrandom", "getcpu", "getrusage", "exit", "exit_group",
)  # fmt: skip
"""Calls that only touch the process itself and the descriptors it was left with."""

READING = (
    "open", "openat", "stat", "lstat", "newfstatat", "statx", "access", "faccessat", "faccessat2",
    "readlink", "readlinkat", "getdents64", "getcwd", "fcntl", "ioctl", "pread64", "mmap",
    "mprotect", "getuid", "geteuid", "getgid", "getegid", "uname", "sysinfo", "dup",
)  # fmt: skip
THREADS = ("set_robust_list", "rseq", "sched_getaffinity", "getppid")
"""Calls that a weaker worker is allowed as well; Landlock decides which files they reach."""
_CLONE_THREAD = 0x00010000

WITHOUT_EXEC = ("mmap", "mprotect")
"""Calls that are allowed unless they ask for executable memory (third argument)."""

KILLED = (
    "ptrace", "process_vm_readv", "process_vm_writev", "bpf", "unshare", "setns", "userfaultfd",
    "perf_event_open", "io_uring_setup", "io_uring_enter", "io_uring_register", "keyctl",
    "add_key", "request_key", "mount", "umount2", "pivot_root", "chroot", "init_module",
    "finit_module", "kexec_load", "open_by_handle_at", "name_to_handle_at", "execve", "execveat",
)  # fmt: skip
"""Calls that no environment has a reason to try: the worker dies at once."""


class Unavailable(RuntimeError):
    """Raised when no filter can be built here; the message holds the mend."""


def build_filter(*, weaker: bool = False) -> Any:
    """Return a filter whose `load()` binds the calling process for good.

    Args:
        weaker: allow the calls that read files and start threads, for trusted libraries.

    Raises:
        Unavailable: libseccomp is missing, or the kernel has no seccomp filters.
    """
    try:
        seccomp = _import()
    except (ImportError, RuntimeError, OSError, AttributeError) as error:
        raise Unavailable(
            f"libseccomp cannot be loaded ({error}); install it: apt-get install libseccomp2, "
            "dnf install libseccomp, or apk add libseccomp; and pip install pyseccomp"
        ) from error
    rules = seccomp.SyscallFilter(seccomp.ERRNO(errno.EPERM))
    no_exec = seccomp.Arg(2, seccomp.MASKED_EQ, PROT_EXEC, 0)
    for name in ALLOWED:
        _add(rules, seccomp.ALLOW, name)
    for name in (*READING, *THREADS) if weaker else ():
        _add(rules, seccomp.ALLOW, name)
    if weaker:
        thread = seccomp.Arg(0, seccomp.MASKED_EQ, _CLONE_THREAD, _CLONE_THREAD)
        _add(rules, seccomp.ALLOW, "clone", thread)
    for name in () if weaker else WITHOUT_EXEC:
        _add(rules, seccomp.ALLOW, name, no_exec)
    for name in KILLED:
        _add(rules, seccomp.KILL_PROCESS, name)
    _add(rules, seccomp.ERRNO(errno.ENOSYS), "clone3")
    return rules


def resolve(name: str) -> int:
    """Return the native number of a system call."""
    seccomp = _import()
    return int(seccomp.resolve_syscall(seccomp.Arch.NATIVE, name))


def _add(rules: Any, action: int, name: str, *conditions: Any) -> None:
    try:
        rules.add_rule(action, name, *conditions)
    except OSError as error:
        # A name that this architecture or library does not have needs no rule: it stays denied.
        if error.errno not in (errno.EINVAL, errno.EDOM, errno.EFAULT, errno.EOPNOTSUPP):
            raise


def _import() -> Any:
    """Import pyseccomp without the compiler and ldconfig runs of `find_library`."""
    original = ctypes.util.find_library
    ctypes.util.find_library = _find_library
    try:
        import pyseccomp
    finally:
        ctypes.util.find_library = original
    return pyseccomp


def _find_library(name: str) -> str | None:
    soname = "libseccomp.so.2"
    if name != "seccomp":
        return None  # the C library is in the process already
    ctypes.CDLL(soname)
    return soname
