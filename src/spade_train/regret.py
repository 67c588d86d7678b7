"""Hint-based regret: what a hint adds to the agent's success, paired by instance.

Both arms play the same instances (level and seed) with the same weights and the same decoding. The
difference is taken within an instance, so that easy and hard seeds cancel out.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from spade_train.arrays import group_index, mask, shares
from spade_train.types import Bools, Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Regret:
    """Success with the hint minus success without it."""

    mean: float
    """In [-1, 1]."""
    standard_error: float | None
    """Of the mean, over instances; None if there were fewer than two. It is 0 where every instance
    gave the same difference, which few instances do by luck."""
    instances: int
    """Instances that both arms finished, >= 1."""
    success: float
    """Mean success without the hint over those instances, in [0, 1]."""
    hinted_success: float
    """The same with the hint."""
    dropped: int = 0
    """Instances left out because one arm has no episode without a fault."""

    def shrunk(self) -> float:
        """Return the mean, drawn to 0 by as much as noise explains; in [-1, 1].

        `mean * max(0, 1 - se^2 / mean^2)`, the positive-part James-Stein factor; 0 if the standard
        error is unknown. Source: none published; the published score takes the bare mean.
        """
        if self.standard_error is None or self.mean == 0.0:
            return 0.0
        return self.mean * max(0.0, 1.0 - (self.standard_error / self.mean) ** 2)


def paired_regret(
    successes: ArrayLike,
    with_hint: ArrayLike,
    instances: Sequence[Hashable],
    *,
    valid: ArrayLike | None = None,
) -> Regret | None:
    """Return the regret of one environment, or None if no instance was finished in both arms.

    The mean over instances of (mean success with hint - mean success without). With one episode
    per arm and instance this is the ordinary paired difference.

    Args:
        successes: success flags of the episodes of both arms, in [0, 1].
        with_hint: which of them were played with the hint.
        instances: the instance (level, seed, weights) that each of them played.
        valid: False where the environment failed; such an episode changes nothing.

    Raises:
        DataError: lengths differ, or a valid flag lies outside [0, 1].

    Source: the gap between both arms is that of the paper's framework figure; pairing and standard
        error are ours (the published code plays unrelated instances).
    """
    hinted = np.asarray(with_hint, dtype=np.bool_)
    kept = mask(valid, hinted.size)
    success = shares(successes, "successes", mask(kept, np.size(successes)))
    groups = group_index(instances, success.size)
    plain, plain_plays = _instance_means(success, groups, kept & ~hinted)
    helped, helped_plays = _instance_means(success, groups, kept & hinted)
    both = (plain_plays > 0) & (helped_plays > 0)
    if not both.any():
        return None
    gain = helped[both] - plain[both]
    return Regret(
        mean=float(gain.mean()),
        standard_error=_standard_error(gain),
        instances=int(gain.size),
        success=float(plain[both].mean()),
        hinted_success=float(helped[both].mean()),
        dropped=int(both.size - gain.size),
    )


def unpaired_regret(successes: ArrayLike, hinted_successes: ArrayLike) -> Regret | None:
    """Return the regret of two arms that played unrelated instances; None if one arm is empty.

    Only for runs that must repeat the published measure. Its standard error is the root of the sum
    of both arms' squared ones; `instances` counts the episodes of the smaller arm.

    Args:
        successes: success flags without the hint, in [0, 1]; faults left out by the caller.
        hinted_successes: the same with the hint; the number may differ.

    Raises:
        DataError: a flag lies outside [0, 1].

    Source: published implementation, hint statistics of the orchestrator (reference 5.2).
    """
    plain = shares(successes, "successes")
    helped = shares(hinted_successes, "hinted_successes")
    if plain.size == 0 or helped.size == 0:
        return None
    parts = [_standard_error(plain), _standard_error(helped)]
    known = [part for part in parts if part is not None]
    return Regret(
        mean=float(helped.mean() - plain.mean()),
        standard_error=math.hypot(*known) if len(known) == 2 else None,
        instances=min(plain.size, helped.size),
        success=float(plain.mean()),
        hinted_success=float(helped.mean()),
    )


def _instance_means(success: Floats, groups: Ints, counted: Bools) -> tuple[Floats, Ints]:
    size = int(groups.max()) + 1 if groups.size else 0
    plays = np.bincount(groups[counted], minlength=size)
    wins = np.bincount(groups[counted], weights=success[counted], minlength=size)
    return wins / np.maximum(plays, 1), plays


def _standard_error(values: Floats) -> float | None:
    if values.size < 2:
        return None
    return float(values.std(ddof=1) / math.sqrt(values.size))
