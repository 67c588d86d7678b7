"""The isolation layers: their names, which are required, and whether enough of them hold."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass

from spade_envs.errors import ConfigError, IsolationUnavailable

NO_NEW_PRIVS = "no-new-privs"
UNPRIVILEGED = "unprivileged-user"
NAMESPACES = "namespaces"
EMPTY_ROOT = "empty-root"
CAPABILITIES = "no-capabilities"
RLIMITS = "rlimits"
LANDLOCK = "landlock"
SECCOMP = "seccomp"

ALL = (
    NO_NEW_PRIVS, UNPRIVILEGED, NAMESPACES, EMPTY_ROOT, CAPABILITIES, RLIMITS, LANDLOCK, SECCOMP,
)  # fmt: skip
WEAKENED = "weakened: reads installed packages, may start threads"
"""Follows the layers of a worker that runs a trusted library with less isolation."""
REQUIRED: frozenset[str] = frozenset({NO_NEW_PRIVS, SECCOMP, RLIMITS})
"""Layers without which nothing runs, besides Landlock or namespaces with an empty root."""

_MENDS = {
    SECCOMP: "install libseccomp (apt-get install libseccomp2); kernel needs SECCOMP_FILTER",
    RLIMITS: "raise the hard limits of this process (ulimit -H -a)",
    NO_NEW_PRIVS: "use Linux 3.5 or newer",
    LANDLOCK: "use Linux 5.13 or newer with landlock among the active security modules",
    NAMESPACES: "allow user namespaces (sysctl user.max_user_namespaces, "
    "kernel.unprivileged_userns_clone) or give the container CAP_SYS_ADMIN",
    EMPTY_ROOT: "allow mounts in a user namespace (AppArmor or SELinux may forbid them)",
    UNPRIVILEGED: "run as an ordinary user, or give root CAP_SETUID",
    CAPABILITIES: "run as an ordinary user",
}


@dataclass(frozen=True, slots=True)
class LayerStatus:
    """One isolation layer on this machine."""

    name: str
    active: bool
    required: bool
    note: str = ""
    """Why it is not active, or what it covers."""


def missing(active: Iterable[str], require: frozenset[str], *, either: bool = True) -> list[str]:
    """Return one sentence for each requirement that the `active` layers do not meet."""
    have = set(active)
    found = [f"{name} ({_MENDS.get(name, 'unknown layer')})" for name in sorted(require - have)]
    if either and LANDLOCK not in have and not {NAMESPACES, EMPTY_ROOT} <= have:
        mend = f"{_MENDS[LANDLOCK]}; or {_MENDS[NAMESPACES]}"
        found.append(f"{LANDLOCK} or {NAMESPACES} with an empty root ({mend})")
    return found


def check_platform() -> None:
    """Refuse platforms on which no isolation exists.

    Raises:
        IsolationUnavailable: this is not Linux.
    """
    if sys.platform != "linux":
        raise IsolationUnavailable(
            f"untrusted environments run only on Linux, not on {sys.platform}: no isolation layer "
            "of the sandbox exists there; use a Linux machine, container or virtual machine"
        )


def refuse_missing(lacking: list[str]) -> None:
    """Raise if anything required is missing.

    Raises:
        IsolationUnavailable: it names what is missing and how to mend it.
    """
    if lacking:
        raise IsolationUnavailable(
            "the sandbox refuses to run environments; missing: " + "; ".join(lacking)
        )


def check_require(require: frozenset[str], allow_weaker: bool) -> None:
    """Refuse to weaken the sandbox silently.

    Raises:
        ConfigError: a layer is unknown, or one of the standard is left out without saying so.
    """
    unknown = require - set(ALL)
    if unknown:
        raise ConfigError(f"require names unknown layers {sorted(unknown)}; known are {ALL}")
    if not allow_weaker and REQUIRED - require:
        left_out = ", ".join(sorted(REQUIRED - require))
        raise ConfigError(f"require leaves out {left_out}; set allow_weaker=True if you mean it")
