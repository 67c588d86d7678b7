"""The learning rate of each update."""

from __future__ import annotations

import math

from spade_train.config.learning import Optimizer


def rate_factor(update: int, optimizer: Optimizer, updates: int) -> float:
    """Return what the learning rate is multiplied by, in [0, 1].

    It rises over the first `warmup` updates in equal steps, none of which is 0: an update without
    effect would waste its episodes. Then it stays, or falls to 0 at the end of the run.

    Args:
        update: number of the update, from 0.
        optimizer: schedule and warm-up.
        updates: updates of the whole run, >= 1.
    """
    warmup = optimizer.warmup
    if update < warmup:
        return (update + 1) / (warmup + 1)
    if optimizer.schedule == "constant":
        return 1.0
    done = min((update - warmup) / max(updates - warmup, 1), 1.0)
    return 1.0 - done if optimizer.schedule == "linear" else 0.5 * (1.0 + math.cos(math.pi * done))
