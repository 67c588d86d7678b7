"""Two players on the same tasks: the paired difference, and how likely chance alone makes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spade_envs.errors import ConfigError
from spade_envs.intervals import Interval, gain_interval, mean_interval
from spade_train.evaluate.records import Header, Record
from spade_train.evaluate.summary import task_rates

MCNEMAR = "McNemar's exact test; Newcombe's paired interval"
FLIPS = "sign-flip permutation test over tasks; normal interval of the mean difference"
_MOST_EXACT = 16
"""Tasks that differ up to which all signs are tried."""
_DRAWS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Success of the first player minus that of the second, on the tasks that both have."""

    first: str
    second: str
    tasks: int
    difference: float
    low: float | None
    high: float | None
    p: float
    """Two-sided, in (0, 1]."""
    method: str
    only_first: int
    """Tasks on which the first did better."""
    only_second: int


def compare(
    first: tuple[Header, Sequence[Record]],
    second: tuple[Header, Sequence[Record]],
    *,
    seed: int = 0,
) -> Difference:
    """Return the paired difference of two evaluations of one suite.

    With one attempt per task McNemar's exact test decides; with more, the signs of the differences
    between the tasks' means are flipped, all of them for few tasks, else at random.

    Args:
        first: header and records of one player.
        second: of the other.
        seed: of the random flips.

    Raises:
        ConfigError: the suites, their versions or settings differ, or no task has results of both.
    """
    (header, records), (other, others) = first, second
    if header.suite_digest != other.suite_digest:
        raise ConfigError(
            f"{header.player} played {header.suite} ({header.version}) and {other.player} "
            f"{other.suite} ({other.version}), or with other settings: they cannot be compared"
        )
    rates, other_rates = task_rates(records), task_rates(others)
    tasks = [task for task in rates if task in other_rates]
    if not tasks:
        raise ConfigError(
            f"{header.player} and {other.player} have no task of {header.suite} in common"
        )
    gaps = [rates[task] - other_rates[task] for task in tasks]
    better, worse = sum(gap > 0 for gap in gaps), sum(gap < 0 for gap in gaps)
    single = all(rate in (0.0, 1.0) for t in tasks for rate in (rates[t], other_rates[t]))
    if single and max(header.samples, other.samples) == 1:
        wins, other_wins = (round(sum(r[t] for t in tasks)) for r in (rates, other_rates))
        both = sum(rates[t] == other_rates[t] == 1.0 for t in tasks)
        counts = (other_wins, len(tasks)), (wins, len(tasks))
        interval: Interval | None = gain_interval(*counts, both=both)
        p, method = mcnemar(better, worse), MCNEMAR
    else:
        interval = mean_interval(sum(gaps), sum(gap * gap for gap in gaps), len(gaps))
        p, method = sign_flips(gaps, seed=seed), FLIPS
    return Difference(
        first=header.player,
        second=other.player,
        tasks=len(tasks),
        difference=sum(gaps) / len(gaps),
        low=interval[0] if interval else None,
        high=interval[1] if interval else None,
        p=p,
        method=method,
        only_first=better,
        only_second=worse,
    )


def mcnemar(better: int, worse: int) -> float:
    """Return the two-sided p of so many pairs for and against, by the exact binomial.

    Source: Q. McNemar, Psychometrika 12 (1947), 153-157, with the exact tail.
    """
    pairs = better + worse
    tail, term = 0, 1
    for k in range(min(better, worse) + 1):
        tail += term
        term = term * (pairs - k) // (k + 1)
    return min(1.0, float(2 * tail / 2**pairs))


def sign_flips(gaps: Sequence[float], *, seed: int = 0) -> float:
    """Return the two-sided p that differences this far from zero are chance.

    Args:
        gaps: one difference per task; those that are zero say nothing.
        seed: of the random signs, where there are too many tasks to try all.
    """
    sizes = np.abs(np.array([gap for gap in gaps if gap], dtype=np.float64))
    seen = abs(sum(gaps)) - 1e-9
    if not len(sizes):
        return 1.0
    if len(sizes) <= _MOST_EXACT:
        bits = np.arange(2 ** len(sizes))[:, None] >> np.arange(len(sizes)) & 1
        return float(np.mean(np.abs((2 * bits - 1) @ sizes) >= seen))
    signs = np.random.default_rng(seed).integers(0, 2, (_DRAWS, len(sizes)), dtype=np.int8) * 2 - 1
    hits = int(np.sum(np.abs(signs @ sizes) >= seen))
    return (hits + 1) / (_DRAWS + 1)
