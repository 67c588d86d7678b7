import random
from pathlib import Path

import pytest

from spade_envs.errors import ConfigError, NotFound
from spade_envs.store import EnvStore
from spade_train.suites.base import Score, Session, Suite
from spade_train.suites.heldout import _store_name, heldout


@pytest.fixture(scope="module")
def ids():
    from spade_envs.store import open_store, starter_path

    records = [r for r in open_store(starter_path()).records() if r.levels > 1]
    return [records[0].id, records[-1].id]


@pytest.fixture(scope="module")
def suite(ids):
    opened = heldout(store="starter", ids=ids, instances=2, levels=[0, 1])
    yield opened
    opened.close()


def finish(session, act):
    while not session.done:
        session.reply(act(session))
    return session.score()


def test_tasks_are_every_environment_by_level_then_again(suite, ids):
    tasks = suite.tasks()
    assert isinstance(suite, Suite)
    assert [task.group for task in tasks] == ["level 0", "level 1"] * 4
    assert [task.detail["env"] for task in tasks] == [ids[0], ids[0], ids[1], ids[1]] * 2
    assert len({task.id for task in tasks}) == 8
    assert suite.labels == {"hint": "not shown", "store": "starter"}


def test_the_solution_wins_and_silence_does_not(suite):
    for task in suite.tasks()[:4]:
        session = suite.open(task, seed=0)
        assert isinstance(session, Session)
        assert finish(session, lambda one: one.reference()) == Score(
            value=1.0,
            success=True,
            detail={"return": 1.0, "turns": (len(session.messages) - 1) // 2},
        )
        session.close()
        silent = suite.open(task, seed=0)
        assert not finish(silent, lambda one: "").success
        silent.close()


def test_the_instance_is_the_task_s_whatever_the_seed(suite):
    first, again = (suite.open(suite.tasks()[0], seed=seed) for seed in (1, 2))
    other = suite.open(suite.tasks()[4], seed=1)
    assert first.messages == again.messages
    assert other.messages != first.messages
    assert first.random(random.Random(0)) == again.random(random.Random(0))
    for session in (first, again, other):
        session.close()


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("pools/mine/", "pools/mine"),
        ("../mine", "../mine"),
        ("/home/me/mine", "mine"),
        ("~/mine", "mine"),
        (".", "mine"),
        (None, "mine"),
    ],
)
def test_a_store_is_named_as_it_was_given_without_the_machine_s_paths(given, name):
    assert _store_name(given, EnvStore(Path("/home/me/mine"))) == name


def test_with_the_hint_the_chat_says_it(ids):
    with_hint = heldout(store="starter", ids=ids[:1], instances=1, levels=0, hint=True)
    session = with_hint.open(with_hint.tasks()[0], seed=0)
    assert "\nHint: " in session.messages[0].content
    assert with_hint.labels["hint"] == "shown"
    without = heldout(store="starter", ids=ids[:1], instances=1, levels=0)
    assert with_hint.settings != without.settings
    plain = without.open(without.tasks()[0], seed=0)
    assert session.messages[0].content.startswith(plain.messages[0].content)
    with_hint.close()
    without.close()


@pytest.mark.parametrize(
    "wrong",
    [
        {"hint": "yes"},
        {"instances": 0},
        {"instances": True},
        {"seed": -1},
        {"levels": ["0"]},
        {"levels": [99]},
        {"ids": [3]},
    ],
)
def test_settings_that_cannot_be(wrong):
    with pytest.raises(ConfigError):
        heldout(store="starter", **wrong)


def test_a_store_or_environment_that_is_not_there(tmp_path):
    with pytest.raises(NotFound):
        heldout(store=str(tmp_path))
    with pytest.raises(NotFound):
        heldout(store="starter", ids=["no-such-environment"])
