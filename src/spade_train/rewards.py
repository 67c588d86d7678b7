"""Rewards of the agent, success rates, and the terms of which designer scores are made."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from spade_train.arrays import group_index, mask, numbers, shares
from spade_train.errors import DataError
from spade_train.types import EpisodeResult

AgentReward: TypeAlias = Literal["success", "return"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SuccessRate:
    """How often an environment was won, by the success flag; faults are counted apart."""

    successes: int
    episodes: int
    """Episodes without a fault, >= successes."""
    faults: int = 0

    @property
    def rate(self) -> float | None:
        """Successes per episode, in [0, 1]; None without episodes."""
        return self.successes / self.episodes if self.episodes else None

    @property
    def standard_error(self) -> float | None:
        """Of the rate, from its binomial variance; None with fewer than two episodes."""
        if self.episodes < 2:
            return None
        rate = self.successes / self.episodes
        return math.sqrt(rate * (1.0 - rate) / (self.episodes - 1))

    @property
    def fault_share(self) -> float:
        """Faults per episode that was begun, in [0, 1]; 0 if none was."""
        begun = self.episodes + self.faults
        return self.faults / begun if begun else 0.0


def success_rate(results: Sequence[EpisodeResult]) -> SuccessRate:
    """Return how often these episodes were won; the size of rewards does not matter.

    Source: the paper's agent reward is 1 for a completed task; the published code takes the mean
        raw reward instead, which a constant reward of 0.5 can fool (reference 11.3.1).
    """
    kept = [result for result in results if result.fault is None]
    return SuccessRate(
        successes=sum(result.success for result in kept),
        episodes=len(kept),
        faults=len(results) - len(kept),
    )


def agent_reward(result: EpisodeResult, kind: AgentReward = "success") -> float | None:
    """Return what the agent is paid for an episode, in [-1, 1]; None after a fault.

    Args:
        result: the episode.
        kind: `success` pays 1.0 for the success flag and 0.0 else; `return` pays the return,
            clipped to [-1, 1], for environments with partial rewards.

    Raises:
        DataError: the return is not finite.

    Source: paper, framework figure (1 if the task is completed).
    """
    if result.fault is not None:
        return None
    if kind == "success":
        return float(result.success)
    if not math.isfinite(result.total_reward):
        raise DataError(f"the return of {result.env} is {result.total_reward}")
    return min(1.0, max(-1.0, result.total_reward))


def published_outcome(step_rewards: ArrayLike, *, terminated: bool) -> float:
    """Return the published outcome of an episode, in [-1, 1]: its last reward, clipped.

    0.0 if the episode did not terminate or has no step. For comparisons only; see `agent_reward`.

    Raises:
        DataError: a reward is not finite.

    Source: published implementation, episode reward (reference 1.4).
    """
    rewards = numbers(step_rewards, "step_rewards")
    if not terminated or rewards.size == 0:
        return 0.0
    return float(np.clip(rewards[-1], -1.0, 1.0))


def plateau(rate: float, *, low: float = 0.4, high: float = 0.6, ramp: float = 0.25) -> float:
    """Return 1 for a success rate in [low, high], falling to 0 over `ramp` on both sides.

    Args:
        rate: success rate, in [0, 1].
        low: lower end of the band; the published later phase of the 4B run uses 0.2.
        high: upper end of the band; there 0.4.
        ramp: width of each slope, > 0; there 0.2.

    Raises:
        DataError: the rate lies outside [0, 1], or the band is empty or has no slope.

    Source: published implementation, solve-rate plateau (reference 5.3.1).
    """
    if not (low <= high and ramp > 0.0):
        raise DataError(f"not a band: low {low}, high {high}, ramp {ramp}")
    if not 0.0 <= rate <= 1.0:
        raise DataError(f"a success rate lies in [0, 1], not {rate}")
    return max(0.0, 1.0 - max(low - rate, rate - high, 0.0) / ramp)


def regret_term(regret: float, *, scale: float = 0.15) -> float:
    """Return a regret as a share of `scale`, clipped to [0, 1].

    Raises:
        DataError: the scale is not positive or the regret is not a number.

    Source: published implementation, blend (reference 5.3.1).
    """
    if not scale > 0.0 or math.isnan(regret):
        raise DataError(f"cannot scale a regret of {regret} by {scale}")
    return min(1.0, max(0.0, regret / scale))


def variance_bonus(variance: float, *, target: float = 0.25, width: float = 0.02) -> float:
    """Return exp(-(variance - target)^2 / width), in (0, 1]: 1 where outcomes vary most.

    Raises:
        DataError: the variance is negative or not finite, or the width is not positive.

    Source: published implementation, solver-variance bonus (reference 5.3.5).
    """
    if not (0.0 <= variance < math.inf and width > 0.0):
        raise DataError(f"not a variance and a width: {variance}, {width}")
    return math.exp(-((variance - target) ** 2) / width)


def learnability(
    successes: ArrayLike, instances: Sequence[Hashable], *, valid: ArrayLike | None = None
) -> float | None:
    """Return 4 p (1 - p) of single instances, on average, in [0, 1]; None without repeats.

    1 if every instance is won half the time, 0 if each one is always won or always lost, however
    these mix. This is the variance that group advantages live on. Unbiased before the clip: with k
    episodes of an instance it is 4 p (1 - p) k / (k - 1).

    Args:
        successes: success flags without the hint, in [0, 1].
        instances: the instance that each episode played.
        valid: False where the environment failed.

    Raises:
        DataError: lengths differ, or a valid flag lies outside [0, 1].

    Source: ours; the idea of p (1 - p) as a learning signal is common in curricula for RL.
    """
    kept = mask(valid, len(instances))
    success = shares(successes, "successes", mask(kept, np.size(successes)))
    groups = group_index(instances, success.size)
    if not kept.any():
        return None
    plays = np.bincount(groups[kept])
    wins = np.bincount(groups[kept], weights=success[kept])
    many = plays > 1
    if not many.any():
        return None
    rate, count = wins[many] / plays[many], plays[many]
    return min(1.0, float(np.mean(4.0 * rate * (1.0 - rate) * count / (count - 1))))
