"""The text space of every environment here.

Gymnasium's own `Text` accepts only characters of a finite charset (by default without the space
character), so ordinary sentences lie outside it. `AnyText` accepts every `str` up to a length.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import gymnasium as gym
import numpy as np

_WORDS = ("left", "right", "look", "yes", "no", "take", "open", "north", "7", "42", "0.5", "ok")


class AnyText(gym.Space[str]):
    """A space that holds every `str` of at most `max_length` characters, the empty one included.

    Args:
        max_length: greatest number of characters (code points), >= 0.
        seed: seed of `sample()`.
    """

    def __init__(
        self, max_length: int = 1_000_000, seed: int | np.random.Generator | None = None
    ) -> None:
        if max_length < 0:
            raise ValueError(f"max_length must be >= 0, not {max_length}")
        self.max_length = int(max_length)
        super().__init__(dtype=str, seed=seed)

    @property
    def is_np_flattenable(self) -> bool:
        """False: text has no fixed-size array form."""
        return False

    def sample(self, mask: Any | None = None, probability: Any | None = None) -> str:
        """Return a few random words; masks are not supported.

        Raises:
            ValueError: a mask or probability was given.
        """
        if mask is not None or probability is not None:
            raise ValueError("AnyText.sample takes neither mask nor probability")
        count = int(self.np_random.integers(1, 5))
        words = [_WORDS[int(i)] for i in self.np_random.integers(0, len(_WORDS), size=count)]
        return " ".join(words)[: self.max_length]

    def contains(self, x: Any) -> bool:
        """Whether `x` is a `str` that fits."""
        return isinstance(x, str) and len(x) <= self.max_length

    def to_jsonable(self, sample_n: Iterable[str]) -> list[str]:
        """Return the samples as a JSON list."""
        return list(sample_n)

    def from_jsonable(self, sample_n: list[Any]) -> list[str]:
        """Return the samples read back from JSON."""
        return [str(sample) for sample in sample_n]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AnyText) and self.max_length == other.max_length

    def __hash__(self) -> int:
        return hash((AnyText, self.max_length))

    def __repr__(self) -> str:
        return f"AnyText({self.max_length})"
