import random
from importlib.util import find_spec

import pytest

from spade_envs.errors import ConfigError
from spade_train.suites import games
from spade_train.suites.base import Fault, Score, Session, Suite
from spade_train.suites.worker import isolated
from train.suites import stubs

REF = "spade_train.suites.games:textarena"


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    folder = stubs.install(tmp_path_factory.mktemp("lib"), "textarena", stubs.GAMES)
    opened = isolated(REF, {"games": "Guess-v0, Gone-v0", "episodes": 2}, packages=folder)
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("said", "value", "success"), [("win", 1.0, True), ("lose", 0.0, False), ("half", 0.5, False)]
)
def test_the_last_reward_is_the_value(suite, said, value, success):
    session = suite.open(suite.tasks()[0], seed=0)
    assert session.score() == Score(value=0.0, success=False)
    session.reply("on")
    session.reply(said)
    assert session.done
    assert session.score() == Score(value=value, success=success)


def test_tasks_take_turns_and_an_unknown_game_is_a_fault(suite):
    assert isinstance(suite, Suite)
    assert [t.id for t in suite.tasks()] == ["Guess-v0/0", "Gone-v0/0", "Guess-v0/1", "Gone-v0/1"]
    assert suite.open(suite.tasks()[1], seed=0) == Fault("open", "ValueError: no game Gone-v0")
    assert suite.version == "textarena 9.9 + 1"


def test_games_under_way_at_once_do_not_disturb_each_other(suite):
    alone, task = suite.open(suite.tasks()[2], seed=0), suite.tasks()[2]
    for _ in range(3):
        alone.reply("on")
    one, other = suite.open(task, seed=7), suite.open(suite.tasks()[0], seed=7)
    for _ in range(3):
        one.reply("on")
        other.reply("on")
    assert isinstance(one, Session)
    assert one.messages == alone.messages
    assert one.messages != other.messages
    assert len(one.messages) == 7


def test_wrong_settings_are_refused():
    with pytest.raises(ConfigError, match="no game is called"):
        games.textarena(games="../x")
    with pytest.raises(ConfigError, match="games must be named"):
        games.textarena(games="")


@pytest.mark.slow
@pytest.mark.skipif(find_spec("minigrid") is None, reason="needs pip install minigrid")
def test_the_bot_solves_every_level():
    suite = games.babyai(episodes=1)
    for task in suite.tasks():
        session = suite.open(task, seed=0)
        assert "mission" in session.messages[0].content
        assert session.random(random.Random(0)).startswith("\\boxed{")
        while not session.done:
            session.reply(session.reference())
        assert session.score() == Score(value=1.0, success=True)
