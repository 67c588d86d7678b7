"""GEM's games against a stand-in of our own making, and (slow) against the real package."""

import random
from types import SimpleNamespace

import pytest

from spade_envs.errors import ConfigError
from spade_train.suites.base import Fault, Score, Session, Suite
from spade_train.suites.gem_games import GemGame
from spade_train.suites.registry import open_suite, readiness
from spade_train.suites.worker import isolated
from train.suites import stubs

_LIBRARY = """
import random

import numpy as np
import reasoning_gym as rg

for name in rg.factory.DATASETS:
    raise RuntimeError("these are not wanted")

from gem.envs.registration import ENV_REGISTRY


class Guess:
    def __init__(self):
        self.reset()

    def reset(self, seed=None):
        random.seed(seed)
        np.random.seed(seed)
        self.game_number = random.randint(1, 9)
        return f"Guess {random.randint(0, 10**6)}.", {"suffix": "Now."}

    def step(self, said):
        seen = f"no {random.randint(0, 10**6)} {np.random.randint(10**6)}"
        if said == "half":
            return seen, 0.5, False, False, {"suffix": "Again."}
        if said == "late":
            return seen, 1.0, True, True, {}
        won = said == f"\\\\boxed{{{self.game_number}}}"
        return seen, 1.0 if won else -0.1, True, False, {}

    def sample_random_action(self):
        return f"[{random.randint(1, 9)}]"


def make(name):
    if name == "game:Broken-v0":
        raise ValueError("broken")
    return Guess()
"""
GAMES = ("GuessTheNumber-v0", "Puzzle-v0", "Broken-v0")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = stubs.install(tmp_path_factory.mktemp("lib"), "gem_llm", "")
    (found / "gem" / "envs").mkdir(parents=True)
    (found / "gem" / "__init__.py").write_text(_LIBRARY)
    known = [f"game:{name}" for name in GAMES] + ["math:Math12K"]
    (found / "gem" / "envs" / "registration.py").write_text(f"ENV_REGISTRY = {known}\n")
    return found


@pytest.fixture(scope="module")
def suite(folder):
    settings = {"games": ",".join(GAMES), "episodes": 2}
    opened = isolated("spade_train.suites.gem_games:gem", settings, packages=folder)
    yield opened
    opened.close()


def start(suite, place, seed=0):
    return suite.open(suite.tasks()[place], seed=seed)


def test_it_is_a_suite(suite):
    assert isinstance(suite, Suite)
    assert suite.version == "gem-llm 9.9 + 1"
    assert [task.group for task in suite.tasks()] == [*GAMES, *GAMES]
    session = start(suite, 0)
    assert isinstance(session, Session)
    assert session.messages[0].content.endswith("\nNow.")
    assert start(suite, 2) == Fault("open", "ValueError: broken")


def test_the_return_is_the_value_and_one_a_success(suite):
    session = start(suite, 0)
    assert session.score() == Score(value=0.0, success=False)
    session.reply(session.reference())
    assert session.done
    assert session.score() == Score(value=1.0, success=True)
    cases = ((["half", "half", "wrong"], 0.9, False), (["wrong"], 0, False), (["late"], 1, True))
    for said, value, won in cases:
        session = start(suite, 0)
        for each in said:
            session.reply(each)
        score = session.score()
        assert (score.value, score.success) == (pytest.approx(value), won)


def test_a_game_without_a_reference_has_none(suite):
    assert start(suite, 1).reference() is None


def test_games_under_way_at_once_do_not_disturb_each_other(suite):
    alone = start(suite, 3)
    for _ in range(3):
        alone.reply("half")
    one, other = start(suite, 3, seed=7), start(suite, 0)
    for _ in range(3):
        one.reply("half")
        other.random(random.Random(0))
        other.reply("half")
    assert one.messages == alone.messages
    assert one.messages != other.messages


def test_random_actions_come_from_the_generator_that_is_given(suite):
    session = start(suite, 0)
    said = [session.random(random.Random(seed)) for seed in (1, 1, 2, 3, 4)]
    assert said[0] == said[1]
    assert len(set(said)) > 1
    assert all(each.startswith("\\boxed{") and "[" not in each for each in said)


def test_other_names_are_refused_with_those_that_there_are(folder):
    with pytest.raises(ConfigError, match=r"no game 'Chess'; known are GuessTheNumber-v0, Puzzle"):
        isolated("spade_train.suites.gem_games:gem", {"games": "Chess"}, packages=folder)


def test_references_see_the_hidden_state():
    board, full = [[1, 0], [0, 2]], [[1, 3], [4, 2]]
    env = SimpleNamespace(board=board, full_grid=full)
    assert GemGame(env, "Sudoku").reference() == "\\boxed{1 2 3}"
    env = SimpleNamespace(grid=[[-1, 1]], revealed=[[False, False]])
    assert GemGame(env, "Minesweeper").reference() == "\\boxed{reveal 0 1}"
    env = SimpleNamespace(board=[[".", "_"]], solution=[[".", "a"]])
    assert GemGame(env, "Crosswords").reference() == "\\boxed{0 1 A}"
    assert GemGame(SimpleNamespace(game_code=[4, 2]), "Mastermind").reference() == "\\boxed{4 2}"
    assert GemGame(SimpleNamespace(), "Sokoban").reference() is None


@pytest.mark.slow
def test_the_real_package_has_its_ceiling():
    found = readiness("gem")
    if not found.ready:
        pytest.skip(f"gem-llm is not installed; {found.mend}")
    real = open_suite("gem", {"episodes": 2})
    try:
        for task in real.tasks():
            session = real.open(task, seed=0)
            while not session.done and (said := session.reference()) is not None:
                session.reply(said)
            assert session.score().success == session.done, task.id
    finally:
        real.close()
