"""What a suite is: tasks, and sessions in which a policy attempts one of them by text alone.

    Suite.tasks() -> Task -> Suite.open(task, seed) -> Session -> Score

What goes wrong in a suite's own machinery (a scorer that crashes or hangs) is a `Fault`: it is
counted apart and is never a score. A session whose machinery failed is `done`, and its `score()`
is the fault. What a policy does wrong (no answer, a reply that cannot be read, a call that is not
allowed) is a low score.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, runtime_checkable

from spade_envs.types import Json, Message
from spade_train.errors import DataError

Said: TypeAlias = str
"""One reply of the policy: text, without its thinking; calls stand in it as the prompt asks."""


@dataclass(frozen=True, slots=True)
class Task:
    """One thing to attempt."""

    id: str
    """Unique in the suite and its settings, and the same in every process."""
    group: str
    """Bucket, category or level: one figure of the table."""
    detail: Mapping[str, Json] = field(default_factory=dict)
    """Small and plain; never the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What one attempt is worth.

    Raises:
        DataError: the value is not in [0, 1].
    """

    value: float
    """In [0, 1]."""
    success: bool
    """Whether it counts as solved; partial credit is not."""
    detail: Mapping[str, Json] = field(default_factory=dict)
    """Small and plain: why, such as an error type."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.value <= 1.0:
            raise DataError(f"a score must be in [0, 1], not {self.value!r}")


@dataclass(frozen=True, slots=True)
class Fault:
    """Machinery that failed: counted apart, never a score."""

    where: str
    """Operation: `open`, `reply`, `score`, `reference`, `policy`."""
    reason: str
    """One line, such as `timed out after 10 s`."""


UNANSWERED = Fault("reference", "the suite has no reference for this task")
"""What the oracle ends with where nobody knows an answer: nothing is broken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoding:
    """How replies are sampled, and how long an attempt may be; a suite states the published one."""

    temperature: float = 0.0
    """>= 0; 0 takes the likeliest token each time."""
    top_p: float | None = None
    """In (0, 1]; None for no limit."""
    top_k: int | None = None
    """>= 1; None for no limit."""
    max_tokens: int = 4096
    """Of one reply, thinking included; >= 1."""
    samples: int = 1
    """Attempts at each task, >= 1."""
    max_turns: int = 1
    """Replies in one attempt, >= 1; a session that is not done by then is scored as it stands."""
    context_tokens: int | None = None
    """Tokens of an attempt, prompts included; None leaves it to the model."""


@runtime_checkable
class Session(Protocol):
    """One attempt at one task; what it does depends on suite, task, seed and replies alone."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation so far, what the policy answers next; it only grows.

        A system message after others begins a new conversation in the same attempt: see `latest`.
        """
        ...

    @property
    def done(self) -> bool:
        """Whether no further reply is taken."""
        ...

    def reply(self, said: Said) -> None:
        """Take the policy's next reply; whatever it is, nothing is raised for it."""
        ...

    def score(self) -> Score | Fault:
        """Return what the attempt is worth: after `done`, or where the runner broke it off."""
        ...

    def reference(self) -> Said | None:
        """Return what the oracle says next; None where the suite has none for this task."""
        ...

    def random(self, rng: random.Random) -> Said:
        """Return a random, well-formed reply."""
        ...

    def close(self) -> None:
        """Give everything back; safe to call twice."""
        ...


@runtime_checkable
class Suite(Protocol):
    """A benchmark with its settings; made by a factory in `suites.registry`."""

    @property
    def name(self) -> str:
        """Such as `reasoning-gym-hard`; the settings that change what is measured not included."""
        ...

    @property
    def version(self) -> str:
        """Version of the data and scorer, then our own, such as `bfcl-eval 2026.3.23 + 1`."""
        ...

    @property
    def settings(self) -> Mapping[str, Json]:
        """All that scores depend on beside the version; plain JSON."""
        ...

    @property
    def labels(self) -> Mapping[str, str]:
        """What a reader of the table must be told, such as `{"user": "scripted"}`."""
        ...

    @property
    def decoding(self) -> Decoding:
        """The published one."""
        ...

    def tasks(self) -> Sequence[Task]:
        """Return all tasks, in an order that `--limit` may cut: a beginning is a fair choice."""
        ...

    def open(self, task: Task, *, seed: int) -> Session | Fault:
        """Begin an attempt.

        Args:
            task: one of `tasks()`.
            seed: of the attempt, in [0, 2**31).
        """
        ...

    def close(self) -> None:
        """Give everything back; safe to call twice."""
        ...


def latest(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return what the policy is shown: all from the last system message on."""
    begins = [n for n, each in enumerate(messages) if each.role == "system"]
    return tuple(messages[begins[-1] :] if begins else messages)
