"""Every exception that spade_envs raises on purpose.

Exceptions are for callers' mistakes and broken machinery. What an environment or a language model
does wrong is data (`Fault`, `GateResult`, `Rejection` in `types`), except where a direct user
calls it.

    SpadeError
    ├─ IdError [ValueError]            an environment id, name or digest that cannot be one
    ├─ ConfigError [ValueError]        a setting, argument or file of settings that cannot be used
    ├─ ParseError [ValueError]         a completion that holds no usable source
    ├─ CorpusError [ValueError]        a corpus that is missing, empty or unreadable
    ├─ SandboxError [RuntimeError]     machinery: the sandbox could not start or broke its protocol
    │   ├─ IsolationUnavailable        this platform lacks a required isolation layer
    │   └─ EnvironmentFault            the environment itself failed (carries `.fault`)
    ├─ ClientError [RuntimeError]      a language-model client failed
    ├─ StoreError [RuntimeError]       an envstore cannot do what was asked
    │   ├─ NotFound [LookupError]      no such environment, version or store
    │   ├─ Withdrawn                   the version was withdrawn, with the reason
    │   ├─ Corrupt                     bytes on disk do not match the manifest
    │   ├─ FormatTooNew                written by a newer release
    │   ├─ StorageError [OSError]      the disk or file system failed (full, read-only, broken)
    │   ├─ RemoteError [OSError]       a remote cannot be reached, or refuses what was asked
    │   ├─ NotTrusted                  it comes from elsewhere and nobody consented to run it
    │   └─ NotCertified                the report does not admit this source
    └─ MissingExtra [ImportError]      an optional dependency is not installed

All are picklable: they keep their arguments in `args`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spade_envs.types import Fault


class SpadeError(Exception):
    """Base of every error that spade_envs raises on purpose."""


class IdError(SpadeError, ValueError):
    """Raised when an environment id, name or digest cannot be one."""


class ConfigError(SpadeError, ValueError):
    """Raised when a setting or argument cannot be used; the message names the key and the mend."""


class ParseError(SpadeError, ValueError):
    """Raised when a completion holds no usable source."""


class CorpusError(SpadeError, ValueError):
    """Raised when a corpus is missing, empty or unreadable."""


class SandboxError(SpadeError, RuntimeError):
    """Raised when the sandbox's own machinery fails."""


class IsolationUnavailable(SandboxError):
    """Raised when this platform lacks an isolation layer that the sandbox requires."""


class EnvironmentFault(SandboxError):
    """Raised to a direct user when the environment itself failed.

    Attributes:
        fault: what happened, as data.
    """

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault)
        self.fault = fault

    def __str__(self) -> str:
        return f"environment fault ({self.fault.kind} in {self.fault.op}): {self.fault.message}"


class ClientError(SpadeError, RuntimeError):
    """Raised when a language-model client cannot produce a completion."""


class StoreError(SpadeError, RuntimeError):
    """Raised when an envstore cannot do what was asked."""


class NotFound(StoreError, LookupError):
    """Raised when no such environment, version or store exists."""


class Withdrawn(StoreError):
    """Raised when the version asked for was withdrawn; the message carries the reason."""


class Corrupt(StoreError):
    """Raised when bytes on disk do not match the manifest that vouches for them."""


class FormatTooNew(StoreError):
    """Raised when a store or manifest was written by a newer release."""


class StorageError(StoreError, OSError):
    """Raised when a disk or file system fails; the message names the file and the mend."""


class RemoteError(StoreError, OSError):
    """Raised when a remote cannot be reached or used; the message holds no password or token."""


class NotTrusted(StoreError):
    """Raised when a pulled version may not run yet; the message names the command that lets it."""


class NotCertified(StoreError):
    """Raised when a report does not admit the source that it is offered with."""


class MissingExtra(SpadeError, ImportError):
    """Raised when an optional dependency is missing; the message holds the pip command."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(package, extra)
        self.package, self.extra = package, extra

    def __str__(self) -> str:
        return f"{self.package} is not installed; run: pip install 'spade-envs[{self.extra}]'"
