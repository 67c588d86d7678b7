"""Keys and values of many conversations in buffers that conversations enter and leave.

The cache of `transformers` holds rows of one length: shorter ones are padded, a row that ended
stays to the end, and nothing is kept from one turn to the next. Here every row has its own length.
A row's token number n always lies in column n, so nothing is padded, and columns beyond a row's
length are hidden by the mask.
"""

from __future__ import annotations

from typing import Any

import torch
from transformers.cache_utils import Cache

_COLUMNS = 64
"""Buffers grow by multiples of this."""


class Slots(Cache):  # type: ignore[misc]
    """The buffers of one block of conversations, as the cache of a forward pass.

    Before each pass `aim` says which rows it computes and where their new tokens go.
    """

    def __init__(self) -> None:
        super().__init__(layers=[])
        self._keys: list[torch.Tensor] = []
        self._values: list[torch.Tensor] = []
        self._rows: Any = slice(0, 0)
        self._where: tuple[torch.Tensor, torch.Tensor] | None = None
        self._width = 0
        self.room = (0, 0)
        """Rows and columns that the buffers have."""

    @property
    def dtype(self) -> torch.dtype | None:
        """In which values are computed: under autocast it is not that of the weights."""
        return self._values[0].dtype if self._values else None

    @property
    def bytes(self) -> int:
        """Memory that the buffers take."""
        return sum(t.numel() * t.element_size() for t in (*self._keys, *self._values))

    def reserve(self, rows: int, columns: int) -> None:
        """Make room for so many rows and columns, and for one column more, the dump."""
        if rows <= self.room[0] and columns < self.room[1]:
            return
        deep = self.room[0] if rows <= self.room[0] else max(rows, self.room[0] * 3 // 2)
        wide = self.room[1] if columns < self.room[1] else max(columns + 1, self.room[1] * 3 // 2)
        self.room = deep, -(-wide // _COLUMNS) * _COLUMNS
        self._keys = [self._grown(old) for old in self._keys]
        self._values = [self._grown(old) for old in self._values]

    def aim(self, rows: Any, columns: torch.Tensor, width: int) -> None:
        """Say where the next pass writes, and how many columns it reads.

        Args:
            rows: the rows it computes, B of them: a slice, or an int64 tensor.
            columns: int64 `(B, Q)`, where each new token goes; the last column is the dump.
            width: columns that are read, > every column that counts.
        """
        numbers = torch.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
        self._rows, self._width = rows, width
        self._where = numbers.to(columns.device)[:, None].expand_as(columns), columns

    def update(
        self,
        key_states: torch.Tensor,
        value_states: torch.Tensor,
        layer_idx: int,
        *_: Any,
        **__: Any,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write the new keys and values `(B, H, Q, D)`; return those to attend to."""
        if layer_idx == len(self._keys):
            self._keys.append(self._new(key_states))
            self._values.append(self._new(value_states))
        return (
            self._put(self._keys[layer_idx], key_states),
            self._put(self._values[layer_idx], value_states),
        )

    def swap(self, left: list[int], right: list[int], width: int) -> None:
        """Let the rows `left` and `right` change places, as far as `width` columns."""
        one, other = torch.tensor([*left, *right]), torch.tensor([*right, *left])
        for buffer in (*self._keys, *self._values):
            part = buffer[:, :, :width]
            part[one] = part[other]

    def copy(self, sources: list[int], rows: list[int], width: int) -> None:
        """Copy the first `width` columns of some rows into others, which are no sources."""
        one, other = torch.tensor(sources), torch.tensor(rows)
        for buffer in (*self._keys, *self._values):
            buffer[other, :, :width] = buffer[one, :, :width]

    def take_over(self, giver: Slots, theirs: int, ours: int, width: int) -> None:
        """Copy the first `width` columns of another's row into a row of this one."""
        if not self._keys:
            self._keys = [self._new(old) for old in giver._keys]
            self._values = [self._new(old) for old in giver._values]
        for mine, old in zip(self._keys, giver._keys, strict=True):
            mine[ours, :, :width] = old[theirs, :, :width]
        for mine, old in zip(self._values, giver._values, strict=True):
            mine[ours, :, :width] = old[theirs, :, :width]

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Return 0: positions are always given."""
        return 0

    def get_mask_sizes(self, query_length: int, layer_idx: int = 0) -> tuple[int, int]:
        """Return the columns that are read, and the first of them."""
        return self._width, 0

    # Buffers have the shape (rows, heads, columns, size): attention reads a head in one piece.

    def _put(self, buffer: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
        assert self._where is not None
        rows, columns = self._where
        buffer[rows, :, columns] = states.transpose(1, 2)
        return buffer[self._rows, :, : self._width]

    def _new(self, states: torch.Tensor) -> torch.Tensor:
        rows, columns = self.room
        return states.new_zeros((rows, states.shape[1], columns, states.shape[3]))

    def _grown(self, old: torch.Tensor) -> torch.Tensor:
        new = self._new(old)
        new[: old.shape[0], :, : old.shape[2] - 1] = old[:, :, :-1]
        return new
