"""What a rollout is told, and how it follows from the configuration."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from spade_envs.gates.subject import Depth
from spade_train.config import Config
from spade_train.config.roles import Sampling
from spade_train.errors import TemplateError
from spade_train.tokens import ChatFormat, ChatTokenizer, Window

_LEAST = 16
"""Tokens of room without which no further turn is begun, or the most of a turn if that is less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoding:
    """How tokens are drawn; see `engines.SampleRequest`."""

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0

    @classmethod
    def of(cls, sampling: Sampling) -> Decoding:
        """Return the decoding of a role."""
        return cls(temperature=sampling.temperature, top_p=sampling.top_p, top_k=sampling.top_k)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActSettings:
    """How episodes are played."""

    decoding: Decoding = Decoding()
    max_turns: int = 25
    """Turns at most, whatever an environment allows, >= 1."""
    live_episodes: int = 256
    """Episodes in play at once, >= 1; results do not depend on it."""
    workers: int = 1
    """Environments that step at once, >= 1."""
    native_tools: bool = True
    """Whether tools go through the chat template where it has a place for them."""

    @classmethod
    def of(cls, config: Config) -> ActSettings:
        """Return the settings of a run."""
        return cls(
            decoding=Decoding.of(config.agent.sampling),
            max_turns=config.agent.max_turns,
            live_episodes=config.rollout.live_episodes,
            workers=workers_of(config),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignSettings:
    """How programs are written and checked."""

    decoding: Decoding = Decoding(temperature=0.7)
    repair_turns: int = 0
    """Times that a refused program goes back with the evidence."""
    depth: Depth = "standard"
    """Of the gates; what passed `quick` is not certified and not published."""
    timeout_s: float = 120.0
    """Time for all gates of one program."""
    novelty: bool = True
    """Whether the same program in other words is refused, too."""
    workers: int = 1
    """Programs that are checked at once, >= 1."""
    together: int = 32
    """Programs that are sampled together, >= 1; the gates of the first ones run meanwhile."""
    run: str = "run"
    """Name of the run, for the provenance."""
    model: str = "policy"
    """Name of the model, for the provenance."""
    licence: str = "MIT"
    """SPDX identifier of what is published."""

    @classmethod
    def of(cls, config: Config, *, run: str) -> DesignSettings:
        """Return the settings of a run."""
        depth: Depth = "standard" if config.gates.depth == "default" else config.gates.depth
        return cls(
            decoding=Decoding.of(config.designer.sampling),
            repair_turns=config.designer.repair_turns,
            depth=depth,
            timeout_s=config.gates.timeout_s,
            novelty=config.gates.novelty,
            workers=workers_of(config),
            run=run,
            model=config.model.path,
        )


def workers_of(config: Config) -> int:
    """Return how many sandboxes work at once: as configured, or one per core."""
    return config.rollout.workers or len(os.sched_getaffinity(0))


def format_of(
    tokenizer: ChatTokenizer, config: Config, sampling: Sampling, *, stops: Iterable[int] = ()
) -> ChatFormat:
    """Return the chat format of a role.

    Args:
        tokenizer: of the model.
        config: of the run; `agent.max_context_tokens` bounds every conversation.
        sampling: of the role.
        stops: further end tokens, such as those of the model's generation settings.

    Raises:
        TemplateError: the chat template cannot be used, or has no switch for thinking that is
            asked for.
    """
    window = Window(
        tokens=config.agent.max_context_tokens,
        turn_tokens=sampling.max_tokens,
        least_tokens=min(_LEAST, sampling.max_tokens),
    )
    wanted = tuple(stops)
    try:
        return ChatFormat.of(tokenizer, window=window, thinking=sampling.thinking, stops=wanted)
    except TemplateError:
        if sampling.thinking:
            raise
        return ChatFormat.of(tokenizer, window=window, stops=wanted)
