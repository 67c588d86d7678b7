"""Drawing tokens from logits, so that a row's draw depends on its own seed alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from spade_train.engines.base import SampleRequest

_TAG = 0x5BADE
_LIKELY = 256
"""Tokens among which a cut is looked for first."""


@dataclass(frozen=True, slots=True)
class Draws:
    """How each row of a batch is drawn; tensors of shape `(rows,)` unless said otherwise."""

    temperature: torch.Tensor
    """1 in rows that take the likeliest token."""
    greedy: torch.Tensor
    top_p: torch.Tensor
    top_k: torch.Tensor
    uniform: torch.Tensor
    """Float64 `(rows, most)`: one number in [0, 1) for each token that may be drawn."""
    cuts: bool
    """Whether any row leaves out tokens."""
    some_greedy: bool

    @classmethod
    def of(cls, requests: Sequence[SampleRequest], device: torch.device) -> Draws:
        """Return how these requests want to be drawn."""
        most = max((request.max_tokens for request in requests), default=0)
        uniform = np.zeros((len(requests), most))
        for row, request in enumerate(requests):
            rng = np.random.default_rng([request.seed, _TAG])
            uniform[row, : request.max_tokens] = rng.random(request.max_tokens)
        hot = [request.temperature for request in requests]
        return cls(
            temperature=torch.tensor([t if t > 0 else 1.0 for t in hot], device=device),
            greedy=torch.tensor([t <= 0 for t in hot], device=device),
            top_p=torch.tensor([r.top_p for r in requests], device=device),
            top_k=torch.tensor([r.top_k for r in requests], device=device),
            uniform=torch.from_numpy(uniform).to(device),
            cuts=any(r.top_p < 1.0 or r.top_k > 0 for r in requests),
            some_greedy=any(t <= 0 for t in hot),
        )

    def draw(
        self, logits: torch.Tensor, rows: torch.Tensor, step: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return a token for each row and its log-probability before any cut.

        Args:
            logits: `(B, V)`.
            rows: int64 `(B,)`, which of the requests each row is.
            step: number of the token in its turn, from 0.
        """
        scaled = logits.float() / self.temperature[rows][:, None]
        logprobs = torch.log_softmax(scaled, dim=-1)
        weights = logprobs.exp()
        if self.cuts:
            weights = self._cut(weights, rows)
        # One number per token and the inverse of the distribution, not noise for each of V tokens.
        total = weights.cumsum(-1, dtype=torch.float64)
        target = self.uniform[rows, step][:, None] * total[:, -1:]
        tokens = torch.searchsorted(total, target, right=True).clamp_(max=logits.shape[-1] - 1)
        if self.some_greedy:
            best = logprobs.argmax(-1, keepdim=True)
            tokens = torch.where(self.greedy[rows][:, None], best, tokens)
        return tokens[:, 0], logprobs.gather(-1, tokens)[:, 0]

    def _cut(self, weights: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """Return the weights with 0 for what `top_k` and then `top_p` leave out."""
        top_k, top_p = self.top_k[rows][:, None], self.top_p[rows][:, None]
        many = min(_LIKELY, weights.shape[-1])
        ordered, index = weights.topk(many)
        enough = (ordered.sum(-1, keepdim=True) >= top_p) | ((top_k > 0) & (top_k <= many))
        if not bool(enough.all()):  # rare: the sort costs more than all the rest
            ordered, index = weights.sort(dim=-1, descending=True, stable=True)
        place = torch.arange(ordered.shape[-1], device=weights.device)[None]
        ordered = ordered.masked_fill((top_k > 0) & (place >= top_k), 0.0)
        before = ordered.cumsum(-1) - ordered
        whole = torch.where(top_k > 0, ordered.sum(-1, keepdim=True), 1.0)
        ordered = ordered.masked_fill((top_p < 1.0) & (before >= top_p * whole), 0.0)
        return torch.zeros_like(weights).scatter_(-1, index, ordered)
