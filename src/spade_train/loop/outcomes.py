"""What all processes know of one episode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spade_train.config import Config
from spade_train.rewards import agent_reward
from spade_train.rollouts.jobs import Played
from spade_train.runs import Spent
from spade_train.types import EpisodeResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One episode without its texts and tokens."""

    index: int
    result: EpisodeResult
    tokens: int
    """Tokens that the agent sampled."""
    truncated: bool
    """Whether it ran out of context."""
    malformed: bool
    """Whether a tool call could not be read."""
    solution_words: int = 0
    """Words of the instance's reference solution; 0 where it was not asked for."""

    @classmethod
    def of(cls, index: int, played: Played) -> Outcome:
        """Return what is to be known of an episode; `index` is the place of its job."""
        return cls(
            index=index,
            result=played.result,
            tokens=played.sampled_tokens,
            truncated=played.dialogue.truncated,
            malformed=played.malformed_calls > 0,
            solution_words=sum(len(action.split()) for action in played.solution),
        )

    def trained(self, config: Config) -> bool:
        """Whether it counts in a group and is trained: faults never are."""
        if not config.agent.train:
            return False
        agent, result = config.agent, self.result
        masked = (agent.mask_truncated and self.truncated) or (
            agent.mask_malformed_calls and self.malformed
        )
        arm = agent.train_hinted or not result.hinted
        return arm and result.fault is None and self.tokens > 0 and not masked

    def group(self, config: Config) -> tuple[str, ...]:
        """Return the name of the group that it is compared within."""
        result = self.result
        names = [result.env, "hinted" if result.hinted else "plain"]
        if config.agent.group != "environment":
            names.append(str(result.level))
        if config.agent.group == "instance":
            names.append(str(result.seed))
        return tuple(names)

    def reward(self, config: Config) -> float:
        """Return the agent's reward; 0.0 after a fault, where it is never read."""
        reward = agent_reward(self.result, config.agent.reward)
        return 0.0 if reward is None else reward


def cost(outcomes: Sequence[Outcome]) -> Spent:
    """Return what these episodes count in a budget; those that broke count too."""
    plain = [each for each in outcomes if not each.result.hinted]
    hinted = [each for each in outcomes if each.result.hinted]
    return Spent(
        plain_episodes=len(plain),
        hinted_episodes=len(hinted),
        plain_tokens=sum(each.tokens for each in plain),
        hinted_tokens=sum(each.tokens for each in hinted),
    )
