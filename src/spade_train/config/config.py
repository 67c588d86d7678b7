"""The whole configuration, and what only several sections together can get wrong."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from spade_envs.types import COGNITIVE_SKILLS, TOOL_SKILLS
from spade_train.config.base import Section, Text, wrong
from spade_train.config.learning import Budget, Evaluation, Health, Loss, Optimizer
from spade_train.config.machine import Model, Rollout, Run, Sinks
from spade_train.config.roles import Agent, Designer, Hint
from spade_train.config.sources import Corpus, Gates, Levels, Memory, Pool

_SKILLS = {
    "games": frozenset(COGNITIVE_SKILLS),
    "tools": frozenset(TOOL_SKILLS),
    "mixed": frozenset((*COGNITIVE_SKILLS, *TOOL_SKILLS)),
}


class Config(Section):
    """Everything that decides what a run does."""

    name: Text = Field(default="run", min_length=1)
    derived_from: tuple[Text, ...] = ()
    """The preset and overlays that it was made of: a label, all values are below."""
    setting: Literal["games", "tools", "mixed"] = "mixed"
    """Whether environments are text games, tool use, or both."""
    run: Run = Run()
    model: Model = Model()
    designer: Designer = Designer()
    agent: Agent = Agent()
    hint: Hint = Hint()
    corpus: Corpus = Corpus()
    memory: Memory = Memory()
    gates: Gates = Gates()
    pool: Pool = Pool()
    levels: Levels = Levels()
    rollout: Rollout = Rollout()
    optimizer: Optimizer = Optimizer()
    loss: Loss = Loss()
    budget: Budget = Budget()
    evaluation: Evaluation = Evaluation()
    health: Health = Health()
    sinks: Sinks = Sinks()

    @model_validator(mode="after")
    def _check(self) -> Self:
        designer, pooled = self.designer, self.pool.source != "none"
        strangers = [skill for skill in designer.skills if skill not in _SKILLS[self.setting]]
        if strangers:
            raise wrong(
                "designer.skills", f'{strangers[0]} is no skill of setting = "{self.setting}"'
            )
        if pooled and designer.interval:
            raise wrong(
                "designer.interval",
                "must be 0 where environments come from a pool; the overlay fixed-pool sets it, "
                "and what goes with it",
            )
        if not pooled and not designer.interval:
            raise wrong("designer.interval", "must be > 0, or name a pool in pool.source")
        if designer.train and designer.score.needs_regret and not self.hint.episodes_per_env:
            raise wrong(
                "hint.episodes_per_env",
                f"the score {designer.score.name} needs regret, so it must be > 0",
            )
        if self.evaluation.source == "pool" and self.pool.source in ("none", "designer"):
            raise wrong("evaluation.source", '"pool" needs a store in pool.source')
        if self.hint.replay_episodes and not 1 < designer.interval <= designer.delay + 1:
            raise wrong(
                "hint.replay_episodes",
                "needs designer.interval > 1, and designer.delay >= interval - 1, so that the "
                "score waits for them",
            )
        longest = self.agent.max_context_tokens
        for key, role in (("agent", self.agent.sampling), ("designer", designer.sampling)):
            if role.max_tokens > longest:
                raise wrong(
                    f"{key}.sampling.max_tokens",
                    f"must not exceed agent.max_context_tokens = {longest}",
                )
        if isinstance(self.loss.designer_share, float) and not 0 <= self.loss.designer_share <= 1:
            raise wrong("loss.designer_share", 'must lie in [0, 1], or be "by-samples"')
        return self

    @property
    def episodes_per_update(self) -> int:
        """Episodes without the hint that one update trains on: the published batch size."""
        return self.designer.environments * self.agent.episodes_per_env

    @property
    def planned_episodes(self) -> int:
        """Agent episodes of the whole run if nothing fails, those with the hint included."""
        run, designer = self.run.updates, self.designer
        phases = -(-run // designer.interval) if designer.interval else 0
        hinted = phases * designer.environments * self.hint.episodes_per_env
        if designer.interval:
            replays = run // designer.interval
            hinted += replays * designer.environments * self.hint.replay_episodes
        return run * self.episodes_per_update + hinted
