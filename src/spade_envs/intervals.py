"""Intervals around measured rates, means and differences, from sums that simply add up."""

from __future__ import annotations

import math

Z_95 = 1.959963984540054

Interval = tuple[float, float]
"""Lower and upper end."""


def wilson(successes: float, trials: int, *, z: float = Z_95) -> Interval:
    """Return the Wilson score interval of a success rate; (0, 1) if there were no trials.

    Args:
        successes: number of successes, in [0, trials].
        trials: number of trials, >= 0.
        z: half width in standard normal units; the default gives 95 %.

    Raises:
        ValueError: the counts are out of range.
    """
    if not 0 <= successes <= trials:
        raise ValueError(f"successes must be in [0, {trials}], not {successes}")
    if trials == 0:
        return 0.0, 1.0
    share = successes / trials
    scale = 1.0 + z * z / trials
    centre = (share + z * z / (2 * trials)) / scale
    spread = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials)) / scale
    return max(0.0, min(share, centre - spread)), min(1.0, max(share, centre + spread))


def mean_interval(total: float, squares: float, trials: int, *, z: float = Z_95) -> Interval | None:
    """Return the normal interval of a mean from sums; None below two trials.

    It has no width where every value was the same, which few values are by luck.

    Args:
        total: sum of the values.
        squares: sum of their squares.
        trials: number of values.
        z: half width in standard normal units.
    """
    if trials < 2:
        return None
    mean = total / trials
    variance = max(0.0, squares - total * mean) / (trials - 1)
    spread = z * math.sqrt(variance / trials)
    return mean - spread, mean + spread


def gain_interval(
    first: tuple[int, int], second: tuple[int, int], *, both: int | None = None, z: float = Z_95
) -> Interval:
    """Return the interval of the second success rate minus the first, within [-1, 1].

    Newcombe's square-and-add of two Wilson intervals. It keeps its width for few trials and at the
    ends, where that of the mean of differences has none.

    Args:
        first: successes and trials.
        second: the same of the other arm.
        both: for paired trials, the pairs with a success in both arms; that rates of pairs move
            together is then counted in. None for arms that played unrelated instances.
        z: half width in standard normal units.

    Raises:
        ValueError: counts are out of range, an arm is empty, or pairs are not as many in both arms.

    Source: R. G. Newcombe, Statistics in Medicine 17 (1998), 873-890 (unpaired, method 10) and
        2635-2650 (paired, method 10).
    """
    (wins, trials), (others, other_trials) = first, second
    if not (trials and other_trials):
        raise ValueError("a difference needs trials in both arms")
    (low, high), (other_low, other_high) = (
        wilson(wins, trials, z=z),
        wilson(others, other_trials, z=z),
    )
    rate, other = wins / trials, others / other_trials
    shared = 0.0 if both is None else _correlation(wins, others, both, trials, other_trials)
    below, above = other - other_low, other_high - other
    own_below, own_above = rate - low, high - rate
    down = below**2 - 2 * shared * below * own_above + own_above**2
    up = above**2 - 2 * shared * above * own_below + own_below**2
    gain = other - rate
    return (
        max(-1.0, gain - math.sqrt(max(0.0, down))),
        min(1.0, gain + math.sqrt(max(0.0, up))),
    )


def _correlation(wins: int, others: int, both: int, pairs: int, other_pairs: int) -> float:
    """Return the phi coefficient of paired successes, drawn to 0 by half a pair from above.

    0 where an arm never varies.
    """
    if pairs != other_pairs:
        raise ValueError(f"pairs need as many trials in both arms, not {pairs} and {other_pairs}")
    if not max(0, wins + others - pairs) <= both <= min(wins, others):
        raise ValueError(f"{both} pairs cannot have won in both arms")
    spread = wins * (pairs - wins) * others * (pairs - others)
    excess = float(both * pairs - wins * others)
    if excess > 0:
        excess = max(0.0, excess - pairs / 2)
    return excess / math.sqrt(spread) if spread else 0.0
