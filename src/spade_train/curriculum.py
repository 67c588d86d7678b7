"""What is trained on when: design phases, the rotation of skills, and levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from spade_train.arrays import numbers
from spade_train.errors import DataError
from spade_train.types import Floats, Ints

T = TypeVar("T")


def is_design_update(update: int, interval: int) -> bool:
    """Return whether new environments are designed before this update; never if interval is 0.

    Raises:
        DataError: a number is negative.

    Source: published implementation (reference 1.2.1).
    """
    return interval > 0 and _epoch(update, interval)[1] == 0


def epoch_of(update: int, interval: int) -> int:
    """Return the number of the epoch: the updates that share one set of environments.

    Args:
        update: number of the update, counted from 0.
        interval: updates per epoch, >= 0; 0 is one endless epoch.

    Raises:
        DataError: a number is negative.
    """
    return _epoch(update, interval)[0]


def active_skills(skills: Sequence[T], per_epoch: int, epoch: int) -> tuple[T, ...]:
    """Return the skills of an epoch: a window that moves on by its own length, round and round.

    Args:
        skills: all skills, at least one.
        per_epoch: length of the window; 0, or as many as there are, takes all.
        epoch: number of the epoch, >= 0.

    Raises:
        DataError: no skill, or a number is negative.

    Source: published implementation (reference 1.2.2).
    """
    if not skills or per_epoch < 0 or epoch < 0:
        raise DataError(f"{len(skills)} skills, {per_epoch} per epoch, epoch {epoch}")
    if per_epoch == 0 or per_epoch >= len(skills):
        return tuple(skills)
    start = epoch * per_epoch
    return tuple(skills[(start + place) % len(skills)] for place in range(per_epoch))


def level_weights(successes: ArrayLike, episodes: ArrayLike) -> Floats:
    """Return the share of episodes that each level of an environment should get.

    Proportional to the expected p (1 - p) under a uniform prior on each level's success rate: the
    most to levels won about half the time, something to levels not tried yet, little to the rest.

    Args:
        successes: successes per level, in [0, episodes].
        episodes: episodes per level without faults, >= 0.

    Returns:
        [L] weights > 0 with the sum 1.

    Raises:
        DataError: no level, lengths differ, or successes exceed episodes.

    Source: ours.
    """
    wins, plays = numbers(successes, "successes"), numbers(episodes, "episodes")
    if wins.size == 0 or wins.shape != plays.shape or np.any(wins < 0) or np.any(wins > plays):
        raise DataError(f"not counts per level: {wins.tolist()} of {plays.tolist()}")
    won, lost = wins + 1.0, plays - wins + 1.0
    spread = won * lost / ((won + lost) * (won + lost + 1.0))
    weights: Floats = spread / spread.sum()
    return weights


def draw_levels(shares: ArrayLike, count: int, rng: np.random.Generator) -> Ints:
    """Return `count` levels drawn evenly by weight, in rising order.

    Systematic sampling: every level is drawn within one of weight times count.

    Args:
        shares: weights of the levels >= 0, with a positive sum.
        count: levels to draw, >= 0.
        rng: gives the one random offset.

    Raises:
        DataError: a weight or the count is negative, or all weights are 0.
    """
    weights = numbers(shares, "shares")
    if count < 0 or np.any(weights < 0) or not weights.sum() > 0:
        raise DataError(f"cannot draw {count} levels by the weights {weights.tolist()}")
    edges = np.cumsum(weights) / weights.sum()
    points = (rng.random() + np.arange(count)) / max(count, 1)
    last = int(np.flatnonzero(weights)[-1])
    return np.minimum(np.searchsorted(edges, points, side="right"), last).astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlidingWindow:
    """Levels of one environment of a fixed pool: a pure value, to be kept in the checkpoint.

    Levels are drawn from [low, high]. Only episodes at `high` are counted; once there are enough,
    a good success rate moves the window up by one, and the counters start anew either way.

    Source: published implementation, sliding-window difficulty (reference 7.1).
    """

    low: int = 0
    high: int = 0
    episodes: int = 0
    successes: int = 0
    width: int = 4
    """Greatest number of levels in the window, >= 1."""
    threshold: float = 0.9
    """Success rate at `high` that moves the window, in [0, 1]."""
    enough: int = 128
    """Episodes at `high` before it is looked at, >= 1."""
    top: int = 20
    """Highest level that there is."""

    def __post_init__(self) -> None:
        if not (
            0 <= self.low <= self.high <= self.top
            and self.high - self.low < self.width
            and 0 <= self.successes <= self.episodes
            and self.enough >= 1
            and 0.0 <= self.threshold <= 1.0
        ):
            raise DataError(f"not a window: {self}")

    def draw(self, count: int, rng: np.random.Generator) -> Ints:
        """Return `count` levels, each uniform in [low, high]."""
        return rng.integers(self.low, self.high + 1, size=count, dtype=np.int64)

    def record(self, level: int, *, episodes: int, successes: int) -> SlidingWindow:
        """Return the window after these episodes at one level; faults are not among them.

        Raises:
            DataError: the counts are out of range.
        """
        if not 0 <= successes <= episodes:
            raise DataError(f"{successes} successes of {episodes} episodes")
        if level != self.high:
            return self
        plays, wins = self.episodes + episodes, self.successes + successes
        if plays < self.enough:
            return replace(self, episodes=plays, successes=wins)
        high = self.high + (wins / plays >= self.threshold and self.high < self.top)
        low = max(self.low, high - self.width + 1)
        return replace(self, low=low, high=high, episodes=0, successes=0)


def _epoch(update: int, interval: int) -> tuple[int, int]:
    if update < 0 or interval < 0:
        raise DataError(f"update {update} and interval {interval} must be >= 0")
    return divmod(update, interval) if interval else (0, update)
