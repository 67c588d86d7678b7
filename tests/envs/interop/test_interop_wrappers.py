"""Wrapped sources: well-formed for every name, and faithful to the library's own results."""

import ast

import gymnasium as gym
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.interop.fakes import loaded
from spade_envs.interop.wrappers import class_name, gem, gym_id, reasoning_gym, rlve, textarena
from spade_envs.sandbox.policy import lint
from spade_envs.spaces import AnyText

WRAPS = {
    "reasoning-gym": reasoning_gym.wrap,
    "textarena": textarena.wrap,
    "gem": gem.wrap,
    "gym": lambda name: gym_id.wrap(f"some_module:{name}"),
}


@pytest.mark.parametrize("prefix", WRAPS)
@settings(max_examples=40)
@given(name=st.text(min_size=1, max_size=40).filter(lambda text: ":" not in text))
def test_a_name_enters_a_source_as_a_literal_and_nothing_else(prefix, name):
    target = WRAPS[prefix](name)
    tree = ast.parse(target.source.code)
    plain = ast.parse(WRAPS[prefix]("plain").source.code)
    assert [type(node) for node in ast.walk(tree)] == [type(node) for node in ast.walk(plain)]
    assert name in {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}


@pytest.mark.parametrize("prefix", WRAPS)
def test_the_linter_admits_wrapped_sources_for_their_library_alone(prefix):
    target = WRAPS[prefix]("plain-v0")
    assert not lint(target.source, trusted_imports=target.library.modules)
    assert {item.code for item in lint(target.source)} == {"import"}


@given(st.text(max_size=300))
def test_class_names_are_ascii_identifiers_that_are_public(text):
    name = class_name(text)
    assert name.isidentifier()
    assert name.isascii()
    assert not name.startswith("_")
    assert len(name) <= 100


def test_textarena_pays_what_the_game_pays(monkeypatch):
    env = loaded(textarena.wrap("Guess-v0").source.code, monkeypatch)()
    observation, _ = env.reset(seed=4)
    assert observation == "Guess a digit; 3 guesses left."
    digit = str(env.game.digit)
    assert env.step("no")[1:4] == (0.0, False, False)
    assert env.step(digit) == ("won", 1.0, True, False, {"success": True})
    env.reset(seed=4)
    assert env.game.digit == int(digit)
    ends = [env.step("no") for _ in range(3)]
    assert ends[-1] == ("lost", -1.0, True, False, {"success": False})


def test_gem_shows_the_suffix_and_passes_rewards_on(monkeypatch):
    env = loaded(gem.wrap("game:Say-v0").source.code, monkeypatch)()
    observation, _ = env.reset(seed=1)
    assert observation == f"Say {env.game.word}.\nNow."
    assert env.step("no") == ("Well.\nAgain.", -0.1, False, False, {})
    assert env.step(env.game.word)[1:] == (1.0, True, False, {"success": True})


def test_rlve_takes_levels_from_the_controller_and_retries_failed_generation(monkeypatch, tmp_path):
    (tmp_path / "Gym" / "environments").mkdir(parents=True)
    target = rlve.wrap(f"{tmp_path}#Repeat")
    assert target.library.extra_path == (str(tmp_path),)
    assert not lint(target.source, trusted_imports=target.library.modules)
    cls = loaded(target.source.code, monkeypatch)
    for level, most in enumerate((10, 10**5, 10**9)):
        env = cls(level=level)
        observations = set()
        for seed in range(20):
            observation, _ = env.reset(seed=seed)
            observations.add(observation)
            assert observation.endswith(f"below {most}.")
            assert env.step(env.solution()[0])[1:4] == (1.0, True, False)
            env.reset(seed=seed)
            assert env.step("\\boxed{-5}")[1] == -1.0
        assert len(observations) > 5


class Shouting(gym.Env):
    observation_space = action_space = AnyText()

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.word = f"word{self.np_random.integers(1000)}"
        return f"Shout {self.word}.", {}

    def step(self, action):
        won = action == self.word.upper()
        return "Loud." if won else "No.", float(won), won, False, {}


class Numbers(Shouting):
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 3, {}


def test_gym_plays_registered_text_and_refuses_numbers(monkeypatch):
    gym.register("interop/Shouting-v0", Shouting, max_episode_steps=3)
    gym.register("interop/Numbers-v0", Numbers)
    env = loaded(gym_id.wrap("interop/Shouting-v0").source.code, monkeypatch)()
    env.reset(seed=3)
    word = env.inner.unwrapped.word
    assert env.step("no")[1:4] == (0.0, False, False)
    assert env.step(word.upper()) == ("Loud.", 1.0, True, False, {"success": True})
    env.reset(seed=3)
    assert env.inner.unwrapped.word == word
    assert [env.step("no")[3] for _ in range(3)] == [False, False, True]
    env = loaded(gym_id.wrap("interop/Numbers-v0").source.code, monkeypatch)()
    with pytest.raises(TypeError, match="the observation is a int, not text"):
        env.reset(seed=1)
