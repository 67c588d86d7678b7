"""Vectors of the texts that were asked for last: a corpus is drawn from again and again."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import islice

import numpy as np

from spade_envs.memory.embedders.base import Embedder, Vectors, embed

RECENT = 4096
"""Texts whose vectors are held, where there is room for them."""
RECENT_BYTES = 16 << 20
"""Bytes of the vectors that are held: all of `RECENT` up to 1024 dimensions, 256 of 16384."""


class RecentVectors:
    """Embeds texts, and each only once as long as it is among the last ones.

    Args:
        embedder: makes the vectors.
        most: how many are held, >= 1; those that were not asked for longest go first.
        most_bytes: of the vectors that are held together, >= 1; fewer are held if they are long.
    """

    def __init__(
        self, embedder: Embedder, most: int = RECENT, *, most_bytes: int = RECENT_BYTES
    ) -> None:
        self._embedder, self._most, self._most_bytes = embedder, most, most_bytes
        self._rows: dict[bytes, Vectors] = {}

    def of(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text, of length 1 or zeros, float32 of shape (texts, dimension).

        Raises:
            ClientError: the embedder failed; nothing of this call is held.
        """
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        found = {key: row for key in keys if (row := self._rows.get(key)) is not None}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        made = embed(self._embedder, list(missing.values()))
        found |= zip(missing, (row.copy() for row in made), strict=True)
        for key, row in found.items():
            self._rows.pop(key, None)  # those asked for now are the last
            self._rows[key] = row
        room = min(self._most, self._most_bytes // max(1, made.shape[1] * made.itemsize))
        for key in list(islice(self._rows, max(0, len(self._rows) - room))):
            self._rows.pop(key, None)
        if not keys:
            return made
        return np.stack([found[key] for key in keys])
