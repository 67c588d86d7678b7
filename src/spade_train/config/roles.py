"""Sections about the roles: designer and its score, agent, hints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Literal, Self

from pydantic import Field, model_validator

from spade_envs.design.modes import skills_of
from spade_envs.types import COGNITIVE_SKILLS, Mode, Skill
from spade_train.config.base import Above0, Amount, Count, Positive, Section, Share, Text, wrong
from spade_train.frontier import FrontierSettings
from spade_train.potential import Potential
from spade_train.scores import ScoreName, ScoreSettings

Untrained = Literal["untrained"]


class Sampling(Section):
    """How a role writes."""

    temperature: Amount = 1.0
    """At least 0.001, or 0, which takes the likeliest token each time."""
    top_p: float = Field(default=1.0, gt=0.0, le=1.0)
    """Share of the probability that is sampled from; 1 is all of it."""
    top_k: Count = 0
    """Likeliest tokens that are sampled from; 0 is all of them."""
    max_tokens: Positive = 4096
    """Most tokens of one message."""
    thinking: bool = False
    """Whether a model with a thinking mode thinks before it answers."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        # Logits are divided by it in single precision, in which a smaller one may well be 0.
        if 0.0 < self.temperature < 0.001:
            raise wrong("temperature", "must be 0, for the likeliest token, or at least 0.001")
        return self


class Frontier(Section):
    """Constants of the score `frontier`; see docs/training-maths.md."""

    regret_scale: Above0 = 0.15
    regret_share: Share = 1.0
    feasible_success: Share = 0.05
    free_overlap: float = Field(default=0.25, ge=0.0, lt=1.0)
    free_words: Above0 = 100.0
    persistence_weight: Share = 0.5


class Score(Section):
    """What a completion of the designer earns."""

    name: ScoreName = "blend"
    regret_weight: Amount = 0.4
    plateau_weight: Amount = 0.6
    regret_scale: Above0 = 0.15
    """Regret that earns the full term of `blend`."""
    band_low: Share = 0.4
    """Least success rate that earns the full plateau."""
    band_high: Share = 0.6
    """Greatest success rate that earns the full plateau."""
    band_ramp: Above0 = 0.25
    """Width of the slopes on both sides of the band."""
    shrink: bool = False
    """Whether a regret is drawn to 0 by what noise explains."""
    guard: bool = True
    """Whether regret counts only for feasible environments with hints that passed their gates."""
    published_order: bool = False
    """Whether `learning_potential` moves its averages before it reads them."""
    invalid_score: float | Untrained = -0.5
    """Score of a refused program; "untrained" leaves it out of the loss."""
    fault_score: float | Untrained = -0.5
    """Score of an environment that breaks too often; "untrained" leaves it out of the loss."""
    max_fault_share: Share = 0.1
    """Broken episodes per episode that are forgiven."""
    gamma_fast: Share = 0.98
    """Weight of the new value in the fast average of `learning_potential`."""
    gamma_slow: Share = 0.85
    """The same in the slow one."""
    frontier: Frontier = Frontier()

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.band_low > self.band_high:
            raise wrong("band_low", f"must not exceed band_high = {self.band_high}")
        if not 0.0 < self.gamma_slow < self.gamma_fast:
            raise wrong("gamma_slow", f"must lie between 0 and gamma_fast = {self.gamma_fast}")
        return self

    @property
    def needs_regret(self) -> bool:
        """Whether the score reads the regret at all."""
        return self.name in ("regret", "frontier") or (
            self.name == "blend" and self.regret_weight > 0.0
        )

    def settings(self) -> ScoreSettings:
        """Return the constants as the maths takes them."""
        values = {key: getattr(self, key) for key in asdict(ScoreSettings())}
        values["frontier"] = FrontierSettings(**self.frontier.model_dump())
        for key in ("invalid_score", "fault_score"):
            values[key] = None if values[key] == "untrained" else values[key]
        return ScoreSettings(**values)

    def potential(self) -> Potential:
        """Return moving averages that hold nothing yet."""
        return Potential(gamma_fast=self.gamma_fast, gamma_slow=self.gamma_slow)


class Designer(Section):
    """Who writes environments, when, and how that is trained."""

    train: bool = True
    """Whether the designer's completions are trained on."""
    weights: Literal["current", "initial"] = "current"
    """Whether the weights in training write, or for ever those that the run began with."""
    interval: Count = 4
    """Updates from one design phase to the next; 0 designs nothing."""
    delay: Count = 4
    """Updates between writing a program and training on it."""
    environments: Positive = 24
    """Environments that an update plays; a design phase writes as many."""
    completions_per_brief: Positive = 1
    """Completions of one brief; more than 1 makes a group proper."""
    attempts: Positive = 1
    """Briefs tried for one environment until a program is accepted."""
    repair_turns: Count = 0
    """Times that a refused program goes back to the designer with the evidence."""
    fallback: Text = Field(default="none", min_length=1)
    """What is played as long as no program was accepted: `starter`, the bundled store; the path of
    a store; `none` plays nothing. For models that rarely write a valid program."""
    skills: tuple[Skill, ...] = COGNITIVE_SKILLS
    skills_per_epoch: Count = 0
    """Skills of one design phase, in rotation; 0 takes all."""
    modes: tuple[Mode, ...] = ()
    """Sorts of design to ask for in turn (docs/briefs.md); none leaves it to the skill. Those that
    are made of earlier environments take them from the run's memory."""
    challenge: Literal["easy", "medium", "hard", "mixed"] = "medium"
    """How hard the brief asks the environment to be."""
    baseline: Literal["skill", "brief"] = "skill"
    """What a score is compared with: its skill's mean, or its brief's other completions."""
    gain: Above0 | Literal["role"] = "role"
    """Factor on the advantages; "role" makes up for the rarity of designer samples."""
    gain_cap: Above0 = 50.0
    """Greatest gain under "role"."""
    sampling: Sampling = Sampling(temperature=0.7, max_tokens=8192)
    score: Score = Score()

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.skills or len(set(self.skills)) < len(self.skills):
            raise wrong("skills", "name at least one skill, and none twice")
        _check_modes(self.modes, self.skills)
        if self.train and self.interval == 0:
            raise wrong("train", "nothing is designed with interval = 0; set train = false too")
        if self.train and self.weights == "initial":
            raise wrong(
                "weights", 'initial weights are never trained; set train = false or "current"'
            )
        if self.baseline == "brief" and self.completions_per_brief < 2:
            raise wrong(
                "completions_per_brief",
                'baseline = "brief" needs at least 2 completions of a brief',
            )
        if self.environments % self.completions_per_brief:
            raise wrong("completions_per_brief", f"must divide environments = {self.environments}")
        return self


def _check_modes(modes: Sequence[Mode], skills: Sequence[Skill]) -> None:
    if len(set(modes)) < len(modes):
        raise wrong("modes", "name none twice")
    for skill in skills:
        if modes and not any(skill in skills_of(mode) for mode in modes):
            raise wrong("modes", f"none of them exercises {skill.value}; add one, or leave it out")


class Agent(Section):
    """Who plays the environments, and what is trained of it."""

    train: bool = True
    """Whether the agent's episodes are trained on."""
    weights: Literal["current", "initial"] = "current"
    """Who plays: the weights in training, or for ever those that the run began with."""
    episodes_per_env: Positive = 8
    """Episodes without the hint of each environment in each update."""
    reward: Literal["success", "return"] = "success"
    """The success flag, or the return clipped to [-1, 1]."""
    group: Literal["environment", "level", "instance"] = "environment"
    """What an episode is compared with: its environment's episodes, those of its level, or those of
    its instance."""
    episodes_per_instance: Positive = 1
    """Episodes of one level and seed within an update."""
    train_hinted: bool = False
    """Whether episodes with the hint are trained on too, in groups of their own."""
    max_turns: Positive = 25
    """Turns at most, whatever an environment allows."""
    max_context_tokens: Positive = 32768
    """Tokens of a whole episode, prompt and replies; a longer one is truncated."""
    mask_truncated: bool = False
    """Whether episodes that ran out of context are left out of the loss."""
    mask_malformed_calls: bool = False
    """Whether episodes with a tool call that cannot be read are left out of the loss."""
    sampling: Sampling = Sampling()

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.train and self.weights == "initial":
            raise wrong(
                "weights", 'initial weights are never trained; set train = false or "current"'
            )
        if self.episodes_per_env % self.episodes_per_instance:
            raise wrong(
                "episodes_per_instance", f"must divide episodes_per_env = {self.episodes_per_env}"
            )
        if self.group == "instance" and self.episodes_per_instance < 2:
            raise wrong("episodes_per_instance", 'group = "instance" needs at least 2')
        return self


class Hint(Section):
    """Privileged help: who writes it and how often it is played."""

    writer: Literal["environment", "policy"] = "environment"
    """The environment's own `hint()`, or the policy after it has read the source."""
    episodes_per_env: Count = 8
    """Episodes with the hint of each new environment, at its design update."""
    replay_episodes: Count = 0
    """Episodes with the hint of each environment at the last update before new ones come: the score
    `frontier` pays less for a regret that training left standing."""
    sampling: Sampling = Sampling(temperature=0.3, max_tokens=2048)
    """Of the policy, when it writes hints."""
