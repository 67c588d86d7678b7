"""What the gates need from a sandbox; `spade_envs.sandbox` provides it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from spade_envs.types import (
    EnvSource,
    Fault,
    Interface,
    Json,
    Limits,
    ResetOutcome,
    StepOutcome,
)

Mode = Literal["plain", "restricted"]
ResetRequest = tuple[int, int | None, Mapping[str, Json] | None]


class WorkerPort(Protocol):
    """One worker process that holds any number of instances of one source."""

    @property
    def interface(self) -> Interface:
        """What the loaded class declares."""

    @property
    def layers(self) -> tuple[str, ...]:
        """Names of the active isolation layers."""

    @property
    def alive(self) -> bool:
        """Whether the worker can still be used."""

    def create(self, level: int) -> int | Fault:
        """Make an instance and return its number."""

    def create_many(self, levels: Sequence[int]) -> list[int | Fault]:
        """Make one instance of each level."""

    def reset(self, requests: Sequence[ResetRequest]) -> list[ResetOutcome]:
        """Reset `(instance, seed, options)` each."""

    def step(self, requests: Sequence[tuple[int, str]]) -> list[StepOutcome]:
        """Step `(instance, action)` each."""

    def hint(self, instance: int) -> str | Fault:
        """Return the hint for the instance's current state."""

    def solution(self, instance: int) -> list[str] | Fault:
        """Return actions that win from the instance's current state."""

    def solutions(self, instances: Sequence[int]) -> list[list[str] | Fault]:
        """Return the solution of each of the instances."""

    def hints(self, instances: Sequence[int]) -> list[str | Fault]:
        """Return the hint of each of the instances."""

    def copies(self, instances: Sequence[int]) -> list[int | Fault]:
        """Return a copy of each of the instances, in its present state."""

    def probe(self, instance: int, kind: str, args: Mapping[str, Json]) -> Json | Fault:
        """Run a named check inside the worker."""

    def discard(self, instance: int) -> None:
        """Forget an instance."""

    def close(self) -> None:
        """End the worker."""


class SandboxPort(Protocol):
    """Starts workers."""

    def load(
        self,
        source: EnvSource,
        *,
        limits: Limits = ...,
        mode: Mode = ...,
        poison: bool = ...,
        spin: bool = ...,
    ) -> WorkerPort | Fault:
        """Load the source in a fresh worker."""
