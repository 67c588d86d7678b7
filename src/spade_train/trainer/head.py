"""Log-probabilities of a model at a temperature that each micro-batch sets anew."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import MethodType
from typing import Any


class TemperatureHead:
    """Stands in for a model's forward pass when it is asked for log-probabilities.

    A fused head has its temperature built in, and designer and agent sample at different ones: so
    one head is made per temperature, on first use, and `temperature` chooses among them.
    """

    def __init__(self, model: Any, fuse: Callable[[Any, float], None]) -> None:
        """Install the head in a model that is not yet wrapped for distributed training.

        Args:
            model: causal language model whose forward pass is its class's own.
            fuse: gives a model a fused head of one temperature, by setting its `forward`.
        """
        self.temperature = 1.0
        self.scored: Any = None
        """[B, T] booleans: tokens whose log-probabilities are wanted; None for all."""
        self._model, self._fuse = model, fuse
        self._heads: dict[float, Callable[..., Any]] = {}
        forward = model.forward

        @functools.wraps(type(model).forward)
        def choose(_: Any, *args: Any, fused_lm_head: bool = False, **kwargs: Any) -> Any:
            if not fused_lm_head:
                return forward(*args, **kwargs)
            if self.scored is not None:
                kwargs["labels"] = kwargs["labels"].masked_fill(~self.scored, -100)
            return self._head()(*args, fused_lm_head=True, **kwargs)

        model.forward = MethodType(choose, model)

    def _head(self) -> Callable[..., Any]:
        if self.temperature not in self._heads:
            chosen = self._model.forward
            del self._model.forward
            self._fuse(self._model, self.temperature)
            self._heads[self.temperature] = self._model.forward
            self._model.forward = chosen
        return self._heads[self.temperature]
