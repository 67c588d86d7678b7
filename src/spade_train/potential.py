"""Learning potential: moving averages of the success of each skill."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from spade_train.errors import DataError


@dataclass(frozen=True, slots=True)
class Means:
    """Moving averages of one skill's success rate, each in [0, 1]."""

    fast: float
    slow: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Potential:
    """Two moving averages per skill: a pure value, to be kept in the checkpoint.

    A mean moves by `mean <- (1 - gamma) mean + gamma rate`: gamma weighs the *new* value, as in
    the published code, so that its "slow" 0.85 forgets within two updates. Truly slow tracking
    takes a small gamma.

    Source: published implementation, learning potential (reference 5.3.4).
    """

    gamma_fast: float = 0.98
    gamma_slow: float = 0.85
    means: Mapping[str, Means] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0.0 < self.gamma_slow < self.gamma_fast <= 1.0:
            raise DataError(
                f"need 0 < gamma_slow < gamma_fast <= 1, not {self.gamma_slow}, {self.gamma_fast}"
            )

    def updated(self, rates: Mapping[str, float]) -> Potential:
        """Return the averages moved by one success rate per skill; a new skill starts at its rate.

        Raises:
            DataError: a rate lies outside [0, 1].
        """
        means = dict(self.means)
        for skill, rate in rates.items():
            if not 0.0 <= rate <= 1.0:
                raise DataError(f"the success rate of {skill} must lie in [0, 1], not {rate}")
            old = means.get(skill, Means(rate, rate))
            means[skill] = Means(
                fast=old.fast + self.gamma_fast * (rate - old.fast),
                slow=old.slow + self.gamma_slow * (rate - old.slow),
            )
        return replace(self, means=means)

    def signed(self, skill: str) -> float:
        """Return (fast - slow) / (2 (gamma_fast - gamma_slow)); 0.0 for an unknown skill.

        Positive while the agent gets better at the skill. The published learning potential, which
        is only logged, is its absolute value.
        """
        means = self.means.get(skill)
        if means is None:
            return 0.0
        return (means.fast - means.slow) / (2.0 * (self.gamma_fast - self.gamma_slow))
