"""What was measured of one environment: all that a designer score may read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spade_train.errors import DataError
from spade_train.regret import Regret, paired_regret
from spade_train.rewards import SuccessRate, learnability, success_rate
from spade_train.types import EpisodeResult, HintInformation


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelMeasurement:
    """One level of an environment."""

    level: int
    success: SuccessRate
    """Without the hint, over all updates."""
    regret: Regret | None
    """None if no instance was finished in both arms."""
    learnability: float | None
    """4 p (1 - p) within instances, in [0, 1]; None if no instance was played twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One environment, over the updates for which it was played."""

    env: str
    skill: str
    success: SuccessRate
    """Without the hint, over all levels and updates."""
    regret: Regret | None
    """Over all levels; only updates in which both arms played count, so the weights are equal."""
    levels: tuple[LevelMeasurement, ...]
    """The levels that were played without a hint, from the lowest."""
    fault_share: float
    """Episodes that the environment broke, in both arms, in [0, 1]."""
    chance: float = 0.0
    """Success rate of the best policy that does not read the task, in [0, 1); from the gates."""
    hint: HintInformation | None = None
    persistence: float = 0.0
    """Share of an earlier regret that training left standing, in [0, 1]; 0 if unknown."""


def measure(
    results: Sequence[EpisodeResult],
    *,
    skill: str,
    chance: float = 0.0,
    hint: HintInformation | None = None,
    persistence: float = 0.0,
) -> Measurement:
    """Return what these episodes of one environment say; their order does not matter.

    Args:
        results: episodes of both arms, at least one, all of one environment.
        skill: the skill it was designed for.
        chance: success rate of the best policy that does not read the task, in [0, 1).
        hint: information in its hints, if that was measured.
        persistence: share of an earlier regret that training left standing, in [0, 1].

    Raises:
        DataError: no episode, several environments, or a share out of range.
    """
    envs = {result.env for result in results}
    if len(envs) != 1:
        raise DataError(f"a measurement is of one environment, not {len(envs)}")
    if not 0.0 <= chance < 1.0 or not 0.0 <= persistence <= 1.0:
        raise DataError(f"out of range: chance {chance}, persistence {persistence}")
    plain = [result for result in results if not result.hinted]
    return Measurement(
        env=envs.pop(),
        skill=skill,
        success=success_rate(plain),
        regret=_regret(results),
        levels=tuple(
            _level(level, [result for result in results if result.level == level])
            for level in sorted({result.level for result in plain})
        ),
        fault_share=success_rate(results).fault_share,
        chance=chance,
        hint=hint,
        persistence=persistence,
    )


def persistence(before: Regret, after: Regret) -> float:
    """Return the share of an earlier regret that is left after training on it, in [0, 1].

    0 if the earlier regret was not clearly positive (above two standard errors). A regret that
    comes of hidden information stays; one that comes of missing skill falls as the skill grows.

    Args:
        before: regret when the environment was new.
        after: regret of the same environment after the agent trained on it.

    Source: ours.
    """
    if before.standard_error is None or before.mean <= 2.0 * before.standard_error:
        return 0.0
    return min(1.0, max(0.0, after.mean / before.mean)) if before.mean > 0.0 else 0.0


def _level(level: int, results: Sequence[EpisodeResult]) -> LevelMeasurement:
    plain = [result for result in results if not result.hinted]
    return LevelMeasurement(
        level=level,
        success=success_rate(plain),
        regret=_regret(results),
        learnability=learnability(
            [result.success for result in plain],
            [_instance(result) for result in plain],
            valid=[result.fault is None for result in plain],
        ),
    )


def _regret(results: Sequence[EpisodeResult]) -> Regret | None:
    both = {result.update for result in results if result.hinted}
    both &= {result.update for result in results if not result.hinted}
    paired = [result for result in results if result.update in both]
    return paired_regret(
        [result.success for result in paired],
        [result.hinted for result in paired],
        [_instance(result) for result in paired],
        valid=[result.fault is None for result in paired],
    )


def _instance(result: EpisodeResult) -> tuple[int, int, int]:
    return result.level, result.seed, result.update
