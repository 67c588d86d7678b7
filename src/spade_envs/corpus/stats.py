"""What a corpus is made of, in figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from spade_envs.corpus.corpus import Corpus
from spade_envs.types import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Lengths:
    """Lengths of passages, in characters."""

    least: int
    low: int
    """A tenth of the passages are at most so long."""
    median: int
    high: int
    """A tenth of the passages are at least so long."""
    most: int
    histogram: tuple[tuple[int, int, int], ...]
    """(from, to, passages): from <= length < to, and the last one holds the longest, too."""


def lengths(corpus: Corpus, bins: int = 12) -> Lengths:
    """Return how long the passages are; reads the index alone.

    Args:
        corpus: at least one passage.
        bins: of the histogram, >= 1; fewer if the lengths are few.
    """
    pieces = [rows["end"] - rows["start"] for rows in corpus.index.passages.pieces()]
    sizes = np.concatenate(pieces)
    least, most = int(sizes.min()), int(sizes.max())
    width = _rounded(-(-(most - least + 1) // bins))
    first = least // width * width
    edges = np.arange(first, most + width + 1, width)
    counts, _ = np.histogram(sizes, edges)
    low, median, high = (int(found) for found in np.quantile(sizes, (0.1, 0.5, 0.9)))
    rows = zip(edges[:-1].tolist(), edges[1:].tolist(), counts.tolist(), strict=True)
    kept: list[tuple[int, int, int]] = list(rows)
    while len(kept) > 1 and not kept[-1][2]:
        kept.pop()
    return Lengths(least=least, low=low, median=median, high=high, most=most, histogram=tuple(kept))


def figures(corpus: Corpus) -> dict[str, Json]:
    """Return everything there is to tell about a corpus as plain JSON."""
    shares = _shares(corpus)
    measured = lengths(corpus)
    folder = corpus.index.folder
    return {
        "name": corpus.name,
        "fingerprint": corpus.fingerprint,
        "passages": len(corpus),
        "documents": sum(part.documents for part in corpus.parts),
        "characters": sum(part.characters for part in corpus.parts),
        "replacement": corpus.sampling.replacement,
        "sources": [
            {
                "name": part.name,
                "passages": part.passages,
                "documents": part.documents,
                "characters": part.characters,
                "share": share,
                "licence": part.licence,
                "fingerprint": part.fingerprint,
                "left_out": _plain(part.left_out),
                "unusable": _plain(part.unusable),
            }
            for part, share in zip(corpus.parts, shares, strict=True)
        ],
        "left_out": _plain(corpus.left_out),
        "unusable": _plain(corpus.unusable),
        "examples": list(corpus.skipped),
        "lengths": {
            "least": measured.least,
            "low": measured.low,
            "median": measured.median,
            "high": measured.high,
            "most": measured.most,
            "histogram": [list(row) for row in measured.histogram],
        },
        "index": None if folder is None else str(folder),
    }


def _shares(corpus: Corpus) -> list[float]:
    """Return the part of the draws that each source gets."""
    counts: tuple[int, ...] = corpus.sampling.shares or corpus.sampling.counts
    return [round(count / sum(counts), 6) for count in counts]


def _plain(counts: Mapping[str, int]) -> dict[str, Any]:
    return dict(counts)


def _rounded(width: int) -> int:
    """Return the least of 1, 2, 5, 10, 20, 50, ... that is at least `width`."""
    power = 1
    while True:
        for step in (1, 2, 5):
            if step * power >= width:
                return step * power
        power *= 10
