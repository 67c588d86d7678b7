import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spade_train.curriculum import (
    SlidingWindow,
    active_skills,
    draw_levels,
    epoch_of,
    is_design_update,
    level_weights,
)
from spade_train.errors import DataError, StateError
from spade_train.pool import PoolCursor
from spade_train.types import as_json, from_json


@settings(deadline=None)
@given(count=st.integers(1, 12), per_epoch=st.integers(1, 12), start=st.integers(0, 50))
def test_every_skill_has_its_turn_equally_often(count, per_epoch, start):
    turns = Counter()
    for epoch in range(start * count, (start + 1) * count):
        window = active_skills(range(count), per_epoch, epoch)
        assert len(set(window)) == len(window) == min(per_epoch, count)
        turns.update(window)
    assert set(turns.values()) == {min(per_epoch, count)}


def test_without_an_interval_nothing_is_designed():
    assert not any(is_design_update(update, 0) for update in range(9))
    assert epoch_of(8, 0) == 0


def test_levels_at_the_frontier_get_most_and_unknown_ones_something():
    weights = level_weights([20, 10, 0, 0], [20, 20, 20, 0])
    assert weights.sum() == pytest.approx(1.0)
    # won * lost / ((won + lost) (won + lost + 1)) with one success and one failure added to each.
    expected = np.array([21 / 506, 121 / 506, 21 / 506, 1 / 6])
    assert weights == pytest.approx(expected / expected.sum())
    assert np.argmax(weights) == 1


@settings(deadline=None)
@given(
    weights=st.lists(st.floats(0, 10), min_size=1, max_size=8).filter(lambda each: sum(each) > 0.1),
    count=st.integers(0, 40),
    seed=st.integers(0, 2**32),
)
def test_levels_are_drawn_within_one_of_their_share(weights, count, seed):
    drawn = draw_levels(weights, count, np.random.default_rng(seed))
    assert drawn.size == count
    for level, weight in enumerate(weights):
        share = weight / sum(weights) * count
        assert abs(np.sum(drawn == level) - share) < 1.0 + 1e-6
        if weight == 0:
            assert level not in drawn


def test_levels_are_drawn_in_proportion():
    rng = np.random.default_rng(0)
    drawn = np.concatenate([draw_levels([1, 2, 1], 3, rng) for _ in range(2000)])
    assert np.bincount(drawn) / drawn.size == pytest.approx([0.25, 0.5, 0.25], abs=0.02)


def test_only_the_highest_level_moves_the_window():
    window = SlidingWindow(high=3, enough=10)
    assert window.record(2, episodes=50, successes=50) == window
    window = window.record(3, episodes=6, successes=6)
    assert (window.high, window.episodes) == (3, 6)
    window = window.record(3, episodes=4, successes=3)
    assert (window.low, window.high, window.episodes, window.successes) == (1, 4, 0, 0)


def test_the_window_stops_at_the_top_and_keeps_its_width():
    window = SlidingWindow(enough=1, top=5)
    for _ in range(9):
        window = window.record(window.high, episodes=1, successes=1)
    assert (window.low, window.high) == (2, 5)
    drawn = window.draw(4000, np.random.default_rng(3))
    assert np.bincount(drawn)[2:] / 4000 == pytest.approx([0.25] * 4, abs=0.03)


@settings(deadline=None)
@given(
    size=st.integers(1, 30),
    seed=st.integers(0, 2**31),
    counts=st.lists(st.integers(0, 40), max_size=8),
)
def test_every_pass_through_the_pool_visits_all_and_survives_a_restart(size, seed, counts):
    cursor = whole = PoolCursor(size=size, seed=seed)
    drawn = []
    for count in counts:
        part, cursor = cursor.draw(count)
        cursor = from_json(PoolCursor, json.loads(json.dumps(as_json(cursor))))
        drawn += part
    assert tuple(drawn) == whole.draw(sum(counts))[0]
    for start in range(0, len(drawn) - size + 1, size):
        assert sorted(drawn[start : start + size]) == list(range(size))


def test_passes_differ_and_seeds_differ():
    first, cursor = PoolCursor(size=50).draw(50)
    assert first != cursor.draw(50)[0]
    assert first != PoolCursor(size=50, seed=1).draw(50)[0]


def test_state_round_trip_and_bad_states():
    window = SlidingWindow(low=1, high=2, episodes=5, successes=4, top=7)
    assert from_json(SlidingWindow, json.loads(json.dumps(as_json(window)))) == window
    with pytest.raises(StateError, match="SlidingWindow"):
        from_json(SlidingWindow, {"low": "1"})
    with pytest.raises(StateError, match="not a window"):
        from_json(SlidingWindow, {"low": 3, "high": 2})


@pytest.mark.parametrize(
    "call",
    [
        lambda: active_skills([], 1, 0),
        lambda: active_skills([1], -1, 0),
        lambda: epoch_of(-1, 4),
        lambda: level_weights([], []),
        lambda: level_weights([2], [1]),
        lambda: level_weights([1], [1, 1]),
        lambda: draw_levels([0.0], 1, np.random.default_rng(0)),
        lambda: draw_levels([1.0], -1, np.random.default_rng(0)),
        lambda: SlidingWindow(low=0, high=4),
        lambda: SlidingWindow().record(0, episodes=1, successes=2),
        lambda: PoolCursor(size=0),
        lambda: PoolCursor(size=3).draw(-1),
    ],
)
def test_bad_data(call):
    with pytest.raises(DataError):
        call()
