"""Which passage a draw gives: orders that are pure functions of a seed and a position."""

from __future__ import annotations

import hashlib
import random
from array import array
from dataclasses import dataclass
from functools import lru_cache

LARGEST_SHUFFLE = 1 << 18
"""Up to so many passages an order is a shuffled list; beyond, a permutation computed place by
place, which needs neither time nor memory for the others."""
_ROUNDS = 6


def shuffled(key: str, epoch: int, count: int, place: int) -> int:
    """Return what stands at a place of an epoch's order of range(count).

    Args:
        key: what the order depends on, such as the seed.
        epoch: number of the order, >= 0.
        count: >= 1.
        place: in [0, count).
    """
    if count <= LARGEST_SHUFFLE:
        return _order(key, epoch, count)[place]
    return _permuted(f"spade-corpus/{key}/{epoch}", count, place)


def anywhere(key: str, position: int, count: int) -> int:
    """Return a uniform draw from range(count) that depends on key and position alone."""
    return random.Random(f"spade-corpus/{key}/any/{position}").randrange(count)


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a corpus of several sources is drawn from."""

    counts: tuple[int, ...]
    """Passages of each source; they are numbered through."""
    shares: tuple[int, ...] = ()
    """Draws of each source in a round; empty if every passage is drawn equally often."""
    replacement: bool = False

    def index(self, seed: int, position: int) -> int:
        """Return the number of the passage that a draw gives, in [0, sum(counts)).

        Without replacement every passage of a source comes once before any comes twice. Rounds
        hold exactly the shares, each in an order of its own.
        """
        if not self.shares:
            count = sum(self.counts)
            if self.replacement:
                return anywhere(str(seed), position, count)
            epoch, place = divmod(position, count)
            return shuffled(str(seed), epoch, count, place)
        number, place = divmod(position, sum(self.shares))
        turns = _round(seed, number, self.shares)
        source = turns[place]
        count, first = self.counts[source], sum(self.counts[:source])
        if self.replacement:
            return first + anywhere(str(seed), position, count)
        drawn = number * self.shares[source] + turns[:place].count(source)
        epoch, place = divmod(drawn, count)
        return first + shuffled(f"{seed}/source/{source}", epoch, count, place)


@lru_cache(maxsize=8)
def _order(key: str, epoch: int, count: int) -> array[int]:
    # A str seed is hashed by random itself (sha512), so PYTHONHASHSEED does not matter.
    order = list(range(count))
    random.Random(f"spade-corpus/{key}/{epoch}").shuffle(order)
    return array("I", order)


@lru_cache(maxsize=4)
def _round(seed: int, number: int, shares: tuple[int, ...]) -> tuple[int, ...]:
    turns = [source for source, share in enumerate(shares) for _ in range(share)]
    random.Random(f"spade-corpus/{seed}/round/{number}").shuffle(turns)
    return tuple(turns)


def _permuted(key: str, count: int, place: int) -> int:
    """Return where a Feistel network over a power of four sends `place`, walked back into range."""
    half = ((count - 1).bit_length() + 1) // 2
    mask = (1 << half) - 1
    while True:
        left, right = place >> half, place & mask
        for number in range(_ROUNDS):
            text = f"{key}/{number}/{right}".encode()
            mixed = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")
            left, right = right, left ^ (mixed & mask)
        place = left << half | right
        if place < count:
            return place
