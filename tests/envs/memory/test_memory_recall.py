"""What a brief is shown of earlier environments, and the picture of a store."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.memory.kit_memory import Axes, add_about
from spade_envs.design.brief import build_brief
from spade_envs.errors import ConfigError
from spade_envs.memory import open_memory, recall
from spade_envs.memory.picture import nearest_of_each, plane_of
from spade_envs.memory.recall import Recall, describe, mmr
from spade_envs.store import open_store
from spade_envs.store.plays import Figures, PlayReader, Plays, PlayWriter
from spade_envs.types import Skill

SKILL = "optimization"
WORDS = "ferry train kiln garden"


def figures(success, regret, plays=20):
    won = round(success * plays)
    return Figures(
        plays=plays,
        successes=won,
        returns=float(won),
        hinted=plays,
        hinted_successes=round(won + regret * plays),
    )


@pytest.fixture
def world(tmp_path):
    """Give a memory and the figures of its environments by name: (text, skill, success, regret)."""
    store = open_store(tmp_path / "store", create=True)

    def make(**entries):
        known = {}
        for name, (text, skill, success, regret) in entries.items():
            record = add_about(
                store, f"{text} {name}", name=name, title=f"The {name}", skills=(skill,)
            )
            if success is not None:
                known[record.digest] = figures(success, regret)
        memory = open_memory(store, Axes(WORDS))
        memory.refresh()
        return memory, known

    return make


def titles(material):
    return [record.title for record in material.examples]


def test_examples_are_of_the_skill_in_the_band_and_near_the_passage(world):
    memory, known = world(
        near=("ferry", SKILL, 0.5, 0.3),
        far=("garden", SKILL, 0.5, 0.3),
        easy=("ferry", SKILL, 0.95, 0.3),
        hard=("ferry", SKILL, 0.0, 0.3),
        other=("ferry", "data-retrieval", 0.5, 0.9),
        unplayed=("ferry", SKILL, None, None),
    )
    shown = recall(memory, known, skill=SKILL, passage="a ferry", settings=Recall(examples=1))
    assert titles(shown) == ["The near"]
    both = recall(memory, known, skill=SKILL, passage="a ferry", settings=Recall(examples=3))
    assert titles(both) == ["The near", "The far"]


@pytest.mark.parametrize(("success", "shown"), [(0.1, 0), (0.15, 1), (0.85, 1), (0.9, 0), (0.5, 1)])
def test_the_band_has_its_ends(world, success, shown):
    memory, known = world(one=("ferry", SKILL, success, 0.3))
    assert len(recall(memory, known, skill=SKILL, passage=None).examples) == shown


def test_only_the_greatest_regrets_are_chosen_from(world):
    entries = {f"n{n}": ("garden", SKILL, 0.5, 0.4) for n in range(3)}
    memory, known = world(**entries, near=("ferry", SKILL, 0.5, 0.1))
    narrow = Recall(examples=1, top=3)
    shown = recall(memory, known, skill=SKILL, passage="ferry", settings=narrow)
    assert titles(shown) != ["The near"]
    wide = Recall(examples=1, top=4)
    assert titles(recall(memory, known, skill=SKILL, passage="ferry", settings=wide)) == [
        "The near"
    ]


def test_examples_differ_from_each_other(world):
    memory, known = world(
        a=("ferry train", SKILL, 0.5, 0.3),
        b=("ferry train", SKILL, 0.5, 0.3),
        c=("ferry ferry kiln", SKILL, 0.5, 0.3),
    )
    alike = Recall(examples=2, nearness=1.0)
    apart = Recall(examples=2, nearness=0.3)
    passage = "ferry train train"
    shown = recall(memory, known, skill=SKILL, passage=passage, settings=alike)
    assert sorted(titles(shown)) == ["The a", "The b"]
    shown = recall(memory, known, skill=SKILL, passage=passage, settings=apart)
    assert "The c" in titles(shown)


def test_without_a_passage_the_greatest_regret_comes_first(world):
    memory, known = world(
        low=("ferry", SKILL, 0.5, 0.1),
        high=("garden", SKILL, 0.5, 0.5),
        mid=("kiln", SKILL, 0.5, 0.3),
    )
    shown = recall(memory, known, skill=SKILL, passage=None)
    assert titles(shown) == ["The high", "The mid"]
    assert shown.avoid == ()


def test_what_to_avoid_says_what_it_is_and_why(world):
    memory, known = world(
        easy=("ferry", SKILL, 1.0, 0.0),
        hard=("train", SKILL, 0.05, 0.0),
        fine=("kiln", SKILL, 0.5, 0.2),
        alike=("ferry ferry train", "data-retrieval", None, None),
    )
    settings_ = Recall(examples=1, near=1)
    shown = recall(memory, known, skill=SKILL, passage="ferry train", settings=settings_)
    assert set(shown.avoid) == {
        "The easy: Find the way out (too easy: won in 20 of 20 plays)",
        "The hard: Find the way out (too hard: won in 1 of 20 plays)",
        "The alike: Find the way out (there already)",
    }
    brief = build_brief(None, seed=0, skill=Skill.OPTIMIZATION, avoid=shown.avoid)
    assert brief.avoid == shown.avoid


def test_few_plays_say_nothing(world):
    memory, _ = world(one=("ferry", SKILL, 0.5, 0.3))
    (record,) = memory.records
    for plays, count in ((3, 0), (4, 1)):
        known = {record.digest: figures(0.5, 0.3, plays=plays)}
        assert len(recall(memory, known, skill=SKILL, passage=None).examples) == count


def test_an_empty_store_shows_nothing(world):
    memory, known = world()
    shown = recall(memory, known, skill=SKILL, passage="ferry")
    assert (shown.examples, shown.avoid) == ((), ())


def test_plays_that_arrive_change_what_is_shown(world):
    memory, _ = world(one=("ferry", SKILL, None, None))
    (record,) = memory.records
    writer, reader = PlayWriter(memory.store.root), PlayReader(memory.store.root)

    def shown():
        return recall(memory, reader.figures(), skill=SKILL, passage=None)

    assert shown().examples == ()
    half = Plays(digest=record.digest, plays=8, successes=4, returns=4.0, hinted=8)
    writer.append([half])
    assert shown().examples == (record,)
    writer.append([Plays(digest=record.digest, plays=92, successes=92, returns=92.0)])
    assert shown().examples == ()
    assert "too easy: won in 96 of 100 plays" in shown().avoid[0]


@pytest.mark.parametrize(
    "wrong",
    [{"low": 0.9}, {"avoid_low": 0.2}, {"nearness": 1.1}, {"examples": -1}, {"min_plays": 0}],
)
def test_settings_that_contradict_themselves_are_refused(wrong):
    with pytest.raises(ConfigError):
        Recall(**wrong)


def test_a_description_is_one_line_and_says_nothing_twice(world):
    memory, _ = world(one=("ferry", SKILL, None, None))
    (record,) = memory.records
    assert describe(record) == "The one: Find the way out"
    changes = {"title": "Find the way out.", "summary": "Find  the\nway out."}
    same = type(record)(**{**{n: getattr(record, n) for n in record.__slots__}, **changes})
    assert describe(same) == "Find the way out."


ROWS = st.integers(1, 8).flatmap(
    lambda n: st.lists(
        st.lists(st.floats(-1, 1, width=32), min_size=3, max_size=3), min_size=n, max_size=n
    )
)


@settings(deadline=None)
@given(ROWS, st.integers(0, 10), st.floats(0, 1))
def test_mmr_chooses_each_once_and_the_most_relevant_first(rows, count, nearness):
    rows = np.array(rows, dtype=np.float32)
    relevance = rows[:, 0]
    chosen = mmr(relevance, rows, count, nearness=nearness)
    assert len(chosen) == len(set(chosen)) == min(count, len(rows))
    if chosen and nearness > 0.01:
        assert relevance[chosen[0]] == pytest.approx(relevance.max(), abs=1e-5)
    by_relevance = mmr(relevance, rows, count, nearness=1.0)
    assert (np.diff(relevance[by_relevance]) <= 1e-6).all()
    assert mmr(relevance, rows, count, nearness=nearness) == chosen


@settings(deadline=None)
@given(ROWS, st.integers(0, 2**16))
def test_the_plane_shows_distances_no_greater_than_they_are_in_any_turn_of_space(rows, seed):
    rows = np.array(rows, dtype=np.float32)
    plane = plane_of(rows)
    assert plane.points.shape == (len(rows), 2)
    assert 0 <= plane.share <= 1 + 1e-9
    assert plane.points.mean(axis=0) == pytest.approx([0, 0], abs=1e-5)
    seen = np.linalg.norm(plane.points[:, None] - plane.points[None], axis=2)
    true = np.linalg.norm(rows[:, None].astype(float) - rows[None], axis=2)
    assert (seen <= true + 1e-5).all()
    turn = np.linalg.qr(np.random.default_rng(seed).standard_normal((3, 3)))[0]
    assert plane_of((rows @ turn).astype(np.float32)).share == pytest.approx(plane.share, abs=1e-3)


@pytest.mark.parametrize("together", [2, 1024])
def test_the_nearest_of_each_is_another_one(together, monkeypatch):
    monkeypatch.setattr("spade_envs.memory.picture._TOGETHER", together)
    rows = np.array([[1, 0], [0, 1], [0.6, 0.8], [0, 1], [-1, 0]], dtype=np.float32)
    places, cosines = nearest_of_each(rows)
    assert places.tolist() == [2, 3, 1, 1, 1]
    assert cosines.tolist() == pytest.approx([0.6, 1.0, 0.8, 1.0, 0.0])


def test_points_on_a_line_are_shown_in_order():
    rows = np.outer(np.arange(5), [0.6, 0.8, 0, 0]).astype(np.float32)
    plane = plane_of(rows)
    assert plane.points[:, 0].tolist() == pytest.approx([-2, -1, 0, 1, 2], abs=1e-5)
    assert plane.share == pytest.approx(1)
    assert plane_of(np.ones((3, 1), dtype=np.float32)).points.tolist() == [[0, 0]] * 3
    assert plane_of(np.zeros((0, 4), dtype=np.float32)).points.shape == (0, 2)
