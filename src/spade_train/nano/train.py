"""Supervised training of the tiny model: one plain loop on one thread."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from spade_train.nano.data import batches, encode, sample
from spade_train.nano.families import Draw
from spade_train.nano.model import INNER, LAYERS, MAX_TOKENS, need_torch, one_thread
from spade_train.nano.muon import Muon

Progress = Callable[[int, float], None]
"""Called with the step and the loss per learnt token, averaged over the last steps."""

_REPORT_EVERY = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of a bootstrap run; with the same ones, the same weights come out."""

    seed: int = 0
    steps: int = 2300
    tokens_per_step: int = 3000
    matrix_lr: float = 5e-3
    """Greatest learning rate of the hidden matrices (Muon, scaled to AdamW's step size)."""
    other_lr: float = 4e-3
    """Greatest learning rate of embeddings and norms (AdamW)."""
    warmup: int = 30
    decay_share: float = 0.45
    """Last part of the run in which the learning rate falls to nearly 0."""
    vocabulary: int = 2048
    pool: int = 1024
    """Samples that are sorted by length together."""
    layers: int = LAYERS
    """Layers of the model, at least 2."""
    inner: int = INNER
    """Width of the inner layer of each feed-forward part."""

    def as_json(self) -> dict[str, Any]:
        """Return the settings as plain JSON."""
        return asdict(self)

    def rate(self, step: int) -> float:
        """Return the factor on the learning rates at a step: rise, plateau, cosine fall."""
        rise = min(1.0, (step + 1) / self.warmup)
        start = self.steps * (1.0 - self.decay_share)
        if step < start:
            return rise
        share = (step - start) / max(1.0, self.steps - start)
        return rise * (0.02 + 0.98 * 0.5 * (1.0 + math.cos(math.pi * min(1.0, share))))


def train(
    model: Any,
    tokenizer: Any,
    settings: Settings,
    passages: list[str],
    *,
    progress: Progress | None = None,
) -> dict[str, float]:
    """Train `model` in place and return figures of the run: last loss, tokens, CPU seconds."""
    with one_thread():
        return _train(model, tokenizer, settings, passages, progress)


def _train(
    model: Any,
    tokenizer: Any,
    settings: Settings,
    passages: list[str],
    progress: Progress | None,
) -> dict[str, float]:
    torch = need_torch()
    muon, adam = _optimizers(model)
    started, tokens, recent = time.process_time(), 0, []
    model.train()
    samples = _batches(settings, tokenizer, passages)
    for step, batch in zip(range(settings.steps), samples, strict=False):
        loss = _loss(model, batch, tokenizer.pad_token_id)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        rate = settings.rate(step)
        muon.step(settings.matrix_lr * rate)
        adam.param_groups[0]["lr"] = settings.other_lr * rate
        adam.step()
        model.zero_grad(set_to_none=True)
        tokens += sum(len(ids) for ids, _ in batch)
        recent.append(loss.item())
        if (step + 1) % _REPORT_EVERY == 0:
            recent = recent[-_REPORT_EVERY:]
            if progress is not None:
                progress(step + 1, sum(recent) / len(recent))
    model.eval()
    last = sum(recent) / max(1, len(recent))
    return {
        "loss": round(last, 5),
        "tokens": tokens,
        "cpu_s": round(time.process_time() - started, 1),
    }


def _optimizers(model: Any) -> tuple[Muon, Any]:
    torch = need_torch()
    named = list(model.named_parameters())
    matrices = [p for name, p in named if p.ndim == 2 and "embed" not in name]
    others = [p for name, p in named if p.ndim != 2 or "embed" in name]
    return Muon(matrices), torch.optim.AdamW(others, betas=(0.9, 0.98), weight_decay=0.0)


def _loss(model: Any, batch: list[tuple[list[int], list[bool]]], pad: int) -> Any:
    """Return the mean loss over learnt tokens; logits are computed for these alone."""
    torch = need_torch()
    width = max(len(ids) for ids, _ in batch)
    ids = torch.tensor([ids + [pad] * (width - len(ids)) for ids, _ in batch])
    learnt = torch.tensor([mask + [False] * (width - len(mask)) for _, mask in batch])
    hidden = model.model(input_ids=ids, use_cache=False).last_hidden_state
    wanted = learnt[:, 1:]
    logits = model.lm_head(hidden[:, :-1][wanted])
    return torch.nn.functional.cross_entropy(logits, ids[:, 1:][wanted])


def _batches(
    settings: Settings, tokenizer: Any, passages: list[str]
) -> Iterator[list[tuple[list[int], list[bool]]]]:
    number = 0
    while True:
        pool: list[tuple[list[int], list[bool]]] = []
        while len(pool) < settings.pool:
            made = sample(settings.seed, number, passages)
            item = encode(made, tokenizer, MAX_TOKENS)
            number += 1
            if item is not None:
                pool.append(item)
        draw = Draw(f"{settings.seed}/order/{number}")
        yield from batches(pool, settings.tokens_per_step, draw)
