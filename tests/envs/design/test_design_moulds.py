"""Moulds: equal whatever is said and numbered, near for one idea, far for two."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.novelty.copies import copies
from envs.novelty.kit_novelty import SUM
from spade_envs.design.moulds import Mould, mould_of
from spade_envs.store import open_store, starter_path
from spade_envs.types import EnvSource

counts = st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 9), min_size=1)


def changed(old, new):
    assert old in SUM.code
    return mould_of(EnvSource(code=SUM.code.replace(old, new)))


def test_numbers_and_words_leave_a_mould_as_it_is():
    assert changed("max_turns = 2, 1", "max_turns = 4, 1e3") == mould_of(SUM)
    assert changed('"Right."', '"Well done 7."') == mould_of(SUM)


def test_numbers_beside_the_level_are_its_scale():
    other = changed("10**self.level", "7**self.level")
    assert other.distance(mould_of(SUM)) == 0
    assert other.scale != mould_of(SUM).scale


def test_what_does_not_read_the_level_has_no_scale():
    assert changed(" * 10**self.level", "").scale == ""
    assert (
        changed(" * 10**self.level for _ in range(2))", " for self.level in (1, 2))").scale == ""
    )  # set, not read


def test_another_statement_is_another_mould():
    loop = "for x in (1, 2):\n            self.a += x\n        self.want ="
    other = changed("self.want = ", loop)
    assert 0 < other.distance(mould_of(SUM)) < 0.14
    assert other.scale == mould_of(SUM).scale


def test_the_distance_is_that_of_bhattacharyya():
    one, other = Mould("", {"a": 4, "b": 1}), Mould("", {"a": 1, "c": 4})
    assert one.distance(other) == pytest.approx(1 - 2 / 5)


@given(counts, counts)
def test_distances_are_symmetric_and_between_0_and_1(a, b):
    one, other = Mould("", a), Mould("", b)
    assert 0 <= one.distance(other) == other.distance(one) <= 1
    assert one.distance(one) == pytest.approx(0)
    assert (one.distance(other) == 1) == (not a.keys() & b.keys())


def test_copies_are_alike_and_no_two_starters_are():
    starter = open_store(starter_path())
    sources = [starter.source(record) for record in starter.records()]
    moulds = [mould_of(source) for source in sources]
    assert min(a.distance(b) for a, b in itertools.combinations(moulds, 2)) > 0.14
    for source, mould in zip(sources[:4], moulds, strict=False):
        assert max(mould.distance(mould_of(copy)) for copy in copies(source)) <= 0.14


@pytest.mark.parametrize("code", ["class", "x = " + "(" * 4000 + ")" * 4000, "\0"])
def test_code_that_cannot_be_read_has_no_mould(code):
    assert mould_of(EnvSource(code=code)) is None


def test_an_empty_program_is_like_nothing():
    empty = mould_of(EnvSource(code=""))
    assert empty.distance(empty) == 1
