"""What the proxies play through: a sandboxed worker, or the same thing in this process.

In-process running is for sources that the caller has read and pins by digest; the store that
carries an environment cannot vouch for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol, TypeAlias

from spade_envs.errors import ConfigError, EnvironmentFault
from spade_envs.play.local import LocalSession
from spade_envs.sandbox import Sandbox, sandbox_for
from spade_envs.types import (
    EnvSource,
    Fault,
    Interface,
    Limits,
    ResetOutcome,
    StepBatch,
    StepOutcome,
)

Isolation: TypeAlias = Literal["process", "none"]
ResetRequest: TypeAlias = tuple[int, int | None, dict[str, Any] | None]


class Session(Protocol):
    """Instances of one source, driven in batches."""

    @property
    def interface(self) -> Interface:
        """What the source declares."""
        ...

    @property
    def limits(self) -> Limits:
        """The resources that it may use."""
        ...

    @property
    def layers(self) -> tuple[str, ...]:
        """Names of the active isolation layers."""
        ...

    def create(self, level: int) -> int | Fault:
        """Make one instance and return its number."""
        ...

    def reset(self, requests: Sequence[ResetRequest]) -> list[ResetOutcome]:
        """Start episodes; each request is `(instance, seed, options)`."""
        ...

    def step(self, requests: Sequence[tuple[int, str]]) -> list[StepOutcome]:
        """Take one step each; a request is `(instance, action)`."""
        ...

    def step_batch(self, instances: Sequence[int], actions: Sequence[str]) -> StepBatch:
        """Take one step in each of the instances; actions in the same order."""
        ...

    def hint(self, instance: int) -> str | Fault:
        """Return the hint for the instance's current state."""
        ...

    def solution(self, instance: int) -> list[str] | Fault:
        """Return actions that win from the instance's current state."""
        ...

    def close(self) -> None:
        """Give everything back; safe to call twice."""
        ...


def open_session(
    source: EnvSource,
    *,
    limits: Limits | None = None,
    isolation: Isolation = "process",
    trusted_digest: str | None = None,
    digest: str | None = None,
    sandbox: Sandbox | None = None,
) -> Session:
    """Load `source` and return a session of it.

    Args:
        source: the code.
        limits: resources of the worker; the defaults of `Limits` if None.
        isolation: `process` for a sandboxed worker, `none` to run in this process.
        trusted_digest: with `none`, the digest that the caller has reviewed.
        digest: the digest of the environment, to compare with.
        sandbox: the sandbox to use; the process-wide one for this source if None.

    Raises:
        ConfigError: `none` without the right digest, or an unknown isolation.
        EnvironmentFault: the source cannot be loaded.
        IsolationUnavailable: this platform cannot isolate.
    """
    if isolation == "none":
        _require_trust(trusted_digest, digest)
        loaded: Session | Fault = LocalSession.load(source, limits or Limits())
    elif isolation == "process":
        loaded = (sandbox or sandbox_for(source)).load(source, limits=limits or Limits())
    else:
        raise ConfigError(f"isolation must be 'process' or 'none', not {isolation!r}")
    if isinstance(loaded, Fault):
        raise EnvironmentFault(loaded)
    return loaded


def create_all(session: Session, levels: Sequence[int]) -> list[int]:
    """Make one instance per level and return their numbers.

    Raises:
        ConfigError: a level is out of range.
        EnvironmentFault: the environment's constructor failed.
    """
    instances = []
    for level in levels:
        if type(level) is not int or not 0 <= level < session.interface.levels:
            most = session.interface.levels
            raise ConfigError(f"level must be an int in [0, {most}), not {level!r}")
        instance = session.create(level)
        if isinstance(instance, Fault):
            raise EnvironmentFault(instance)
        instances.append(instance)
    return instances


def _require_trust(trusted_digest: str | None, digest: str | None) -> None:
    if trusted_digest is None or trusted_digest != digest:
        raise ConfigError(
            "isolation='none' runs the environment's code in this process with your rights; read "
            f"the source first, then pass trusted_digest={digest!r} to allow exactly that version"
        )
