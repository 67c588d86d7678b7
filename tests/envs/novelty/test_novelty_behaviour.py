"""Behaviour vectors: what they keep and what they pass over."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.novelty.kit_novelty import SIX, SUM, one_turn
from spade_envs.novelty.behaviour import DIMENSION, behaviour, distance, unit
from spade_envs.novelty.kept import _decoded, _encoded
from spade_envs.types import EnvSource

rows = st.lists(st.floats(-1, 1, width=32), min_size=DIMENSION // 32, max_size=DIMENSION // 32).map(
    lambda some: unit(np.array(some * 32))
)
told = rows.filter(lambda row: bool(np.any(row)))


@settings(max_examples=30, deadline=None)
@given(told, told)
def test_distance_is_symmetric_and_zero_to_itself(one, other):
    assert distance(one, other) == pytest.approx(distance(other, one), abs=1e-6)
    assert distance(one, one) == pytest.approx(0.0, abs=1e-6)
    assert 0 <= distance(one, other) <= 2 + 1e-6


@settings(max_examples=30, deadline=None)
@given(told)
def test_what_is_kept_is_what_was_measured(row):
    assert np.allclose(_decoded(_encoded(row)), row, atol=1e-6)


def test_names_and_words_do_not_matter_and_rules_do():
    base = behaviour(SUM)
    words = behaviour(one_turn("TotalEnv", "self.a + self.b", "Which total have", doc="Totals."))
    assert distance(base, words) == pytest.approx(0.0, abs=1e-6)
    assert all(distance(base, behaviour(other)) > 0.3 for other in SIX[1:])


def test_turns_and_payments_matter():
    """The same questions and answers, but a wrong answer does not end the episode."""
    lasting = one_turn("SumEnv", "self.a + self.b", "Add the numbers", turns=3, miss="say")
    assert 0.05 < distance(behaviour(SUM), behaviour(lasting)) < 0.3


@pytest.mark.parametrize(
    "code",
    [
        "class NoEnv:\n    pass\n",
        "this is not Python",
        SUM.code.replace("super().reset", "1/0; super().reset"),
        SUM.code.replace("str(self.a + self.b)", "'yes' if self.a > 50 else 'no'")
        .replace("{self.a} and {self.b}", "that"),
    ],
    ids=["no class", "no Python", "no reset", "two answers and no numbers"],
)  # fmt: skip
def test_what_tells_too_little_has_no_vector(code):
    assert behaviour(EnvSource(code=code)) is None


def test_two_runs_give_the_same_vector():
    assert np.array_equal(behaviour(SUM), behaviour(SUM))
