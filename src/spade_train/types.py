"""The values that flow through training, and how they are kept as JSON.

    Episode -> EpisodeResult -> Measurement -> Score -> advantage

All are frozen. The arrays beside them have one axis each: the samples or episodes of one batch,
unless a docstring says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from spade_envs.types import Episode, FaultKind, Json
from spade_train.errors import StateError

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
Ints: TypeAlias = NDArray[np.int64]

T = TypeVar("T")


class Role(StrEnum):
    """What the one policy is doing when it writes: designing an environment or acting in one."""

    DESIGNER = "designer"
    AGENT = "agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeResult:
    """What the maths needs of one episode. One with a fault is never a reward."""

    env: str
    """Digest or id of the environment."""
    level: int
    seed: int
    """Seed of the instance; both arms of a regret play the same ones."""
    update: int
    """Number of the update whose weights acted, counted from 0."""
    hinted: bool
    success: bool
    """The success flag of the last step; False if the episode ran out of turns."""
    total_reward: float = 0.0
    """Undiscounted return."""
    fault: FaultKind | None = None
    """Set if the environment failed; everything else but the labels is then meaningless."""

    @classmethod
    def of(cls, episode: Episode, *, update: int) -> EpisodeResult:
        """Return the result of a played episode.

        Args:
            episode: the episode, played with or without the hint.
            update: number of the update whose weights acted, >= 0.
        """
        return cls(
            env=episode.env_id,
            level=episode.level,
            seed=episode.seed,
            update=update,
            hinted=episode.hinted,
            success=episode.success,
            total_reward=episode.total_reward,
            fault=episode.fault.kind if episode.fault else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class HintInformation:
    """How much a hint gives away, measured beside the regret that it earns."""

    words: float
    """Mean number of words of a hint, >= 0."""
    overlap: float
    """Share of the reference solution that stands in the instance's own hint and not in those of
    other instances, in [0, 1]."""
    reader_success: float = 0.0
    """Success rate of a policy that reads the hint and not the task, in [0, 1]."""
    withheld: bool = True
    """Whether the gates on hints (value-free, multi-turn replay) passed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignSample:
    """One completion of the designer that waits for its score."""

    key: str
    """Name under which the trainer keeps tokens and log-probabilities."""
    brief: str
    """Name of the brief; completions of one brief form a group."""
    skill: str
    update: int
    """Number of the update whose weights wrote it."""
    env: str | None
    """The environment that came of it; None if the program was refused."""


def as_json(value: object) -> Json:
    """Return a frozen value of this package as plain JSON."""
    return msgspec.to_builtins(value)


def from_json(kind: type[T], data: Json) -> T:
    """Read a value of this package back from plain JSON.

    Raises:
        StateError: the data is not such a value; the message names the place in it.
    """
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise StateError(f"not a saved {kind.__name__}: {error}") from None
