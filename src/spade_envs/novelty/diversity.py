"""How varied some environments are, from their vectors.

Two figures say different things. The Vendi score (Friedman and Dieng, 2023) is an effective number:
n equal environments count as 1, n that share nothing as n. The distances to the nearest neighbour
show where the repetitions are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spade_envs.memory.embedders.base import Vectors

SAMPLE = 2000
"""Most environments that the figures are taken of; their neighbours are looked for among all."""
BINS = 20
_TOGETHER = 512

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Diversity:
    """How varied some environments are."""

    environments: int
    """Those with a vector."""
    left_out: int
    """Those without, or of whose text the embedder makes nothing."""
    sample: int
    """Of how many the figures are, at most SAMPLE."""
    vendi: float
    """Effective number of different environments in the sample, in [1, sample]; 0 of none."""
    distances: tuple[float, ...]
    """From each of the sample to its nearest other one, ascending, in [0, 2]; none for one alone.
    """

    @property
    def histogram(self) -> tuple[int, ...]:
        """Number of distances in BINS equal parts of [0, 1]; the last one holds longer ones too."""
        counts, _ = np.histogram(np.minimum(self.distances, 1.0), bins=BINS, range=(0.0, 1.0))
        return tuple(counts.tolist())

    def quantile(self, share: float) -> float | None:
        """Return the distance below which this share of them lies; None if there are none."""
        return float(np.quantile(self.distances, share)) if self.distances else None

    @property
    def mean(self) -> float | None:
        """Mean distance to the nearest other one; None if there are none."""
        return float(np.mean(self.distances)) if self.distances else None


def diversity(rows: Vectors, *, without: int = 0, cap: int = SAMPLE) -> Diversity:
    """Return how varied environments are.

    Args:
        rows: their vectors, of length 1 (or 0), shape (environments, dimension). If there are more
            than `cap`, the first ones are the sample; in the order of digests that is a fair one.
        without: environments that have no vector.
        cap: most environments of the sample, >= 1.
    """
    kept = rows[np.any(rows, axis=1)] if len(rows) else rows
    sample = min(cap, len(kept))
    return Diversity(
        environments=len(kept),
        left_out=without + len(rows) - len(kept),
        sample=sample,
        vendi=vendi_score(kept[:sample]),
        distances=tuple(np.sort(nearest_distances(kept, sample)).tolist()),
    )


def vendi_score(rows: Vectors | Sequence[Sequence[float]]) -> float:
    """Return the effective number of different rows: 1 if all are equal, n if all are orthogonal.

    It is the exponential of the entropy of the eigenvalues of K / n, where K holds the cosines; the
    lesser of the matrix of rows and that of columns has the same ones.

    Args:
        rows: of length 1, shape (n, dimension); 0 for none.
    """
    array = np.asarray(rows, dtype=np.float64)
    if array.size == 0:
        return 0.0
    square = array @ array.T if len(array) <= array.shape[1] else array.T @ array
    values = np.clip(np.linalg.eigvalsh(square), 0.0, None)
    shares = values / values.sum()
    shares = shares[shares > 0]
    return float(np.exp(-(shares * np.log(shares)).sum()))


def nearest_distances(rows: Vectors, sample: int | None = None) -> Numbers:
    """Return the distance of each of the first rows to its nearest other row.

    Args:
        rows: of length 1, shape (n, dimension).
        sample: of how many; None for all. Of a single row there is no distance.
    """
    wanted = len(rows) if sample is None else sample
    if len(rows) < 2:
        return np.zeros(0)
    found = np.zeros(wanted)
    for start in range(0, wanted, _TOGETHER):
        stop = min(start + _TOGETHER, wanted)
        part = rows[start:stop] @ rows.T
        part[np.arange(stop - start), np.arange(start, stop)] = -np.inf
        found[start:stop] = 1.0 - part.max(axis=1)
    return np.clip(found, 0.0, 2.0)
