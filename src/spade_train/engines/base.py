"""What every sampling engine does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleRequest:
    """One turn to sample."""

    key: str
    """Name of the conversation. An engine may keep what it computed of it until `forget`."""
    ids: tuple[int, ...]
    """All tokens of the conversation so far, at least one; they extend those of its last request
    and of what was sampled then."""
    seed: int
    """Decides the draw: the same tokens and seed give the same turn, whatever else is sampled."""
    max_tokens: int
    """Tokens to sample at most, >= 1."""
    temperature: float = 1.0
    """>= 0; 0 takes the likeliest token."""
    top_p: float = 1.0
    """In (0, 1]; 1 draws from all tokens."""
    top_k: int = 0
    """>= 0; 0 draws from all tokens."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """The tokens of one turn."""

    ids: tuple[int, ...]
    """As sampled, with the end token if the model ended by itself."""
    logprobs: tuple[float, ...]
    """Of each token under softmax(logits / temperature) before any cut by `top_p` or `top_k`; with
    temperature 0, under softmax(logits)."""


class Engine(Protocol):
    """Samples turns of many conversations at once."""

    def sample(self, requests: Sequence[SampleRequest]) -> list[Sampled]:
        """Return one turn per request, in order; it ends at a stop token or at `max_tokens`.

        Raises:
            EngineError: the engine cannot answer.
        """
        ...

    def forget(self, keys: Iterable[str]) -> None:
        """Drop what is kept of these conversations; unknown ones are passed over."""
        ...

    def sync(self, update: int) -> None:
        """Sample from the trainer's weights as they are now.

        Args:
            update: number of the update that will train on what is sampled, from 0.

        Raises:
            EngineError: the weights cannot be handed over.
        """
        ...

    def close(self) -> None:
        """Release the model, processes and connections; calling it twice does no harm."""
        ...
