"""Sections about what is read and played: corpus, memory, gates, pools and levels."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from spade_train.config.base import Count, Positive, Section, Share, Text, wrong
from spade_train.curriculum import SlidingWindow


class Corpus(Section):
    """Documents that briefs are drawn from."""

    source: Text = Field(default="pydoc", min_length=1)
    """`pydoc`, file, folder, `hf:NAME` or TOML file of sources; `none` designs without any."""
    max_words: Positive = 6000
    """Longest passage, in words; `words` in a TOML file of sources comes first."""
    seed: Count = 42
    """Seed of the order in which passages are drawn."""


class Memory(Section):
    """Earlier environments that a brief shows."""

    enabled: bool = True
    size: Positive = 200
    """Environments that are remembered; the oldest go first."""
    low: Share = 0.15
    """Least success rate of a good example."""
    high: Share = 0.85
    """Greatest success rate of a good example."""
    top: Positive = 10
    """Examples are drawn from as many with the greatest regret."""
    examples: int = Field(default=2, ge=0, le=3)
    """Good examples in a brief."""
    avoid: int = Field(default=1, ge=0, le=12)
    """Examples of what is too easy or too hard."""
    avoid_low: Share = 0.1
    """Success rate below which an environment is too hard."""
    avoid_high: Share = 0.9
    """Success rate above which an environment is too easy."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.low > self.high:
            raise wrong("low", f"must not exceed high = {self.high}")
        if self.avoid_low > self.avoid_high:
            raise wrong("avoid_low", f"must not exceed avoid_high = {self.avoid_high}")
        return self


class Gates(Section):
    """How programs are checked before anyone plays them."""

    depth: Literal["quick", "default", "deep"] = "default"
    auditor: Literal["none", "policy"] = "none"
    """Whether the policy remarks on each source; advice for the log, never a verdict."""
    timeout_s: float = Field(default=120.0, gt=0.0)
    """Time for all gates of one program."""
    novelty: bool = True
    """Whether near duplicates of what the run has are refused."""


class Pool(Section):
    """A fixed pool in the designer's place, gone through without replacement."""

    source: Text = Field(default="none", min_length=1)
    """`none`: the designer writes; `starter`: the bundled store; `designer`: `size` environments
    that the untrained designer writes before the first update; else the path of a store."""
    ids: tuple[Text, ...] = ()
    """Environments of the store that make the pool: ids, names, digests, or one file that ends in
    `.txt` with one on each line, as `spade-envs select --out` writes it; empty takes all."""
    size: Positive = 384
    """Environments that the untrained designer writes for the source `designer`."""
    challenges: Literal["drawn", "even", "easy", "medium", "hard"] = "drawn"
    """Whether these are as hard as briefs happen to ask, equally many of each challenge, or all of
    one."""
    skill_share: float = Field(default=1.0, gt=0.0, le=1.0)
    """Part of the designer's skills that these exercise, at least one; `run.seed` draws which."""
    seed: Count = 42
    """Seed of the order of each pass."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.ids and self.source in ("none", "designer"):
            raise wrong("ids", "needs a store in source, or starter")
        return self


class Levels(Section):
    """Which level of an environment is played."""

    rule: Literal["weighted", "uniform", "sliding"] = "weighted"
    """By expected p (1 - p), all alike, or in a window that slides up with success."""
    threshold: Share = 0.9
    """Success rate at the top of the window that moves it."""
    enough: Positive = 128
    """Episodes at the top before it is looked at."""
    width: Positive = 4
    """Levels in the window."""
    top: Count = 20
    """Highest level there is."""

    def window(self, top: int) -> SlidingWindow:
        """Return the window of an environment that was never played.

        Args:
            top: highest level of the environment, >= 0.
        """
        return SlidingWindow(
            width=self.width,
            threshold=self.threshold,
            enough=self.enough,
            top=min(top, self.top),
        )
