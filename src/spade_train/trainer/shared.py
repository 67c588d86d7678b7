"""Hidden states of rows that begin alike, with what they share computed once.

Episodes of one instance have one prompt, and for short answers nearly all of a row is prompt. So
the prompts go through the model first, each once; then what follows them, which attends to the
keys and values of its own prompt. Gradients flow back through those keys and values and add up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers import DynamicCache

_TOGETHER = 64
"""Rows that are computed together after their prompts."""
_WORTH = 0.8
"""Share of the tokens that must be left for two passes to be quicker than one."""


@dataclass(frozen=True, slots=True)
class Split:
    """Rows cut into prompts, each kept once, and what follows them; tensors of token numbers."""

    prompts: Any
    """[U, P], padded on the right."""
    prompt_lengths: Any
    """[U]."""
    owner: Any
    """[B], which prompt a row has."""
    rests: Any
    """[B, R], padded on the right."""
    rest_lengths: Any
    """[B]."""


def split_rows(ids: Any, attention: Any, scored: Any) -> Split | None:
    """Return rows cut where their first scored token is; None if little would be saved.

    Args:
        ids: int64 `(B, T)`, padded on the right.
        attention: `(B, T)`, 0 at padding.
        scored: booleans `(B, T)`; a row without one is all prompt but for its last token.
    """
    tokens, mask = ids.cpu().numpy(), scored.cpu().numpy()
    lengths = attention.sum(1).cpu().numpy()
    cuts = np.where(mask.any(1), mask.argmax(1), lengths - 1)
    if cuts.min(initial=1) < 1:
        return None
    numbers: dict[bytes, int] = {}
    owner = [
        numbers.setdefault(row[:cut].tobytes(), len(numbers))
        for row, cut in zip(tokens, cuts, strict=True)
    ]
    first = [owner.index(number) for number in range(len(numbers))]
    rests = lengths - cuts
    kept = len(first) * cuts[first].max(initial=0) + len(cuts) * rests.max(initial=0)
    if kept > _WORTH * tokens.size:
        return None
    prompts = np.zeros((len(first), int(cuts[first].max())), dtype=np.int64)
    for number, row in enumerate(first):
        prompts[number, : cuts[row]] = tokens[row, : cuts[row]]
    after = np.zeros((len(cuts), int(rests.max())), dtype=np.int64)
    for row, (cut, length) in enumerate(zip(cuts, lengths, strict=True)):
        after[row, : length - cut] = tokens[row, cut:length]
    arrays = prompts, cuts[first], np.array(owner), after, rests
    return Split(*(torch.as_tensor(each, device=ids.device) for each in arrays))


def shared_hidden(model: Any, split: Split, width: int, named: Mapping[str, Any]) -> Any:
    """Return the last hidden states `(B, width, D)` of rows; those before a row's cut stay 0.

    The state at the last token of a prompt is there: it predicts the first token after it.

    Args:
        model: decoder without a head, whose layers all attend to every token before.
        split: the rows.
        width: of the rows, padding included.
        named: further arguments of the model.
    """
    device = split.prompts.device
    prompts, owner = split.prompt_lengths, split.owner
    places = torch.arange(split.prompts.size(1), device=device)
    seen = (places < prompts[:, None]).long()
    out = model(
        input_ids=split.prompts,
        attention_mask=seen,
        position_ids=places.expand_as(split.prompts),
        past_key_values=DynamicCache(),
        use_cache=True,
        **named,
    )
    last = out.last_hidden_state[torch.arange(len(prompts), device=device), prompts - 1]
    hidden = last.new_zeros(len(owner), width, last.size(-1))
    hidden[torch.arange(len(owner), device=device), prompts[owner] - 1] = last[owner]
    for rows in _alike(split.rest_lengths):
        mine, size = owner[rows], int(split.rest_lengths[rows].max())
        offsets = torch.arange(size, device=device)
        here = offsets < split.rest_lengths[rows, None]
        cache = DynamicCache()
        for number, layer in enumerate(out.past_key_values.layers):
            keys, values = (each.index_select(0, mine) for each in (layer.keys, layer.values))
            cache.update(keys, values, number)
        after = model(
            input_ids=split.rests[rows, :size],
            attention_mask=torch.cat([seen[mine], here.long()], dim=1),
            position_ids=prompts[mine, None] + offsets,
            past_key_values=cache,
            use_cache=True,
            **named,
        ).last_hidden_state
        row, column = here.nonzero(as_tuple=True)
        hidden[rows[row], prompts[mine][row] + column] = after[row, column]
    return hidden


def _alike(lengths: Any) -> list[Any]:
    """Return row numbers in groups of like lengths, so that little is padded."""
    order = torch.argsort(lengths, stable=True)
    return [order[start : start + _TOGETHER] for start in range(0, len(order), _TOGETHER)]
