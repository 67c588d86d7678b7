import random

import pytest

from spade_envs.errors import ConfigError
from spade_train.suites import games
from spade_train.suites.base import Fault, Score, Session, Suite
from spade_train.suites.registry import open_suite, readiness
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
    assert suite.version == "textarena 9.9 + 2"


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


class Growing:
    """A game that shows all that it showed before, as the real ones do."""

    def __init__(self, *steps):
        self.steps, self.told = list(steps), "Rules."

    def get_observation(self):
        return 0, self.told

    def step(self, said):
        self.told = self.steps.pop(0).format(before=self.told)
        return False, {}


def test_what_was_shown_before_is_not_told_again():
    game = games.Arena(Growing("{before}\n[GAME] One.", "{before}\n[GAME] Two.", "Anew."), "Other")
    assert [game.act("x"), game.act("x"), game.act("x")] == ["[GAME] One.", "[GAME] Two.", "Anew."]
    assert game.reference() is None
    assert game.random(random.Random(0)).startswith("[")


def test_wrong_settings_are_refused():
    with pytest.raises(ConfigError, match="no game is called"):
        games.textarena(games="../x")
    with pytest.raises(ConfigError, match="games must be named"):
        games.textarena(games="")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["textarena", "babyai"])
def test_the_reference_wins_every_game_of_the_real_packages(name):
    found = readiness(name)
    if not found.ready:
        pytest.skip(f"{name} is not installed; {found.mend}")
    real = open_suite(name, {"episodes": 2})
    try:
        for task in real.tasks():
            session, nothing = real.open(task, seed=0), real.open(task, seed=0)
            assert session.random(random.Random(0)).startswith(("\\boxed{", "["))
            while not session.done:
                session.reply(session.reference())
            assert session.score() == Score(value=1.0, success=True), task.id
            while not nothing.done:
                nothing.reply("")
            assert not nothing.score().success, task.id
    finally:
        real.close()
