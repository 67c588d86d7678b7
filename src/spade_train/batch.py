"""What the trainer gets and gives back: the border between the loop and the one trainer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from spade_envs.types import Json
from spade_train.runs.checkpoint import Checkpoint, Stage
from spade_train.tokens import Dialogue
from spade_train.types import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One conversation to train on."""

    dialogue: Dialogue
    """Its sampled tokens are trained, with their log-probabilities as sampled."""
    advantage: float
    """Of every sampled token, the weight of the role included; 0 carries no gradient."""
    role: Role
    temperature: float = 1.0
    """At which it was sampled; log-probabilities are those of softmax(logits / temperature)."""
    on_policy: bool = True
    """Whether the weights of this update sampled it; delayed designer samples are older, and are
    left out of the comparison of sampler and trainer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The rows of one update that this process trains."""

    rows: tuple[Row, ...]
    """May be empty, and may be of another length in every process."""
    tokens: float
    """What the summed loss of all processes is divided by, > 0: the trained tokens of all rows of
    the update in all processes, those without a gradient included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateStats:
    """What the trainer saw in one update, the same in all processes."""

    values: Mapping[str, float] = field(default_factory=dict)
    """Numbers for metrics.jsonl, such as `train/loss`, `train/grad_norm`, `train/kl`,
    `train/entropy`, `train/logp_difference`, `train/clip_share`."""


class World(Protocol):
    """The processes that train together."""

    @property
    def rank(self) -> int:
        """Number of this process, from 0, the main one."""
        ...

    @property
    def size(self) -> int:
        """Processes there are."""
        ...

    def gather(self, value: Json) -> list[Json]:
        """Return the values of all processes by rank, in every process; all must call it."""
        ...


class Solo:
    """A world of one process."""

    rank = 0
    size = 1

    def gather(self, value: Json) -> list[Json]:
        """Return the one value there is."""
        return [value]


class Source(Protocol):
    """Where the trainer's batches come from; the loop is one."""

    def batch(self, update: int) -> Batch | None:
        """Return the batch of an update, from 0; None ends the training before it.

        It is called in every process at the same time, after the engine was synced.
        """
        ...

    def updated(self, update: int, stats: UpdateStats) -> bool:
        """Take note that the optimizer has stepped; return whether to go on.

        Whether the trainer is to be saved is asked by `wants_save`.
        """
        ...

    def wants_save(self, update: int) -> bool:
        """Return whether a checkpoint is due after this update."""
        ...

    def save(self, stage: Stage) -> None:
        """Write everything of the loop that evolves, in the main process."""
        ...

    def load(self, checkpoint: Checkpoint) -> None:
        """Take up everything that `save` wrote, in every process."""
        ...
