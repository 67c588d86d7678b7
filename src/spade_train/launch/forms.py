"""How each role's conversations are written with the tokenizer of a model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from spade_train.config import Config
from spade_train.config.roles import Sampling
from spade_train.errors import TemplateError
from spade_train.tokens import ChatFormat, Window


@dataclass(frozen=True, slots=True)
class Forms:
    """The format of each kind of conversation, and where sampling stops."""

    agent: ChatFormat
    designer: ChatFormat
    hint: ChatFormat

    @property
    def stops(self) -> frozenset[int]:
        """Tokens that end a turn of any of them."""
        return self.agent.stops | self.designer.stops | self.hint.stops


def forms_of(config: Config, model: Any, tokenizer: Any) -> Forms:
    """Return the formats of a model for a configuration.

    Raises:
        TemplateError: the chat template rewrites earlier turns, or thinking is asked for and it
            has no switch.
    """
    ends = _ends(model)

    def form(sampling: Sampling) -> ChatFormat:
        window = Window(
            tokens=config.agent.max_context_tokens,
            turn_tokens=sampling.max_tokens,
        )
        if sampling.thinking:
            return ChatFormat.of(tokenizer, window=window, thinking=True, stops=ends)
        try:
            return ChatFormat.of(tokenizer, window=window, thinking=False, stops=ends)
        except TemplateError:  # most templates have no switch, and no need of one
            return ChatFormat.of(tokenizer, window=window, stops=ends)

    return Forms(
        form(config.agent.sampling), form(config.designer.sampling), form(config.hint.sampling)
    )


def _ends(model: Any) -> Iterable[int]:
    """Return the end tokens of the model's generation settings."""
    settings = getattr(model, "generation_config", None)
    ends = getattr(settings, "eos_token_id", None)
    if ends is None:
        return ()
    return (int(ends),) if isinstance(ends, int) else tuple(int(each) for each in ends)
