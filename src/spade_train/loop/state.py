"""Everything of a run that evolves beside the weights, as one frozen value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from spade_train.curriculum import SlidingWindow
from spade_train.delayed import DelayedDesigns
from spade_train.errors import StateError
from spade_train.pool import PoolCursor
from spade_train.potential import Potential
from spade_train.runs import Spent
from spade_train.tokens import Dialogue
from spade_train.types import HintInformation

FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveEnv:
    """An environment that is played, with what its designer's score needs besides episodes."""

    digest: str
    skill: str
    levels: int
    """>= 1."""
    challenge: str = ""
    """What the brief asked for; empty in a fixed pool."""
    update: int = 0
    """Number of the update at which it was designed."""
    chance: float = 0.0
    """Success rate of the best policy that does not read the task, in [0, 1)."""
    hint: HintInformation | None = None
    title: str = ""
    summary: str = ""
    family: str = ""
    """Of a program in the manner of the tiny model; empty if unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """An environment that was scored, for the briefs of later ones."""

    digest: str
    skill: str
    success: float
    """Without the hint, in [0, 1]."""
    regret: float
    title: str = ""
    summary: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelCounts:
    """Episodes without the hint of one environment, by level; those with a fault left out."""

    plays: tuple[int, ...]
    wins: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopState:
    """All of the loop that a checkpoint holds; the next update is a function of it."""

    delayed: DelayedDesigns
    potential: Potential
    update: int = 0
    """Updates done."""
    active: tuple[LiveEnv, ...] = ()
    """Environments that are played; of a fixed pool, nothing."""
    waiting: Mapping[str, LiveEnv] = field(default_factory=dict)
    """By digest: environments whose designer waits for a score."""
    dialogues: Mapping[str, Dialogue] = field(default_factory=dict)
    """By key: tokens of the designer samples that wait."""
    accepted: tuple[str, ...] = ()
    """Digests of all environments that were accepted so far, in order."""
    memory: tuple[Remembered, ...] = ()
    """The oldest first."""
    spent: Spent = field(default_factory=Spent)
    passages: int = 0
    """Passages drawn from the corpus."""
    pool: tuple[LiveEnv, ...] = ()
    """Environments of the fixed pool."""
    cursor: PoolCursor | None = None
    """Place in the fixed pool."""
    levels: Mapping[str, LevelCounts] = field(default_factory=dict)
    """By digest: of environments that are played, or of the whole pool."""
    windows: Mapping[str, SlidingWindow] = field(default_factory=dict)
    """By digest: where levels follow a sliding window."""
    ended: str = ""
    """Why no further update will play; empty if one will."""


def to_bytes(state: LoopState) -> bytes:
    """Return a state as JSON; every number reads back to the last digit."""
    return msgspec.json.encode({"format": FORMAT, "state": state})


def from_bytes(data: bytes) -> LoopState:
    """Read a state back.

    Raises:
        StateError: the data is no such state, or of another format.
    """
    try:
        outer = msgspec.json.decode(data)
        found = outer.get("format") if isinstance(outer, dict) else None
        if found != FORMAT:
            raise StateError(f"the loop's state has format {found}; this release reads {FORMAT}")
        return msgspec.convert(outer["state"], LoopState)
    except (msgspec.DecodeError, msgspec.ValidationError, KeyError) as error:
        raise StateError(f"not a saved state of the loop: {error}") from None
