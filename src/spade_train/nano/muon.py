"""Muon in single precision: momentum whose update is made orthogonal.

`torch.optim.Muon` computes in bfloat16, which most CPUs emulate; here that costs as much as the
model itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from spade_train.nano.model import need_torch

_ROUNDS = 5
_COEFFICIENTS = (3.4445, -4.775, 2.0315)


class Muon:
    """Optimizer of hidden matrices, with steps scaled to the size of AdamW's."""

    def __init__(
        self, matrices: Iterable[Any], *, momentum: float = 0.95, weight_decay: float = 0.05
    ) -> None:
        torch = need_torch()
        self._groups: dict[tuple[int, ...], list[Any]] = defaultdict(list)
        for matrix in matrices:
            self._groups[tuple(matrix.shape)].append(matrix)
        self._momenta = {
            shape: torch.zeros(len(group), *shape) for shape, group in self._groups.items()
        }
        self._momentum, self._decay = momentum, weight_decay

    def step(self, lr: float) -> None:
        """Update every matrix by its gradient."""
        torch = need_torch()
        with torch.no_grad():
            for shape, group in self._groups.items():
                grad = torch.stack([matrix.grad for matrix in group])
                held = self._momenta[shape]
                held.lerp_(grad, 1 - self._momentum)
                update = orthogonal(grad.lerp(held, self._momentum))
                size = 0.2 * max(shape) ** 0.5
                for matrix, change in zip(group, update, strict=True):
                    matrix.mul_(1 - lr * self._decay).sub_(change, alpha=lr * size)


def orthogonal(stack: Any) -> Any:
    """Return the nearest semi-orthogonal matrix of each, roughly, by Newton and Schulz's rounds."""
    a, b, c = _COEFFICIENTS
    tall = stack.shape[-2] > stack.shape[-1]
    x = stack.transpose(-1, -2) if tall else stack
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(_ROUNDS):
        square = x @ x.transpose(-1, -2)
        x = a * x + (b * square + c * square @ square) @ x
    return x.transpose(-1, -2) if tall else x
