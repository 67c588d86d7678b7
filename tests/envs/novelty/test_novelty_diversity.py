"""Figures of diversity: laws that hold for any vectors, and values by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spade_envs.novelty.diversity import diversity, nearest_distances, vendi_score


def random_rows(seed, count, dimension):
    rows = np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@given(st.integers(1, 40), st.integers(1, 24), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_of_n_equal_ones_there_is_one(count, dimension, seed):
    rows = np.repeat(random_rows(seed, 1, dimension), count, axis=0)
    assert vendi_score(rows) == pytest.approx(1.0, abs=1e-4)
    assert nearest_distances(rows) == pytest.approx([0.0] * (count if count > 1 else 0), abs=1e-5)


@given(st.integers(1, 24), st.integers(0, 8), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_of_n_that_share_nothing_there_are_n(count, more, seed):
    turned, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(count + more, count + more)))
    rows = turned[:count].astype(np.float32)
    assert vendi_score(rows) == pytest.approx(count, rel=1e-4)
    assert nearest_distances(rows) == pytest.approx([1.0] * (count if count > 1 else 0), abs=1e-5)


@given(st.integers(2, 30), st.integers(1, 40), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_the_score_lies_between_and_knows_no_order(count, dimension, seed):
    rows = random_rows(seed, count, dimension)
    score = vendi_score(rows)
    assert 1 - 1e-6 <= score <= min(count, dimension) + 1e-6
    assert vendi_score(rows[::-1]) == pytest.approx(score)
    assert vendi_score(np.repeat(rows, 2, axis=0)) == pytest.approx(score)  # copies add nothing


def test_two_at_an_angle_by_hand():
    cosine = 0.6
    rows = np.array([[1.0, 0.0], [cosine, 0.8]])
    low, high = (1 - cosine) / 2, (1 + cosine) / 2
    assert vendi_score(rows) == pytest.approx(low**-low * high**-high)
    assert nearest_distances(rows) == pytest.approx([0.4, 0.4])


def test_a_sample_is_compared_with_all_and_nothings_are_left_out():
    rows = np.zeros((5, 4), dtype=np.float32)
    rows[0, 0] = rows[1, 1] = rows[3, 0] = rows[4, 2] = 1.0  # the third says nothing
    found = diversity(rows, without=2, cap=2)
    assert (found.environments, found.left_out, found.sample) == (4, 3, 2)
    assert found.distances == (0.0, 1.0)  # the twin of the first is outside the sample
    assert found.vendi == pytest.approx(2.0)
    assert (sum(found.histogram), found.histogram[0], found.histogram[-1]) == (2, 1, 1)
    assert (found.mean, found.quantile(0.5), found.quantile(1.0)) == (0.5, 0.5, 1.0)


def test_of_nothing_and_of_one_alone_nothing_is_claimed():
    for rows in (np.zeros((0, 8), dtype=np.float32), np.zeros((3, 8), dtype=np.float32)):
        found = diversity(rows)
        assert (found.vendi, found.distances, found.mean, found.quantile(0.5)) == (
            0.0,
            (),
            None,
            None,
        )
    alone = diversity(np.eye(1, 8, dtype=np.float32))
    assert (alone.vendi, alone.distances, alone.sample) == (pytest.approx(1.0), (), 1)


def test_opposites_are_further_than_strangers():
    rows = np.array([[1.0, 0.0], [-1.0, 0.0]], dtype=np.float32)
    found = diversity(rows)
    assert found.distances == (2.0, 2.0)
    assert found.histogram[-1] == 2
