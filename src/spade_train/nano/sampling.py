"""Batched sampling in which a row's tokens do not depend on the rows beside it.

Rows are computed in double precision, so that the order of additions in another batch shape moves
a logit by some 1e-13, and every row draws its Gumbel noise from a generator of its own seed. The
same prompt and seed then give the same text alone, in any batch, and in any process.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from spade_train.nano.model import MAX_TOKENS, need_torch, one_thread

Logits = npt.NDArray[np.float64]

MIN_P = 0.1
"""Of programs: tokens less likely than this share of the likeliest one are left out."""

_ROWS = 16
"""Rows that are computed together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One text to sample."""

    ids: tuple[int, ...]
    """Tokens of the conversation so far, at least one."""
    seed: int
    temperature: float = 0.8
    """>= 0; 0 takes the likeliest token."""
    max_tokens: int = 480
    """Most tokens to add."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """The tokens that were added, without the end mark."""

    ids: tuple[int, ...]
    ended: bool
    """Whether the model ended by itself; otherwise it was cut off."""


def sample(
    model: Any, rows: Sequence[Row], *, end: int, min_p: float = MIN_P, together: int = _ROWS
) -> list[Sampled]:
    """Return a continuation of every row, in order.

    Args:
        model: a causal language model in double precision.
        rows: what to continue; each needs room within the model's longest conversation.
        end: token that ends a continuation.
        min_p: tokens less likely than this share of the likeliest one are left out, in [0, 1].
        together: rows that are computed at once, at least 1.
    """
    found: list[Sampled] = []
    with one_thread():
        for start in range(0, len(rows), together):
            found += _sample_block(model, rows[start : start + together], end, min_p)
    return found


def _sample_block(model: Any, rows: Sequence[Row], end: int, min_p: float) -> list[Sampled]:
    torch = need_torch()
    width = max(len(row.ids) for row in rows)
    pads = [width - len(row.ids) for row in rows]
    ids = torch.tensor([[0] * pad + list(row.ids) for pad, row in zip(pads, rows, strict=True)])
    mask = torch.tensor(
        [[0] * pad + [1] * len(row.ids) for pad, row in zip(pads, rows, strict=True)]
    )
    places = (mask.cumsum(1) - 1).clamp(min=0)
    noise = [np.random.default_rng([row.seed, 0x5BADE]) for row in rows]
    added: list[list[int]] = [[] for _ in rows]
    ended = [False] * len(rows)
    room = [min(row.max_tokens, MAX_TOKENS - len(row.ids)) for row in rows]
    live = [most > 0 for most in room]
    cache = None
    with torch.inference_mode():
        while any(live):
            out = model(
                input_ids=ids,
                attention_mask=mask,
                position_ids=places,
                past_key_values=cache,
                use_cache=True,
                logits_to_keep=1,
            )
            cache = out.past_key_values
            logits = out.logits[:, -1].double().numpy()
            step = [0] * len(rows)
            for i, row in enumerate(rows):
                if not live[i]:
                    continue
                token = choose(logits[i], noise[i], row.temperature, min_p)
                step[i] = token
                ended[i] = token == end
                if not ended[i]:
                    added[i].append(token)
                live[i] = not ended[i] and len(added[i]) < room[i]
            ids = torch.tensor(step)[:, None]
            mask = torch.cat([mask, torch.ones_like(ids)], dim=1)
            places = places[:, -1:] + 1
    return [Sampled(tuple(tokens), done) for tokens, done in zip(added, ended, strict=True)]


def choose(logits: Logits, noise: np.random.Generator, temperature: float, min_p: float) -> int:
    """Draw a token by Gumbel noise among those at least `min_p` times as likely as the best."""
    if temperature <= 0:
        return int(np.argmax(logits))
    scaled = (logits - logits.max()) / temperature
    kept = logits - logits.max() >= (np.log(min_p) if min_p > 0 else -np.inf)
    drawn = np.where(kept, scaled + noise.gumbel(size=logits.shape), -np.inf)
    return int(np.argmax(drawn))
