"""A block of conversations that are computed together, from one turn to the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from spade_train.engines.base import Sampled, SampleRequest
from spade_train.engines.drawing import Draws
from spade_train.engines.slots import Slots

Forward = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, Slots], torch.Tensor]
"""From ids `(B, Q)`, positions `(B, Q)`, mask `(B, 1, Q, T)` and cache to the last logits."""

_TOGETHER = 8192
"""Tokens of prompts that one pass computes, padding included."""
_SPAN = 1024
"""Tokens of one prompt that one pass computes."""
_SPARSE = 0.6
"""Share of rows still sampling below which the ended ones are put aside."""


@dataclass
class Turn:
    """What is sampled in one turn of a block; arrays by request."""

    draws: Draws
    stops: np.ndarray
    most: np.ndarray
    ids: np.ndarray
    """Int64 `(requests, most)`."""
    logprobs: np.ndarray
    count: np.ndarray = field(init=False)
    live: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.count = np.zeros(len(self.most), dtype=np.int64)
        self.live = np.ones(len(self.most), dtype=np.bool_)

    @classmethod
    def of(
        cls, requests: Sequence[SampleRequest], stops: Sequence[int], device: torch.device
    ) -> Turn:
        """Return the turn before its first token."""
        most = np.array([request.max_tokens for request in requests])
        shape = len(requests), int(most.max())
        return cls(
            Draws.of(requests, device),
            np.array(stops, dtype=np.int64),
            most,
            np.zeros(shape, dtype=np.int64),
            np.zeros(shape),
        )

    @property
    def everyone(self) -> np.ndarray:
        """All requests."""
        return np.arange(len(self.most))

    def take(self, logits: torch.Tensor, rows: np.ndarray, step: int) -> np.ndarray:
        """Draw token number `step` of these rows, note it, and return which of them go on."""
        found, logprobs = self.draws.draw(logits, torch.from_numpy(rows).to(logits.device), step)
        tokens = found.cpu().numpy()
        live = self.live[rows]
        on = rows[live]
        self.ids[on, step] = tokens[live]
        self.logprobs[on, step] = logprobs.cpu().numpy()[live]
        self.count[on] = step + 1
        ended = np.isin(tokens, self.stops)
        going: np.ndarray = live & ~ended & (step + 1 < self.most[rows])
        self.live[rows] = going
        return going

    def sampled(self) -> list[Sampled]:
        """Return what was sampled, by request."""
        return [
            Sampled(tuple(ids[:count].tolist()), tuple(logprobs[:count].tolist()))
            for ids, logprobs, count in zip(
                self.ids, self.logprobs, self.count.tolist(), strict=True
            )
        ]


class Block:
    """Conversations whose keys and values lie in one set of buffers.

    Args:
        forward: the model.
        device: where it computes.
        dtype: of its masks.
    """

    def __init__(self, forward: Forward, device: torch.device, dtype: torch.dtype) -> None:
        self._forward, self._device, self._dtype = forward, device, dtype
        self._slots = Slots()
        self._keys: list[str] = []
        self._fed: list[tuple[int, ...]] = []
        self._places: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def bytes(self) -> int:
        """Memory that the buffers take."""
        return self._slots.bytes

    @property
    def needed(self) -> int:
        """Memory that its conversations need, as long as all are as long as the longest."""
        rows, columns = self._slots.room
        longest = max(map(len, self._fed), default=0)
        return self.bytes * len(self) * longest // max(1, rows * columns)

    @property
    def dtype(self) -> torch.dtype | None:
        """In which values are computed; None before the first pass."""
        return self._slots.dtype

    def extends(self, request: SampleRequest) -> bool:
        """Whether a request goes on from what is kept of its conversation."""
        fed = self._fed[self._places[request.key]]
        return len(fed) < len(request.ids) and request.ids[: len(fed)] == fed

    def reserve(self, rows: int, columns: int) -> None:
        """Make room for so many conversations and tokens."""
        self._slots.reserve(rows, columns)

    def add(self, key: str) -> None:
        """Take in a conversation of which nothing is known."""
        self._places[key] = len(self._keys)
        self._keys.append(key)
        self._fed.append(())

    def move(self, key: str, home: Block) -> None:
        """Take over a conversation from another block, with all that was computed of it."""
        place = home._places[key]
        fed = home._fed[place]
        self.add(key)
        self._fed[-1] = fed
        self._slots.take_over(home._slots, place, len(self) - 1, len(fed))
        home.forget(key)

    def clear(self) -> None:
        """Drop all conversations and keep the buffers."""
        self._keys, self._fed, self._places = [], [], {}

    def forget(self, key: str) -> None:
        """Drop a conversation; the last one takes its place."""
        place, last = self._places[key], len(self._keys) - 1
        if place != last:
            self._exchange([place], [last], len(self._fed[last]))
        self._keys.pop()
        self._fed.pop()
        del self._places[key]

    def sample(self, requests: Sequence[SampleRequest], stops: Sequence[int]) -> list[Sampled]:
        """Return a turn of each of these conversations, in order."""
        self._slots.reserve(len(self._keys), max(len(r.ids) + r.max_tokens for r in requests))
        self._to_the_front([request.key for request in requests])
        turn = Turn.of(requests, stops, self._device)
        numbers = {request.key: number for number, request in enumerate(requests)}
        rows = np.array([numbers[key] for key in self._keys[: len(requests)]])
        logits = self._prefill([requests[row].ids for row in rows])
        lengths = np.array([len(requests[row].ids) for row in rows])
        self._decode(turn, logits, rows, lengths)
        found = turn.sampled()
        for request, got in zip(requests, found, strict=True):
            # The last token of a turn was drawn, but never computed.
            self._fed[self._places[request.key]] = request.ids + got.ids[:-1]
        return found

    def trial(self, texts: Sequence[Sequence[int]]) -> torch.Tensor:
        """Return the last logits of texts that are computed in two parts, `(texts, V)`."""
        self._slots.reserve(len(texts), max(map(len, texts)) + 1)
        for number in range(len(texts)):
            self.add(str(number))
        parts = [tuple(text[: 2 + number]) for number, text in enumerate(texts)]
        self._prefill(parts)
        self._fed = list(parts)
        return self._prefill([tuple(text) for text in texts])

    def _decode(
        self, turn: Turn, logits: torch.Tensor, rows: np.ndarray, lengths: np.ndarray
    ) -> None:
        """Sample until every row has ended.

        Args:
            turn: takes what is sampled.
            logits: of the first token, `(B, V)` by place in the block.
            rows: number of the request at each place, `(B,)`.
            lengths: tokens at each place, `(B,)`.
        """
        step = 0
        while True:
            going = turn.take(logits, rows, step)
            live = int(going.sum())
            if not live:
                return
            if live < _SPARSE * len(rows):
                order = self._settle(going, int(lengths.max()))[:live]
                rows, lengths, going = rows[order], lengths[order], going[order]
            tokens = torch.from_numpy(turn.ids[rows, step])[:, None].to(self._device)
            logits = self._pass(slice(0, len(rows)), tokens, lengths[:, None], lengths[:, None])
            lengths = lengths + going  # an ended row writes on one column again and again
            step += 1

    def _prefill(self, texts: Sequence[tuple[int, ...]]) -> torch.Tensor:
        """Compute what is new in each row; return the last logits `(B, V)`, by place.

        Conversations that begin with the same prompt, such as episodes of one instance, compute it
        once.
        """
        firsts: dict[tuple[int, ...], int] = {}
        leaders = [
            row if self._fed[row] else firsts.setdefault(ids, row) for row, ids in enumerate(texts)
        ]
        logits = self._computed(texts, sorted(set(leaders)))
        followers = [row for row, leader in enumerate(leaders) if leader != row]
        if followers:
            sources = [leaders[row] for row in followers]
            self._slots.copy(sources, followers, max(len(texts[row]) for row in followers))
            logits[followers] = logits[sources]
        return logits

    def _computed(self, texts: Sequence[tuple[int, ...]], rows: Sequence[int]) -> torch.Tensor:
        """Compute what is new in some rows; return logits `(B, V)` that are set in those."""
        news = [len(ids) - len(self._fed[row]) for row, ids in enumerate(texts)]
        order = sorted(rows, key=news.__getitem__)
        parts: list[tuple[list[int], torch.Tensor]] = []
        while order:
            # The longest first: rows that are computed together are padded to the longest of them.
            longest = news[order[-1]]
            most = max(1, _TOGETHER // min(longest, _SPAN))
            chosen = sorted(row for row in order[-most:] if 2 * news[row] + 16 >= longest)
            order = order[: len(order) - len(chosen)]
            parts.append((chosen, self._prompts(chosen, [texts[row] for row in chosen])))
        if len(parts) == 1 and len(rows) == len(texts):
            return parts[0][1]
        logits = parts[0][1].new_empty((len(texts), parts[0][1].shape[-1]))
        for chosen, part in parts:
            logits[chosen] = part
        return logits

    def _prompts(self, rows: list[int], texts: Sequence[tuple[int, ...]]) -> torch.Tensor:
        """Compute the new tokens of some rows, which are padded on the left.

        What pads is written to the dump, the last column, and sees the first column alone.
        """
        fed = [len(self._fed[row]) for row in rows]
        width = max(len(ids) - done for ids, done in zip(texts, fed, strict=True))
        ids = np.zeros((len(rows), width), dtype=np.int64)
        places = np.zeros_like(ids)
        columns = np.full_like(ids, self._slots.room[1] - 1)
        for row, (text, done) in enumerate(zip(texts, fed, strict=True)):
            start = width - len(text) + done
            ids[row, start:] = text[done:]
            places[row, start:] = columns[row, start:] = np.arange(done, len(text))
        together = rows[-1] - rows[0] + 1 == len(rows)
        where = slice(rows[0], rows[-1] + 1) if together else torch.tensor(rows)
        tokens = torch.from_numpy(ids).to(self._device)
        for start in range(0, width, _SPAN):
            span = slice(start, start + _SPAN)
            logits = self._pass(where, tokens[:, span], places[:, span], columns[:, span])
        return logits

    def _pass(
        self, rows: Any, ids: torch.Tensor, places: np.ndarray, columns: np.ndarray
    ) -> torch.Tensor:
        width = int(places.max()) + 1
        at = torch.from_numpy(places).to(self._device)
        self._slots.aim(rows, torch.from_numpy(columns).to(self._device), width)
        hidden = torch.arange(width, device=self._device) > at[..., None]
        mask = torch.zeros(hidden.shape, dtype=self._dtype, device=self._device)
        mask.masked_fill_(hidden, torch.finfo(self._dtype).min)
        return self._forward(ids, at, mask[:, None], self._slots)

    def _settle(self, going: np.ndarray, width: int) -> np.ndarray:
        """Bring the rows that go on to the front; return who was at each place before."""
        live = int(going.sum())
        left = np.flatnonzero(~going[:live])
        right = live + np.flatnonzero(going[live:])
        self._exchange(left.tolist(), right.tolist(), width)
        order = np.arange(len(going))
        order[left], order[right] = right, left
        return order

    def _to_the_front(self, keys: Sequence[str]) -> None:
        wanted = set(keys)
        left = [place for place in range(len(keys)) if self._keys[place] not in wanted]
        places = (self._places[key] for key in keys)
        right = sorted(place for place in places if place >= len(keys))
        if left:
            self._exchange(left, right, max(map(len, self._fed)))

    def _exchange(self, left: list[int], right: list[int], width: int) -> None:
        for one, other in zip(left, right, strict=True):
            self._keys[one], self._keys[other] = self._keys[other], self._keys[one]
            self._fed[one], self._fed[other] = self._fed[other], self._fed[one]
            self._places[self._keys[one]], self._places[self._keys[other]] = one, other
        if left:
            self._slots.swap(left, right, width)
