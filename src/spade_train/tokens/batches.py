"""Dialogues as the rows and arrays that trainers take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spade_train.errors import DataError
from spade_train.tokens.dialogue import Dialogue
from spade_train.types import Bools, Ints


@dataclass(frozen=True, slots=True)
class Rows:
    """Dialogues cut after their prompts, one list per dialogue.

    Of one dialogue all lists but the prompt have one length.
    """

    prompt_ids: list[list[int]]
    completion_ids: list[list[int]]
    mask: list[list[int]]
    """1 for a token of the completion that was sampled and is trained, else 0."""
    logprobs: list[list[float]]
    """0 where the mask is 0."""


@dataclass(frozen=True, slots=True)
class Padded:
    """Dialogues of one batch, padded on the right; every array has shape `(dialogues, width)`."""

    ids: Ints
    attention: Bools
    """What is not padding, by length: the padding token may be the end token."""
    mask: Bools
    """What was sampled and is trained."""
    logprobs: NDArray[np.float64]
    """0 where the mask is 0."""


def rows(dialogues: Sequence[Dialogue]) -> Rows:
    """Return dialogues as prompts and completions.

    Raises:
        DataError: nothing was sampled in a dialogue; leave such ones out first.
    """
    found = Rows([], [], [], [])
    for dialogue in dialogues:
        if not dialogue.sampled_tokens:
            raise DataError("a dialogue without a sampled token cannot be trained")
        start = dialogue.prompt_tokens
        found.prompt_ids.append(dialogue.ids[:start].tolist())
        found.completion_ids.append(dialogue.ids[start:].tolist())
        found.mask.append(dialogue.mask[start:].astype(int).tolist())
        found.logprobs.append(dialogue.logprobs[start:].tolist())
    return found


def pad(dialogues: Sequence[Dialogue], pad_id: int, *, width: int | None = None) -> Padded:
    """Return dialogues as arrays, padded on the right.

    Args:
        dialogues: any number of dialogues.
        pad_id: token to pad with; any will do.
        width: width of the arrays; that of the longest dialogue if None.

    Raises:
        DataError: a dialogue is longer than `width`; none is ever cut.
    """
    longest = max((len(dialogue) for dialogue in dialogues), default=0)
    size = longest if width is None else width
    if longest > size:
        raise DataError(f"a dialogue of {longest} tokens does not fit a width of {size}")
    shape = (len(dialogues), size)
    found = Padded(
        ids=np.full(shape, pad_id, dtype=np.int64),
        attention=np.zeros(shape, dtype=np.bool_),
        mask=np.zeros(shape, dtype=np.bool_),
        logprobs=np.zeros(shape, dtype=np.float64),
    )
    for row, dialogue in enumerate(dialogues):
        length = len(dialogue)
        found.ids[row, :length] = dialogue.ids
        found.attention[row, :length] = True
        found.mask[row, :length] = dialogue.mask
        found.logprobs[row, :length] = dialogue.logprobs
    return found
