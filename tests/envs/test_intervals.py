"""Intervals: they hold the estimate, shrink with the trials and cover what they say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_envs.intervals import gain_interval, mean_interval, wilson

SLACK = 1e-12


@st.composite
def tables(draw):
    """Draw the numbers of pairs: all, won without, won with, won both times."""
    pairs = draw(st.integers(1, 200))
    won, hinted = draw(st.integers(0, pairs)), draw(st.integers(0, pairs))
    return pairs, won, hinted, draw(st.integers(max(0, won + hinted - pairs), min(won, hinted)))


@given(tables())
def test_an_interval_of_a_gain_holds_the_gain_and_shrinks_with_the_pairs(table):
    pairs, won, hinted, both = table
    low, high = gain_interval((won, pairs), (hinted, pairs), both=both)
    assert -1 <= low <= SLACK + (hinted - won) / pairs <= high + 2 * SLACK
    more = gain_interval((4 * won, 4 * pairs), (4 * hinted, 4 * pairs), both=4 * both)
    assert more[1] - more[0] <= high - low + SLACK
    assert high - low > 0


@given(st.integers(1, 500), st.data())
def test_wilson_holds_the_share_and_shrinks(trials, data):
    won = data.draw(st.integers(0, trials))
    low, high = wilson(won, trials)
    assert 0 <= low <= won / trials
    assert won / trials <= high <= 1
    narrower = wilson(4 * won, 4 * trials)
    assert narrower[1] - narrower[0] < high - low


@given(st.lists(st.floats(-10, 10), min_size=2, max_size=30))
def test_a_mean_interval_holds_the_mean_and_is_that_of_the_values(values):
    low, high = mean_interval(sum(values), sum(v * v for v in values), len(values))
    mean = sum(values) / len(values)
    assert low <= mean <= high
    spread = 1.959963984540054 * np.std(values, ddof=1) / len(values) ** 0.5
    assert high - mean == pytest.approx(spread, abs=1e-5)


def test_published_examples():
    # Newcombe 1998, unpaired, table II, contrast (a), method 10
    low, high = gain_interval((56, 70), (48, 80))
    assert (low, high) == pytest.approx((-0.3339, -0.0524), abs=5e-4)


def test_few_wins_alone_do_not_make_an_interval_without_width():
    low, high = gain_interval((0, 4), (4, 4), both=0)
    assert high == 1.0
    assert 0.2 < low < 0.6


def test_nine_in_ten_intervals_of_pairs_hold_the_true_gain():
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(600):
        plain = rng.random(40) < 0.3
        hinted = plain | (rng.random(40) < 2 / 7)  # so that pairs move together, 0.2 apart
        truth = 0.2
        counts = int(plain.sum()), int(hinted.sum()), int((plain & hinted).sum())
        low, high = gain_interval((counts[0], 40), (counts[1], 40), both=counts[2])
        held += low <= truth <= high
    assert 0.92 <= held / 600 <= 1.0


@pytest.mark.parametrize(
    "numbers",
    [((3, 2), (1, 2), None), ((1, 2), (1, 3), 1), ((2, 2), (2, 2), 1), ((0, 0), (1, 1), None)],
)
def test_counts_that_cannot_be_are_refused(numbers):
    first, second, both = numbers
    with pytest.raises(ValueError, match=r"must be in|pairs|needs trials"):
        gain_interval(first, second, both=both)


def test_one_value_has_no_mean_interval():
    assert mean_interval(1.0, 1.0, 1) is None
