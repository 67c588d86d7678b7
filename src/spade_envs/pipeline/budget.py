"""How much a run may take, and whether that covers one more attempt."""

from __future__ import annotations

from dataclasses import dataclass

from spade_envs.design.clients import CompletionRequest, Price, Usage
from spade_envs.design.clients.usage import CHARS_PER_TOKEN, read_pairs
from spade_envs.errors import ConfigError

_NAMES = ("tokens", "usd", "minutes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Limits of a run; None for no limit, else > 0."""

    tokens: float | None = None
    """Tokens read and written, over all processes that worked on the run."""
    usd: float | None = None
    """US dollars, over all processes; needs a price."""
    minutes: float | None = None
    """Of this process."""

    @classmethod
    def parse(cls, texts: tuple[str, ...]) -> Budget:
        """Read such as `tokens=2e6`, `usd=5,minutes=90`.

        Raises:
            ConfigError: a text is of another form, or a thing is limited twice or to nothing.
        """
        joined = ",".join(texts)
        mend = f"--budget {joined!r}: write one or more of tokens=N, usd=N and minutes=N"
        found = read_pairs(joined, mend) if texts else {}
        if not set(found) <= set(_NAMES) or not all(found.values()):
            raise ConfigError(mend)
        return cls(**found)

    @property
    def limited(self) -> bool:
        """Whether there is any limit."""
        return any(getattr(self, name) is not None for name in _NAMES)

    def spent(
        self, used: Usage, reserved: Usage, price: Price | None, elapsed_s: float
    ) -> str | None:
        """Return which limit leaves no room for more, or None.

        Args:
            used: by the answers that came so far.
            reserved: what attempts under way and the next one may take at most.
            price: of tokens.
            elapsed_s: since this process began.
        """
        total = used + reserved
        if self.tokens is not None and total.tokens > self.tokens:
            return "tokens"
        if self.usd is not None and price is not None and price.cost(total) > self.usd:
            return "usd"
        if self.minutes is not None and elapsed_s >= 60 * self.minutes:
            return "minutes"
        return None


def most(request: CompletionRequest, turns: int) -> Usage:
    """Return what a request and its repairs may take at most, by an estimate of its prompt."""
    read = sum(len(message.content) for message in request.messages) // CHARS_PER_TOKEN
    # Each repair reads the chat before it, the answer included.
    reads = sum(read + turn * request.max_tokens for turn in range(turns + 1))
    return Usage(prompt_tokens=reads, completion_tokens=(turns + 1) * request.max_tokens)
