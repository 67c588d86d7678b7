"""The few statistics that the gates report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spade_envs.intervals import wilson
from spade_envs.types import Json


@dataclass(frozen=True, slots=True)
class Rate:
    """A measured rate: successes, trials, and the mean of the scores."""

    successes: int
    trials: int
    mean: float
    """Mean score in [0, 1]; equals successes / trials if every score is 0 or 1."""

    @classmethod
    def of(cls, scores: Sequence[float]) -> Rate:
        """Return the rate of `scores`, each in [0, 1]; a score above 0.5 is a success."""
        wins = sum(score > 0.5 for score in scores)
        return cls(wins, len(scores), sum(scores) / len(scores) if scores else 0.0)

    def surely_above(self, limit: float) -> bool:
        """Whether the mean is above `limit` by more than luck: the lower end of its interval is.

        Scores between 0 and 1 vary less than wins and losses of the same mean, so that the Wilson
        interval is wide enough for them.
        """
        return wilson(min(1.0, self.mean) * self.trials, self.trials)[0] > limit

    def as_json(self) -> dict[str, Json]:
        """Return the rate with its 95 % Wilson interval as plain JSON."""
        low, high = wilson(self.successes, self.trials)
        return {
            "mean": round(self.mean, 4),
            "successes": self.successes,
            "trials": self.trials,
            "wilson_95": [round(low, 4), round(high, 4)],
        }
