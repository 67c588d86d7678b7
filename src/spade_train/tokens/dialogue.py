"""`Dialogue`: the tokens of one conversation, which are only ever appended to."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from spade_envs.errors import ConfigError
from spade_train.errors import DataError
from spade_train.types import Bools, Floats, Ints


@dataclass(frozen=True, slots=True)
class Segment:
    """A run of tokens of one origin."""

    ids: tuple[int, ...]
    logprobs: tuple[float, ...] | None = None
    """Log-probability of each token under the policy that sampled it; None if nobody sampled them:
    the prompt, what the environment said, what the template wrote."""

    def __post_init__(self) -> None:
        if self.logprobs is None:
            return
        if len(self.logprobs) != len(self.ids):
            raise DataError(f"{len(self.logprobs)} log-probabilities for {len(self.ids)} tokens")
        if not np.all(np.isfinite(self.logprobs)):
            raise DataError("the log-probability of a sampled token must be finite")

    @property
    def is_sampled(self) -> bool:
        """Whether the policy sampled these tokens, so that they are trained."""
        return self.logprobs is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """How many tokens a dialogue may have."""

    tokens: int
    """Tokens of the whole dialogue, >= 1: what the model takes."""
    turn_tokens: int
    """Tokens sampled in one turn at most, >= 1."""
    least_tokens: int = 1
    """A turn with less room than this is not begun, >= 1; the published recipe has 64."""

    def __post_init__(self) -> None:
        if min(self.tokens, self.turn_tokens, self.least_tokens) < 1:
            raise ConfigError(f"tokens, turn_tokens and least_tokens must be >= 1, not {self}")


@dataclass(frozen=True, slots=True)
class Dialogue:
    """The tokens of one conversation: first the prompt, then turns and replies in alternation."""

    segments: tuple[Segment, ...]
    truncated: bool = False
    """True if the next turn had no room in the window. Nothing was cut off: the dialogue ends with
    the last tokens that fitted."""

    def __len__(self) -> int:
        return sum(len(segment.ids) for segment in self.segments)

    @property
    def ids(self) -> Ints:
        """All tokens, int64 of shape `(len(self),)`."""
        return np.array([i for segment in self.segments for i in segment.ids], dtype=np.int64)

    @property
    def mask(self) -> Bools:
        """Which tokens were sampled and are trained, shape `(len(self),)`."""
        flags = [segment.is_sampled for segment in self.segments]
        return np.repeat(np.array(flags, dtype=np.bool_), [len(s.ids) for s in self.segments])

    @property
    def logprobs(self) -> Floats:
        """Log-probabilities of the sampled tokens and 0 elsewhere, shape `(len(self),)`."""
        values = [s.logprobs or (0.0,) * len(s.ids) for s in self.segments]
        return np.array([value for part in values for value in part], dtype=np.float64)

    @property
    def prompt_tokens(self) -> int:
        """Number of tokens before the first turn."""
        return len(self.segments[0].ids) if self.segments else 0

    @property
    def turns(self) -> tuple[tuple[int, int], ...]:
        """Start and end of each sampled turn in `ids`, the end exclusive."""
        spans, start = [], 0
        for segment in self.segments:
            stop = start + len(segment.ids)
            if segment.is_sampled:
                spans.append((start, stop))
            start = stop
        return tuple(spans)

    @property
    def sampled_tokens(self) -> int:
        """Number of tokens that the policy sampled, for budgets."""
        return sum(len(segment.ids) for segment in self.segments if segment.is_sampled)

    @property
    def awaits_turn(self) -> bool:
        """Whether the policy is to speak next."""
        return bool(self.segments) and not self.segments[-1].is_sampled and not self.truncated

    def room(self, window: Window) -> int:
        """Return how many tokens may be sampled now; 0 if it is not the policy's turn."""
        if not self.awaits_turn:
            return 0
        left = min(window.turn_tokens, window.tokens - len(self))
        return left if left >= window.least_tokens else 0

    def append(self, segment: Segment) -> Dialogue:
        """Return the dialogue with one more segment.

        Raises:
            DataError: the dialogue was truncated; the segment is empty; or it is not its turn,
                since sampled and other segments alternate.
        """
        if self.truncated:
            raise DataError("the dialogue is truncated; nothing may follow")
        if not segment.ids:
            raise DataError("a segment holds at least one token")
        if not self.segments and segment.is_sampled:
            raise DataError("a dialogue begins with a prompt")
        if self.segments and self.segments[-1].is_sampled == segment.is_sampled:
            raise DataError(
                "turns and replies alternate; two of one kind may not follow each other"
            )
        return replace(self, segments=(*self.segments, segment))

    def truncate(self) -> Dialogue:
        """Return the dialogue marked as out of room."""
        return replace(self, truncated=True)

    def extends(self, earlier: Dialogue) -> bool:
        """Whether the segments of `earlier` are the first ones of this dialogue."""
        return self.segments[: len(earlier.segments)] == earlier.segments
