"""What completions took: requests, tokens and, where prices are given, money."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from spade_envs.design.clients.base import CompletionRequest
from spade_envs.errors import ConfigError
from spade_envs.types import Completion, Json

CHARS_PER_TOKEN = 4
"""Of the estimate for servers that count no tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """A sum over completions; all fields are >= 0."""

    requests: int = 0
    """Completions that came back."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    """Thinking included."""
    thinking_tokens: int = 0
    """As far as the server counts them."""
    estimated: int = 0
    """Completions without counts: their tokens are estimated, four characters each."""

    @property
    def tokens(self) -> int:
        """Tokens read and written."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Usage) -> Usage:
        sums = {e.name: getattr(self, e.name) + getattr(other, e.name) for e in fields(Usage)}
        return Usage(**sums)

    def as_json(self) -> dict[str, int]:
        """Return the fields that are not zero."""
        return {e.name: n for e in fields(Usage) if (n := getattr(self, e.name))}

    @classmethod
    def from_json(cls, value: Json) -> Usage:
        """Return the usage that `as_json` wrote; what is no count of ours counts as nothing."""
        if not isinstance(value, Mapping):
            return cls()
        known = {entry.name: value.get(entry.name) for entry in fields(cls)}
        return cls(**{name: n for name, n in known.items() if type(n) is int and n >= 0})


def usage_of(request: CompletionRequest, completion: Completion) -> Usage:
    """Return what one completion took."""
    read, written = completion.prompt_tokens, completion.completion_tokens
    if read is None:
        read = sum(len(message.content) for message in request.messages) // CHARS_PER_TOKEN
    if written is None:
        written = (len(completion.text) + len(completion.thinking)) // CHARS_PER_TOKEN
    counted = completion.prompt_tokens is not None and completion.completion_tokens is not None
    return Usage(
        requests=1,
        prompt_tokens=read,
        completion_tokens=written,
        thinking_tokens=completion.thinking_tokens or 0,
        estimated=0 if counted else 1,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a server asks, in US dollars per million tokens, >= 0."""

    read: float
    written: float

    @classmethod
    def parse(cls, text: str) -> Price:
        """Read such as `in=0.15,out=0.6`.

        Raises:
            ConfigError: the text is of another form.
        """
        mend = f"--price {text!r}: write dollars per million tokens, such as in=0.15,out=0.6"
        found = read_pairs(text, mend)
        if set(found) != {"in", "out"}:
            raise ConfigError(mend)
        return cls(read=found["in"], written=found["out"])

    def cost(self, usage: Usage) -> float:
        """Return what a usage costs, in US dollars."""
        return (usage.prompt_tokens * self.read + usage.completion_tokens * self.written) / 1e6


def read_pairs(text: str, mend: str) -> dict[str, float]:
    """Return the numbers of `name=number,name=number`.

    Raises:
        ConfigError: with `mend`, if it is not of this form, names a thing twice, or a number is
            negative or infinite.
    """
    found: dict[str, float] = {}
    for part in text.split(","):
        name, equals, number = (piece.strip() for piece in part.partition("="))
        try:
            value = float(number)
        except ValueError:
            raise ConfigError(mend) from None
        if not equals or name in found or not 0 <= value < float("inf"):
            raise ConfigError(mend)
        found[name] = value
    return found
