"""What a run has spent, so that different ways of training are compared at equal cost."""

from __future__ import annotations

from dataclasses import dataclass, fields

from spade_train.config.learning import Budget
from spade_train.errors import DataError


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Episodes and sampled tokens so far: a pure value for the checkpoint.

    Evaluation is not counted. Everything else is: the hinted arm, hint writing, refused programs,
    and episodes that an environment broke.
    """

    plain_episodes: int = 0
    hinted_episodes: int = 0
    completions: int = 0
    """Programs that the designer wrote, refused ones too."""
    plain_tokens: int = 0
    hinted_tokens: int = 0
    designer_tokens: int = 0
    hint_tokens: int = 0
    """Tokens of the hints themselves, where the policy writes them, and of its remarks."""

    def __post_init__(self) -> None:
        if min(getattr(self, each.name) for each in fields(self)) < 0:
            raise DataError(f"what was spent is >= 0: {self}")

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            **{
                each.name: getattr(self, each.name) + getattr(other, each.name)
                for each in fields(self)
            }
        )

    @property
    def agent_episodes(self) -> int:
        """Episodes of both arms: what `budget.agent_episodes` limits."""
        return self.plain_episodes + self.hinted_episodes

    @property
    def generated_tokens(self) -> int:
        """Sampled tokens of all kinds: what `budget.generated_tokens` limits."""
        return self.plain_tokens + self.hinted_tokens + self.designer_tokens + self.hint_tokens

    def reached(self, budget: Budget) -> str:
        """Return the limit that is reached, such as `agent_episodes`; empty if none is."""
        for key in ("agent_episodes", "generated_tokens"):
            limit = getattr(budget, key)
            if limit and getattr(self, key) >= limit:
                return key
        return ""

    def share(self, budget: Budget) -> float:
        """Return the part of the budget that is spent, >= 0, by the limit nearest to its end."""
        limits = (
            (self.agent_episodes, budget.agent_episodes),
            (self.generated_tokens, budget.generated_tokens),
        )
        return max((spent / limit for spent, limit in limits if limit), default=0.0)

    def as_budget(self) -> Budget:
        """Return the budget under which another run may spend as much as this one did."""
        return Budget(agent_episodes=self.agent_episodes, generated_tokens=self.generated_tokens)
