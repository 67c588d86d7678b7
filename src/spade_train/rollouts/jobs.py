"""What is asked of a rollout and what comes of it: frozen values without a model in them."""

from __future__ import annotations

from dataclasses import dataclass

from spade_envs.types import Brief, EnvSource, Episode, RejectionStage
from spade_train.tokens import Dialogue
from spade_train.types import EpisodeResult, HintInformation


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeJob:
    """One episode to play."""

    key: str
    """Name of the conversation, unique in the run."""
    env: str
    """Digest of the environment."""
    level: int
    seed: int
    """Of the instance; both arms of a regret play the same ones."""
    hinted: bool
    sample_seed: int
    """Of the agent's tokens."""
    update: int
    """Number of the update whose weights act, from 0."""
    hint: str | None = None
    """A hint that the policy wrote; None takes the environment's own if `hinted`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """A finished episode with the tokens that it is trained on."""

    job: EpisodeJob
    result: EpisodeResult
    dialogue: Dialogue
    """Of an episode with a fault, what there was until then; it is never trained."""
    episode: Episode
    """The texts, for transcripts."""
    hint: str = ""
    """What the agent was shown; empty in the arm without."""
    solution: tuple[str, ...] = ()
    """The reference's actions for this instance, in the arm with the hint; empty if it has none."""
    malformed_calls: int = 0
    """Turns whose tool calls could not be read."""

    @property
    def sampled_tokens(self) -> int:
        """Tokens that the agent sampled."""
        return self.dialogue.sampled_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignJob:
    """One program to write."""

    key: str
    """Name of the conversation, unique in the run."""
    brief: Brief
    brief_key: str
    """Name of the brief; completions of one brief form a group."""
    sample_seed: int
    """Of the designer's tokens."""
    update: int
    """Number of the update whose weights write, from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Designed:
    """What came of a design job: an environment in the store, or a refusal."""

    job: DesignJob
    dialogue: Dialogue
    """With all turns, repairs included."""
    text: str
    """The last completion."""
    env: str | None = None
    """Digest of the environment in the run's store; None if it was refused."""
    source: EnvSource | None = None
    """The program; None if none could be read."""
    stage: RejectionStage | None = None
    """Where it was refused; None if it was not."""
    reason: str = ""
    """Why it was refused, such as `L1.3` or what could not be parsed."""
    hints_withheld: bool = True
    """Whether the gates on hints (L4.1, L4.2) passed."""
    levels: int = 0
    """Levels of the environment, 0 if it was refused."""
    chance: float = 0.0
    """Success rate of the best policy that does not read the task, in [0, 1); from the gates."""
    hint: HintInformation | None = None
    """How much its hints give away; None if it was refused or has none."""
    title: str = ""
    summary: str = ""
    """First line of the environment's docstring."""
