"""The score `frontier`: regret corrected for luck, for hint information and for stagnation.

Plain regret has three false friends: a hint that holds the answer of an environment nobody can
solve, hints that grow fuller instead of environments harder, and hidden information that no
training replaces. Each factor below takes the pay of one of them and leaves an honest environment
at the agent's frontier alone.

Source: ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from spade_train.errors import DataError
from spade_train.measure import LevelMeasurement, Measurement
from spade_train.rewards import SuccessRate, regret_term


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierSettings:
    """Constants of the score `frontier`."""

    regret_scale: float = 0.15
    """Corrected regret that earns the full term, > 0: more hint than that pays nothing more."""
    regret_share: float = 1.0
    """Part of the score that regret decides, in [0, 1]; the rest is learnability alone."""
    feasible_success: float = 0.05
    """Success above chance, without the hint, that at least one level must show, in [0, 1]."""
    free_overlap: float = 0.25
    """Share of the solution that a hint may state without loss, in [0, 1)."""
    free_words: float = 100.0
    """Mean length of a hint that costs nothing, > 0; beyond it the score falls as 1 / length."""
    persistence_weight: float = 0.5
    """Part of the score that a regret loses which training did not move at all, in [0, 1]."""

    def __post_init__(self) -> None:
        shares = (self.regret_share, self.feasible_success, self.persistence_weight)
        if not (
            all(0.0 <= share <= 1.0 for share in shares)
            and 0.0 <= self.free_overlap < 1.0
            and self.regret_scale > 0.0
            and self.free_words > 0.0
        ):
            raise DataError(f"out of range: {self}")


def frontier_terms(
    measurement: Measurement, settings: FrontierSettings | None = None
) -> Mapping[str, float]:
    """Return the score in [0, 1] under the key `score`, and the factors that make it.

    `score = feasible x brevity x discretion x training x mean over levels of
    learnability x (1 - s + s x gain)` with

    - `feasible`: 1 if the success above chance reaches the floor on some level, else 0;
    - `learnability`: 4 p (1 - p) of success above chance, and no more than that within single
      instances where these were played repeatedly;
    - `gain`: the regret, less what the hint wins by being read without the task, as a share of
      `regret_scale` and clipped; 0 without a hint or if a gate on hints failed;
    - `discretion`: falls to 0 as the share of the solution in the hint goes to 1;
    - `brevity` and `training`: of over-long hints and of regret that training does not move.

    Levels weigh by their episodes without the hint.

    Args:
        measurement: the environment, with at least one episode without the hint.
        settings: the constants.

    Raises:
        DataError: no episode without the hint came through.
    """
    settings = settings or FrontierSettings()
    played = [level for level in measurement.levels if level.success.episodes]
    if not played:
        raise DataError(f"{measurement.env} has no episode without the hint")
    weights = [level.success.episodes for level in played]
    learnable = [_learnable(level, measurement.chance) for level in played]
    gains = [_gain(level, measurement, settings) for level in played]
    paid = [
        value * (1.0 - settings.regret_share + settings.regret_share * gain)
        for value, gain in zip(learnable, gains, strict=True)
    ]
    hint = measurement.hint
    overlap, words = (hint.overlap, hint.words) if hint else (0.0, 0.0)
    factors = {
        "feasible": float(is_feasible(measurement, settings.feasible_success)),
        "brevity": min(1.0, settings.free_words / words) if words else 1.0,
        "discretion": 1.0
        - max(0.0, overlap - settings.free_overlap) / (1.0 - settings.free_overlap),
        "training": 1.0 - settings.persistence_weight * measurement.persistence,
    }
    score = _mean(paid, weights)
    for factor in factors.values():
        score *= factor
    return {
        "score": score,
        "learnability": _mean(learnable, weights),
        "gain": _mean(gains, weights),
        **factors,
    }


def is_feasible(measurement: Measurement, floor: float = 0.05) -> bool:
    """Return whether the agent wins without the hint, above chance, on some level.

    Args:
        measurement: the environment.
        floor: success above chance that counts, in [0, 1]; none at all never does.

    Source: ours.
    """
    rates = [measurement.success, *(level.success for level in measurement.levels)]
    best = max(_above_chance(rate, measurement.chance) for rate in rates)
    return best > 0.0 and best >= floor


def _above_chance(success: SuccessRate, chance: float) -> float:
    rate = success.rate
    return max(0.0, ((0.0 if rate is None else rate) - chance) / (1.0 - chance))


def _learnable(level: LevelMeasurement, chance: float) -> float:
    episodes = level.success.episodes
    if episodes < 2:
        return 0.0
    skill = _above_chance(level.success, chance)
    pooled = min(1.0, 4.0 * skill * (1.0 - skill) * episodes / (episodes - 1))
    return pooled if level.learnability is None else min(pooled, level.learnability)


def _gain(level: LevelMeasurement, measurement: Measurement, settings: FrontierSettings) -> float:
    hint = measurement.hint
    if level.regret is None or (hint is not None and not hint.withheld):
        return 0.0
    read = hint.reader_success if hint else 0.0
    # Whoever fails the task may still win by reading the hint: 1 - (1 - success) (1 - read).
    gain = level.regret.mean - read * (1.0 - level.regret.success)
    return regret_term(gain, scale=settings.regret_scale)


def _mean(values: list[float], weights: list[int]) -> float:
    pairs = zip(values, weights, strict=True)
    return sum(value * weight for value, weight in pairs) / sum(weights)
