"""Which tokens may be drawn at all: the likeliest few, or those of the greatest part."""

from __future__ import annotations

from dataclasses import dataclass

from spade_envs.errors import ConfigError
from spade_envs.types import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Cuts:
    """Limits of sampling, the number first, then the part of what is left.

    Raises:
        ConfigError: a limit is out of range.
    """

    top_p: float | None = None
    """In (0, 1]; None draws from all tokens."""
    top_k: int | None = None
    """>= 1; None draws from all tokens."""

    def __post_init__(self) -> None:
        if self.top_p is not None and not 0.0 < self.top_p <= 1.0:
            raise ConfigError(f"top_p must be in (0, 1], not {self.top_p}")
        if self.top_k is not None and self.top_k < 1:
            raise ConfigError(f"top_k must be >= 1, not {self.top_k}")

    def fields(self) -> dict[str, Json]:
        """Return those that are set, as servers and vLLM name them."""
        named = {"top_p": self.top_p, "top_k": self.top_k}
        return {name: value for name, value in named.items() if value is not None}
