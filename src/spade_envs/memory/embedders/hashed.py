"""Hashed n-grams: an embedder that needs nothing but numpy and is the same everywhere.

Each text is a bag of words, pairs of neighbouring words and five letters in a row; each of these
adds plus or minus its weight at one place of the vector. It finds texts that share words or stems.
It knows no synonyms; for those there are models.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from spade_envs.errors import ConfigError
from spade_envs.memory.embedders.base import MAX_DIMENSION, Vectors

_WORD = re.compile(r"[^\W_]+")
_STOP = frozenset(
    (
        *("a", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "do", "each"),
        *("every", "for", "from", "had", "has", "have", "if", "in", "into", "is", "it", "its"),
        *("may", "must", "no", "not", "of", "on", "one", "only", "or", "other", "own", "same"),
        *("so", "such", "than", "that", "the", "their", "them", "then", "there", "these", "they"),
        *("this", "those", "to", "two", "was", "were", "what", "when", "where", "which", "who"),
        *("will", "with", "you", "your", "answer", "give", "self", "return", "find"),
    )
)
_WORD_WEIGHT, _PAIR_WEIGHT, _LETTERS_WEIGHT = 1.0, 0.2, 0.4
_LETTERS = 5
_MAX_WORD = 40


class HashedEmbedder:
    """Embeds by hashed n-grams.

    Args:
        dimension: length of the vectors, in [16, 16384]; the shorter, the more n-grams share a
            place.

    Raises:
        ConfigError: the dimension is out of range.
    """

    def __init__(self, dimension: int = 1024) -> None:
        if not 16 <= dimension <= MAX_DIMENSION:
            raise ConfigError(f"dimension must be in [16, {MAX_DIMENSION}], not {dimension}")
        self._dimension = dimension

    @property
    def name(self) -> str:
        """`hashed`."""
        return "hashed"

    @property
    def revision(self) -> str:
        """Number of this way of hashing."""
        return "1"

    @property
    def dimension(self) -> int:
        """Length of the vectors."""
        return self._dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text, float32 of shape (texts, dimension); unit or zero."""
        rows = np.zeros((len(texts), self._dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[:] = self._row(text)
        return rows

    def _row(self, text: str) -> NDArray[np.float64]:
        words = [word[:_MAX_WORD] for word in _WORD.findall(text.lower()) if word not in _STOP]
        numbers: list[int] = []
        weights: list[float] = []
        for word, count in Counter(words).items():
            for number, weight in _grams_of(word):
                numbers.append(number)
                weights.append(weight * count**0.5)
        for (first, second), count in Counter(pairwise(words)).items():
            numbers.append(_hash(f"p\0{first} {second}"))
            weights.append(_PAIR_WEIGHT * count**0.5)
        if not numbers:
            return np.zeros(self._dimension)
        hashes = np.array(numbers, dtype=np.int64)
        signed = np.where(hashes & 1, 1.0, -1.0) * np.array(weights)
        row: NDArray[np.float64] = np.zeros(self._dimension)
        np.add.at(row, (hashes >> 1) % self._dimension, signed)
        length = float(np.linalg.norm(row))
        return row / length if length > 0 else row


@lru_cache(1 << 14)
def _grams_of(word: str) -> tuple[tuple[int, float], ...]:
    """Return number and weight of a word and of every five letters in a row."""
    marked = f"<{word}>"
    starts = range(max(1, len(marked) - _LETTERS + 1))
    letters = {marked[start : start + _LETTERS] for start in starts}
    found = [(_hash(f"w\0{word}"), _WORD_WEIGHT)]
    found += [(_hash(f"l\0{gram}"), _LETTERS_WEIGHT) for gram in sorted(letters)]
    return tuple(found)


def _hash(gram: str) -> int:
    return zlib.crc32(gram.encode("utf-8", "surrogatepass"))
