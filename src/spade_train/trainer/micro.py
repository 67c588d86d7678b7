"""Rows of an update as micro-batches: what one forward pass takes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from spade_train.batch import Row
from spade_train.errors import DataError
from spade_train.tokens import Dialogue
from spade_train.tokens.batches import Padded, pad
from spade_train.tokens.dialogue import Segment
from spade_train.types import Bools, Floats


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """Dialogues of one role, as wide as the longest of them."""

    padded: Padded
    advantages: Floats
    """[rows], of every sampled token."""
    on_policy: Bools
    """[rows], whether the weights of this update sampled it."""
    temperature: float
    """Of all rows, > 0."""

    @property
    def is_empty(self) -> bool:
        """Whether no token is trained: a stand-in, so that all processes take as many steps."""
        return not self.padded.mask.any()


def micro_batches(
    rows: Iterable[Row], size: int, *, pad_id: int, keep_flat: bool
) -> tuple[MicroBatch, ...]:
    """Return rows in micro-batches, the longest first, so that memory is short at once or never.

    Rows of one prompt stay together, for the trainer computes it once.

    Args:
        rows: rows in any order; those without a sampled token are left out.
        size: rows of a micro-batch at most, >= 1.
        pad_id: token to pad with; any will do.
        keep_flat: whether rows with the advantage 0 are kept; they matter to a divergence or
            entropy term only.

    Raises:
        DataError: an advantage is not finite.
    """
    groups: dict[tuple[str, float], list[Row]] = {}
    for row in rows:
        if not np.isfinite(row.advantage):
            raise DataError(f"the advantage of a {row.role} row is {row.advantage}")
        if row.dialogue.sampled_tokens and (keep_flat or row.advantage != 0.0):
            # Greedy turns report the log-probabilities of the plain softmax.
            key = (str(row.role), row.temperature or 1.0)
            groups.setdefault(key, []).append(row)
    found = []
    for (_, temperature), members in sorted(groups.items(), key=lambda item: item[0]):
        members = _in_order(members)
        for start in range(0, len(members), size):
            found.append(_micro(members[start : start + size], temperature, pad_id))
    return tuple(found)


def _in_order(rows: Sequence[Row]) -> list[Row]:
    """Return rows of one prompt side by side, the prompt with the longest row first."""
    prompts: dict[tuple[int, ...], list[Row]] = {}
    for row in rows:
        prompts.setdefault(row.dialogue.segments[0].ids, []).append(row)
    families = [sorted(each, key=lambda row: -len(row.dialogue)) for each in prompts.values()]
    families.sort(key=lambda each: -len(each[0].dialogue))
    return [row for each in families for row in each]


def empty_micro_batch(pad_id: int) -> MicroBatch:
    """Return a micro-batch that trains nothing."""
    prompt = Dialogue((Segment((pad_id, pad_id)),))
    return MicroBatch(
        padded=pad([prompt], pad_id),
        advantages=np.zeros(1),
        on_policy=np.zeros(1, dtype=np.bool_),
        temperature=1.0,
    )


def _micro(rows: Sequence[Row], temperature: float, pad_id: int) -> MicroBatch:
    return MicroBatch(
        padded=pad([row.dialogue for row in rows], pad_id),
        advantages=np.array([row.advantage for row in rows]),
        on_policy=np.array([row.on_policy for row in rows], dtype=np.bool_),
        temperature=temperature,
    )
