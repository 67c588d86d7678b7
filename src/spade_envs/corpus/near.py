"""Near-duplicate passages by MinHash; the only door to rensa, which is loaded on first use.

Signatures and band keys go to arrays as passages are read, on disk for large corpora. Candidates
are passages that share a band key; they are found by sorting one band after the other, so that
memory holds about thirty bytes per passage, and confirmed by their signatures.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from spade_envs.corpus.index import Column, mapped
from spade_envs.errors import MissingExtra

_RUN = 5
"""Words in a row whose sets are compared."""
_SIGNATURE = 64
_STRICT = 0.7
"""From this threshold on bands have four values, below two: at the threshold itself 99 of 100
repetitions share one of the sixteen or thirty-two bands."""
_BATCH = 256
_SIGNATURES, _KEYS = np.dtype(("<u4", (_SIGNATURE,))), np.dtype("<u8")
_WORD = re.compile(r"\w+")
_MULTIPLIERS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F], dtype=np.uint64)


class NearDuplicates:
    """Takes passages in reading order and then tells which repeat an earlier one."""

    def __init__(self, threshold: float, folder: Path | None) -> None:
        """Begin.

        Args:
            threshold: estimated Jaccard similarity of 5-word runs from which on a passage repeats
                another, in [0.4, 1].
            folder: where to keep signatures meanwhile; None for memory.

        Raises:
            MissingExtra: rensa is not installed.
        """
        try:
            from rensa import RMinHash
        except ImportError:
            raise MissingExtra("rensa", "data") from None
        self._hasher: Any = RMinHash
        self._threshold = threshold
        self._bands = _SIGNATURE // (4 if threshold >= _STRICT else 2)
        self._paths = (
            [] if folder is None else [folder / f"near-{n}.bin" for n in range(self._bands + 1)]
        )
        paths: Sequence[Path | None] = self._paths or [None] * (self._bands + 1)
        self._signatures = Column(_SIGNATURES, paths[0])
        self._keys = [Column(_KEYS, path) for path in paths[1:]]
        self._waiting: list[list[str]] = []

    def add(self, text: str) -> None:
        """Take the next passage."""
        words = _WORD.findall(text.lower())
        runs = [" ".join(words[at : at + _RUN]) for at in range(max(1, len(words) - _RUN + 1))]
        self._waiting.append(runs)
        if len(self._waiting) == _BATCH:
            self._flush()

    def kept(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Return for every passage whether it is the first of its like, and forget all."""
        self._flush()
        signatures = mapped(self._signatures.finish(), _SIGNATURES)
        pairs = [_candidates(mapped(keys.finish(), _KEYS)) for keys in self._keys]
        alike = _confirmed(np.concatenate(pairs), signatures, self._threshold)
        kept = np.ones(self._signatures.count, dtype=np.bool_)
        for later, earlier in alike.tolist():
            if kept[earlier]:
                kept[later] = False
        for path in self._paths:
            path.unlink()
        return kept

    def _flush(self) -> None:
        if not self._waiting:
            return
        runs, self._waiting = self._waiting, []
        digests = self._hasher.digests_from_token_sets(runs, num_perm=_SIGNATURE, seed=0)
        found = np.array(digests, dtype="<u4")
        self._signatures.extend(found)
        keys = np.ascontiguousarray(found).view("<u8")
        if self._bands < keys.shape[1]:
            mixed = keys.reshape(len(runs), self._bands, 2) * _MULTIPLIERS
            keys = mixed[:, :, 0] ^ (mixed[:, :, 1] >> np.uint64(29)) ^ mixed[:, :, 1]
        for band, column in enumerate(self._keys):
            column.extend(np.ascontiguousarray(keys[:, band]))


def _candidates(keys: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return pairs (later, earlier): every passage with the first and with the last before it."""
    order = np.argsort(keys, kind="stable").astype("<u4")
    ordered = keys[order]
    same = np.flatnonzero(ordered[1:] == ordered[:-1]) + 1
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(keys) else same
    first = starts[np.searchsorted(starts, same, side="right") - 1]
    pairs = np.concatenate(
        [
            np.stack([order[same], order[first]], axis=1),
            np.stack([order[same], order[same - 1]], axis=1),
        ]
    )
    return np.unique(pairs, axis=0)


def _confirmed(
    pairs: np.ndarray[Any, Any], signatures: np.ndarray[Any, Any], threshold: float
) -> np.ndarray[Any, Any]:
    """Return the pairs whose signatures agree often enough, sorted by the later passage."""
    pairs = np.unique(pairs, axis=0)
    enough = np.zeros(len(pairs), dtype=np.bool_)
    for at in range(0, len(pairs), 4096):
        some = pairs[at : at + 4096]
        equal = signatures[some[:, 0]] == signatures[some[:, 1]]
        enough[at : at + 4096] = equal.mean(axis=1) >= threshold
    return pairs[enough]
