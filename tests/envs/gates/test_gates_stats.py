"""Wilson intervals and rates."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_envs.gates.stats import Rate, wilson


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        (0, 0, 0.0, 1.0),
        (0, 20, 0.0, 0.161125),
        (20, 20, 0.838875, 1.0),
        (3, 20, 0.052369, 0.360420),
        (10, 20, 0.299298, 0.700702),
        (50, 100, 0.403832, 0.596168),
    ],
)
def test_wilson_matches_values_worked_out_by_hand(successes, trials, low, high):
    assert wilson(successes, trials) == pytest.approx((low, high), abs=2e-6)


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_holds_the_share_and_mirrors(counts):
    successes, trials = counts
    low, high = wilson(successes, trials)
    assert 0.0 <= low <= successes / trials + 1e-12
    assert successes / trials - 1e-12 <= high <= 1.0
    mirrored = wilson(trials - successes, trials)
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=1e-9)


def test_wilson_refuses_impossible_counts():
    with pytest.raises(ValueError, match="successes must be in"):
        wilson(3, 2)


def test_a_rate_counts_full_scores_and_averages_all():
    rate = Rate.of([1.0, 0.25, 0.0, 1.0])
    assert rate == Rate(2, 4, 0.5625)
    assert rate.as_json()["wilson_95"] == [0.15, 0.85]
    assert Rate.of([]) == Rate(0, 0, 0.0)
