"""`TransformersEngine`: samples from the very model that is being trained, in its process."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from spade_train.engines.attention import attends_to_all
from spade_train.engines.base import Sampled, SampleRequest
from spade_train.engines.block import Block, Turn
from spade_train.engines.slots import Slots
from spade_train.engines.weights import is_sharded
from spade_train.errors import EngineError

ROWS = 1024
_CPU_MEMORY = 1536 << 20
_GPU_SHARE = 4
"""Part of a GPU's memory, as its divisor, for keys and values that are kept between turns."""
_ODD = (TypeError, AttributeError, ValueError, IndexError, RuntimeError, NotImplementedError)
"""What models raise whose cache is another one than this engine keeps; caught in one trial."""
_SHORT, _FEW = 64, 64
"""Tokens below which lengths are alike, and conversations that are not split into groups."""
_CLOSE: dict[torch.dtype | None, float] = {torch.float32: 1e-3, torch.float64: 1e-6}


class TransformersEngine:
    """Samples from a causal language model of `transformers`, also one with adapters.

    Keys and values of a conversation are kept from turn to turn, so that each token is computed
    once. A model whose cache cannot be kept so (sliding windows, recurrent layers) computes each
    turn from its first token; which way is taken is found out by a trial on the model itself.

    Args:
        model: the module; it is put into eval mode while it samples.
        stops: tokens that end a turn.
        rows: conversations that are computed together, >= 1.
        memory_mb: most memory of keys and values that are kept between turns, > 0; None takes a
            quarter of a GPU's, or 1536 on a CPU.
    """

    def __init__(
        self, model: Any, *, stops: Iterable[int], rows: int = ROWS, memory_mb: int | None = None
    ) -> None:
        self._model, self._stops = model, sorted(stops)
        self._rows = rows
        self._memory = _memory_of(model) if memory_mb is None else memory_mb << 20
        base = model.get_base_model() if hasattr(model, "get_base_model") else model
        takes = inspect.signature(base.forward).parameters
        self._options: dict[str, Any] = {"use_cache": True}
        if "logits_to_keep" in takes:
            self._options["logits_to_keep"] = 1
        self._blocks: list[Block] = []
        self._homes: dict[str, Block] = {}
        self._keeps: bool | None = None

    @property
    def keeps(self) -> bool:
        """Whether keys and values are kept between turns."""
        if self._keeps is None:
            with self._sampling():
                self._keeps = attends_to_all(self._model) and self._agrees()
        return self._keeps

    def sample(self, requests: Sequence[SampleRequest]) -> list[Sampled]:
        """Return one turn per request, in order.

        Raises:
            EngineError: a key is asked for twice, a request is empty, or the model gave numbers
                that are not finite.
        """
        _refuse(requests)
        if not requests:
            return []
        way = self._kept if self.keeps else self._afresh
        with self._sampling():
            answers = way(requests)
        if not all(_finite(answer.logprobs) for answer in answers):
            raise EngineError("the model gave probabilities that are not finite; its weights broke")
        return answers

    def forget(self, keys: Iterable[str]) -> None:
        """Drop what is kept of these conversations; unknown ones are passed over."""
        with torch.inference_mode():
            for key in keys:
                block = self._homes.pop(key, None)
                if block is not None:
                    block.forget(key)

    def sync(self, update: int) -> None:
        """Forget all conversations: what was computed with older weights is not used again.

        The model is the trainer's own, so its weights are always those of the update.

        Raises:
            EngineError: the weights are spread over processes, which would have to sample in step.
        """
        if is_sharded(self._model):
            raise EngineError(
                "the weights are spread over several processes, and those sample turns in unequal "
                'numbers: set rollout.engine = "vllm" or "vllm-server"'
            )
        for block in self._blocks:
            block.clear()
        self._homes = {}

    def close(self) -> None:
        """Release the memory of conversations."""
        self._blocks, self._homes = [], {}

    # With keys and values that are kept.

    def _kept(self, requests: Sequence[SampleRequest]) -> list[Sampled]:
        self.forget(
            request.key
            for request in requests
            if (home := self._homes.get(request.key)) is not None and not home.extends(request)
        )
        groups = grouped([len(request.ids) for request in requests], self._fitting(requests))
        waiting = [[requests[index] for index in group] for group in groups]
        blocks = self._seated(waiting)
        answers: dict[int, Sampled] = {}
        for group, block in zip(groups, blocks, strict=True):
            found = block.sample(waiting.pop(0), self._stops)
            answers.update(zip(group, found, strict=True))
            self._within_memory(blocks[len(blocks) - len(waiting) :])
        return [answers[index] for index in range(len(requests))]

    def _seated(self, groups: Sequence[Sequence[SampleRequest]]) -> list[Block]:
        """Return a block for each group, with the group's conversations in it.

        It is the one that holds most of them already; the others move there.
        """
        blocks: list[Block] = []
        for group in groups:
            homes = Counter(id(self._homes.get(request.key)) for request in group)
            free = [block for block in self._blocks if block not in blocks]
            block = max(free, key=lambda one: (homes[id(one)], -len(one)), default=None)
            if block is None or (len(block) and not homes[id(block)]):
                parameter = next(self._model.parameters())
                block = Block(self._forward, parameter.device, self._model.dtype)
                self._blocks.append(block)
            blocks.append(block)
        for group, block in zip(groups, blocks, strict=True):
            new = [request for request in group if self._homes.get(request.key) is not block]
            longest = max(len(request.ids) + request.max_tokens for request in group)
            block.reserve(len(block) + len(new), longest)
            for request in new:
                home = self._homes.get(request.key)
                if home is None:
                    block.add(request.key)
                else:
                    block.move(request.key, home)
                self._homes[request.key] = block
        return blocks

    def _fitting(self, requests: Sequence[SampleRequest]) -> int:
        """Return how many rows a block may have so that one block stays within the memory."""
        config = self._model.config.get_text_config()
        heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
        size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        item = torch.finfo(self._model.dtype).bits // 8
        longest = max(len(request.ids) + request.max_tokens for request in requests)
        row = 2 * config.num_hidden_layers * heads * size * item * longest
        return max(1, min(self._rows, int(self._memory // row)))

    def _within_memory(self, waiting: Collection[Block]) -> None:
        """Drop conversations until the rest fits; they are computed anew when they go on.

        What is dropped follows from the conversations alone, not from how large their buffers
        happen to have grown, so that a resumed run computes the same.

        Args:
            waiting: blocks that are still to be sampled in this call.
        """
        kept = [block for block in self._blocks if len(block)]
        while sum(block.needed for block in kept) > self._memory:
            free = [block for block in kept if block not in waiting]
            if not free:
                break
            gone = max(free, key=lambda block: block.needed)
            kept.remove(gone)
            self._blocks.remove(gone)
            self._homes = {key: block for key, block in self._homes.items() if block is not gone}
        if sum(block.bytes for block in self._blocks) > self._memory:
            self._blocks = kept

    def _forward(
        self, ids: torch.Tensor, places: torch.Tensor, mask: torch.Tensor, slots: Slots
    ) -> torch.Tensor:
        out = self._model(
            input_ids=ids,
            position_ids=places,
            attention_mask=mask,
            past_key_values=slots,
            **self._options,
        )
        logits: torch.Tensor = out.logits[:, -1]
        return logits

    # From the first token, with the cache of `transformers`.

    def _afresh(self, requests: Sequence[SampleRequest]) -> list[Sampled]:
        order = sorted(range(len(requests)), key=lambda index: len(requests[index].ids))
        answers: dict[int, Sampled] = {}
        most = self._fitting(requests)
        for start in range(0, len(order), most):
            chosen = order[start : start + most]
            found = self._together([requests[index] for index in chosen])
            answers.update(zip(chosen, found, strict=True))
        return [answers[index] for index in range(len(requests))]

    def _together(self, requests: Sequence[SampleRequest]) -> list[Sampled]:
        device = next(self._model.parameters()).device
        turn = Turn.of(requests, self._stops, device)
        width = max(len(request.ids) for request in requests)
        pads = [width - len(request.ids) for request in requests]
        padded = zip(pads, requests, strict=True)
        ids = torch.tensor([[0] * pad + list(r.ids) for pad, r in padded], device=device)
        mask = torch.tensor([[0] * pad + [1] * (width - pad) for pad in pads], device=device)
        places = (mask.cumsum(1) - 1).clamp(min=0)
        rows, cache, step = turn.everyone, None, 0
        while True:
            out = self._model(
                input_ids=ids,
                position_ids=places,
                attention_mask=mask,
                past_key_values=cache,
                **self._options,
            )
            cache = out.past_key_values
            if not turn.take(out.logits[:, -1], rows, step).any():
                return turn.sampled()
            ids = torch.from_numpy(turn.ids[:, step])[:, None].to(device)
            mask = torch.cat([mask, torch.ones_like(ids)], dim=1)
            places = places[:, -1:] + 1
            step += 1

    # Which way it is.

    def _agrees(self) -> bool:
        """Whether a small conversation in two turns gives what a plain pass over it gives."""
        parameter = next(self._model.parameters())
        vocabulary = self._model.get_input_embeddings().weight.shape[0]
        texts = [[(7 * i + 3 * row) % vocabulary for i in range(9 - row)] for row in range(2)]
        block = Block(self._forward, parameter.device, self._model.dtype)
        try:
            found = block.trial(texts)
            for text, logits in zip(texts, found, strict=True):
                ids = torch.tensor([text], device=parameter.device)
                plain = self._model(input_ids=ids, use_cache=False).logits[0, -1]
                difference = _logprobs(plain) - _logprobs(logits)
                if not difference.abs().max() < _CLOSE.get(block.dtype, 0.3):
                    return False
        except _ODD:
            return False
        return True

    @contextmanager
    def _sampling(self) -> Iterator[None]:
        training = self._model.training
        self._model.eval()
        try:
            with torch.inference_mode():
                yield
        finally:
            self._model.train(training)


def grouped(lengths: Sequence[int], most: int) -> list[list[int]]:
    """Return which conversations are computed together, as their numbers.

    A block reads as far as its longest conversation, so like lengths belong together; but every
    pass has a price of its own, so few conversations are not split.

    Args:
        lengths: tokens of each, at least one.
        most: conversations of one group, >= 1.
    """
    groups: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        last = groups[-1] if groups else []
        much_shorter = last and 2 * max(lengths[index], _SHORT) <= lengths[last[0]]
        if not last or len(last) >= most or (much_shorter and len(last) >= _FEW):
            groups.append([])
        groups[-1].append(index)
    if len(groups) > 1 and len(groups[-1]) < _FEW and len(groups[-2]) + len(groups[-1]) <= most:
        last = groups.pop()
        groups[-1] += last
    return groups


def _memory_of(model: Any) -> int:
    device = next(model.parameters()).device
    if device.type != "cuda":
        return _CPU_MEMORY
    return int(torch.cuda.get_device_properties(device).total_memory // _GPU_SHARE)


def _logprobs(logits: torch.Tensor) -> torch.Tensor:
    return torch.log_softmax(logits.float(), dim=-1)


def _finite(values: Sequence[float]) -> bool:
    return all(value > float("-inf") for value in values)


def _refuse(requests: Sequence[SampleRequest]) -> None:
    if len({request.key for request in requests}) < len(requests):
        raise EngineError("a conversation may be asked for only once in a call")
    for request in requests:
        if not request.ids or request.max_tokens < 1:
            raise EngineError(f"{request.key}: a request needs a token and room for one")
