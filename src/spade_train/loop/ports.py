"""What the loop asks of those who sample and play: borders that tests fake."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from spade_envs.audit import Audit
from spade_envs.types import EnvSource
from spade_train.config.roles import Sampling
from spade_train.rollouts.hints import WrittenHint
from spade_train.rollouts.jobs import Designed, DesignJob, EpisodeJob, Played


@dataclass(frozen=True, slots=True)
class Audited:
    """What the policy remarked on some sources."""

    audits: tuple[Audit, ...]
    tokens: int
    """Tokens that it sampled for them."""


@dataclass(frozen=True, slots=True)
class Spans:
    """Where wall time went, in seconds, by what was done: `model_s`, `gates_s`, `play_s`, ..."""

    seconds: Mapping[str, float] = field(default_factory=dict)

    def __add__(self, other: Spans) -> Spans:
        keys = {**self.seconds, **other.seconds}
        return Spans(
            {key: self.seconds.get(key, 0.0) + other.seconds.get(key, 0.0) for key in keys}
        )

    @property
    def total(self) -> float:
        """Their sum."""
        return sum(self.seconds.values())


class Rollouts(Protocol):
    """Lets the one policy act and design."""

    def act(self, jobs: Iterable[EpisodeJob], *, sampling: Sampling | None = None) -> list[Played]:
        """Return the episodes in the order of the jobs.

        Args:
            jobs: episodes to play, of environments that any known store holds; an iterator may
                wait for gates meanwhile.
            sampling: decoding; the agent's own if None.
        """
        ...

    def design(self, jobs: Sequence[DesignJob], *, known: Collection[str]) -> Iterable[Designed]:
        """Return what came of each job, in their order; accepted programs are in the run's store.

        Args:
            jobs: programs to write.
            known: digests of environments that must not be written again, and nothing else counts
                as known: what a killed process left in the store does not.
        """
        ...

    def write_hints(self, jobs: Sequence[EpisodeJob]) -> list[WrittenHint]:
        """Return the policy's hint for the instance of each job, in their order."""
        ...

    def audit(self, sources: Sequence[EnvSource]) -> Audited:
        """Return the policy's remarks on each source: advice for the log, never a verdict."""
        ...

    def spans(self) -> Spans:
        """Return the wall time since the last call of this function."""
        ...


class Shelf(Protocol):
    """Sources of environments by digest, whichever store holds them."""

    def source(self, digest: str) -> EnvSource:
        """Return a source.

        Raises:
            StateError: no store holds it.
        """
        ...
