"""Choosing a pool: ranges as people write them, and what meets them."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_envs.calibrate import Bounds, Criteria, select
from spade_envs.errors import ConfigError
from spade_envs.store.plays import Cell, Figures, Plays
from spade_envs.types import Record


def record(number, **more):
    digest = f"sha256:{number:064x}"
    fields = {"kind": "text", "skills": ("planning",), **more}
    return Record(
        id=f"spade/env-{number}-v0",
        digest=digest,
        store=Path("store"),
        title="",
        summary="",
        levels=3,
        max_turns=4,
        **fields,
    )


def played(won, plays, hinted_won=None, **cell):
    """Give a cell and its figures."""
    where = Cell(**{"digest": "", "policy": "m", "level": 0, "hint": "instance", **cell})
    hinted = {} if hinted_won is None else {"hinted": plays, "hinted_successes": hinted_won}
    line = Plays(digest=where.digest, hint=where.hint, plays=plays, successes=won, **hinted)
    return where, Figures().plus(line)


ONE, TWO = record(1), record(2, kind="tool", skills=("search", "planning"))


def chosen(cells, **criteria):
    found = select([ONE, TWO], dict(cells), Criteria(**criteria))
    return [choice.record.id[10:11] for choice in found]


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("0.2..0.8", (0.2, 0.5, 0.8), (0.19, 0.81)),
        ("0.2..", (0.2, 9.0), (0.1,)),
        ("..0.8", (-1.0, 0.8), (0.81,)),
        (">0.1", (0.11,), (0.1,)),
        (" >= .1 ", (0.1,), (0.09,)),
        ("<0.5", (0.4,), (0.5,)),
        ("<=-0.5", (-0.5,), (0.0,)),
    ],
)
def test_ranges_are_read_as_they_are_written(text, inside, outside):
    bounds = Bounds.read(text)
    assert all(map(bounds.hold, inside))
    assert not any(map(bounds.hold, outside))
    assert not bounds.hold(None)
    assert Bounds.read(str(bounds)) == bounds


@pytest.mark.parametrize("text", ["", "..", "0.8..0.2", "nan..1", "0.2", ">>1", "0..1..2", ">x"])
def test_what_is_no_range_is_refused_with_the_mend(text):
    with pytest.raises(ConfigError, match=r"such as 0\.2\.\.0\.8|smaller number first"):
        Bounds.read(text)


@given(st.floats(-2, 2), st.floats(-2, 2), st.floats(-2, 2), st.booleans())
def test_an_interval_is_held_only_if_everything_in_it_is(low, high, value, strict):
    bounds = Bounds(-0.5, 0.5, strict)
    low, high = sorted((low, high))
    if bounds.hold_all((low, high)) and low <= value <= high:
        assert bounds.hold(value)
    assert not bounds.hold_all(None)


def test_success_and_regret_choose():
    cells = [
        played(10, 20, 18, digest=ONE.digest),
        played(19, 20, 19, digest=TWO.digest),
    ]
    assert chosen(cells, success=Bounds(0.2, 0.8)) == ["1"]
    assert chosen(cells, regret=Bounds(0.1, math.inf, strict=True)) == ["1"]
    assert chosen(cells) == ["1", "2"]
    assert chosen(cells, min_plays=21) == []


def test_what_was_never_played_meets_no_bounds_but_can_be_taken_without():
    assert chosen([], success=Bounds(0.0, 1.0), min_plays=0) == []
    assert chosen([], min_plays=0) == ["1", "2"]
    assert chosen([], success=Bounds(0.0, 1.0), min_plays=0, sure=True) == []


def test_whole_intervals_are_harder_to_hold_and_enough_plays_do():
    few, many = played(2, 4, 4, digest=ONE.digest), played(200, 400, 400, digest=ONE.digest)
    criteria = {"success": Bounds(0.3, 0.7), "regret": Bounds(0.1, math.inf, strict=True)}
    assert chosen([few], **criteria) == ["1"]
    assert chosen([few], **criteria, sure=True) == []
    assert chosen([many], **criteria, sure=True) == ["1"]


def test_levels_players_and_hints_decide_which_plays_count():
    cells = [
        played(0, 10, 9, digest=ONE.digest, level=0, policy="weak"),
        played(9, 10, 9, digest=ONE.digest, level=2, policy="strong"),
        played(5, 10, 5, digest=ONE.digest, level=None, policy="old", hint="policy"),
        played(5, 10, 10, digest=ONE.digest, level=1, hint="strategy:0123456789ab"),
    ]
    hard, easy = Bounds(0.0, 0.1), Bounds(0.9, 1.0)
    assert chosen(cells, success=hard, levels=(0,)) == ["1"]
    assert chosen(cells, success=easy, levels=(2, 3)) == ["1"]
    assert chosen(cells, success=easy, levels=(1,)) == []
    assert chosen(cells, success=hard, policy="weak") == ["1"]
    assert chosen(cells, regret=Bounds(0.5, 0.5), hint="strategy") == ["1"]
    assert chosen(cells, regret=Bounds(0.0, 0.0), hint="policy") == ["1"]
    assert chosen(cells, regret=Bounds(0.45, 0.45)) == ["1"]


def test_kind_and_skills_choose_and_the_withdrawn_are_passed_over():
    cells = [played(5, 10, digest=each.digest) for each in (ONE, TWO)]
    assert chosen(cells, kind="tool") == ["2"]
    assert chosen(cells, skills=("search", "other")) == ["2"]
    assert chosen(cells, skills=("planning",)) == ["1", "2"]
    gone = record(1, withdrawn="wrong")
    assert select([gone], dict(cells), Criteria()) == []
