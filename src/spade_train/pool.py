"""A fixed pool of environments, drawn without replacement."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from spade_train.errors import DataError


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolCursor:
    """A place in the endless sequence of passes through a pool: a pure value for the checkpoint.

    Every pass visits each environment once, in an order that only the seed and the number of the
    pass decide. A draw that crosses the end of a pass goes on in the next, so no environment is
    left out; it may then hold one of them twice.

    Source: published implementation, static pool (reference 8.2), which loses its place on resume.
    """

    size: int
    """Environments in the pool, >= 1."""
    seed: int = 42
    position: int = 0
    """Environments drawn so far, >= 0, counted over all passes."""

    def __post_init__(self) -> None:
        if self.size < 1 or self.position < 0 or self.seed < 0:
            raise DataError(f"not a place in a pool: {self}")

    @property
    def passes(self) -> float:
        """How often the pool has been gone through, with fractions."""
        return self.position / self.size

    def draw(self, count: int) -> tuple[tuple[int, ...], PoolCursor]:
        """Return the next `count` indices in [0, size), and the place after them.

        Raises:
            DataError: the count is negative.
        """
        if count < 0:
            raise DataError(f"cannot draw {count} environments")
        drawn: list[int] = []
        position = self.position
        while len(drawn) < count:
            number, place = divmod(position, self.size)
            order = np.random.default_rng([self.seed, number]).permutation(self.size)
            part = order[place : place + count - len(drawn)]
            drawn += map(int, part)
            position += part.size
        return tuple(drawn), replace(self, position=position)
