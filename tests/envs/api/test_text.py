import copy

import gymnasium as gym
import pytest
from gymnasium.utils.env_checker import check_env

from spade_envs.api import TextEnv, answer_of


class Sum(TextEnv):
    """Add two numbers."""

    levels = 3
    max_turns = 2

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.a, self.b = self.draw_int(10, 99), self.draw_int(10, 99)
        return f"{self.a} + {self.b}?", {}

    def step(self, action):
        if answer_of(action) == str(self.a + self.b):
            return self.win("Right.")
        return self.go_on("No.")

    def hint(self):
        return "Add the tens first."

    def solution(self):
        return [str(self.a + self.b)]


class Louder(Sum):
    """A subclass whose reset and step call the ones above."""

    def reset(self, *, seed=None, options=None):
        observation, info = super().reset(seed=seed, options=options)
        return observation.upper(), info

    def step(self, action):
        return super().step(action)


@pytest.mark.parametrize("cls", [Sum, Louder])
def test_the_class_is_a_gymnasium_environment(cls):
    check_env(cls(level=1), skip_render_check=True)


def test_the_solution_wins():
    env = Sum()
    env.reset(seed=1)
    assert env.step(env.solution()[0])[1:] == (1.0, True, False, {"success": True})


@pytest.mark.parametrize("cls", [Sum, Louder])
def test_the_class_truncates_at_max_turns_and_counts_each_turn_once(cls):
    env = cls()
    env.reset(seed=1)
    assert env.step("x")[2:] == (False, False, {})
    assert env.turn == 1
    assert env.step("x")[2:] == (False, True, {"success": False})


def test_a_step_without_an_episode_is_refused():
    env = Sum()
    with pytest.raises(gym.error.ResetNeeded, match="reset"):
        env.step("x")
    env.reset(seed=1)
    env.step(env.solution()[0])
    with pytest.raises(gym.error.ResetNeeded):
        env.step("x")
    env.reset()
    assert env.turn == 0


def test_an_action_is_text():
    env = Sum()
    env.reset(seed=1)
    with pytest.raises(TypeError, match="not int"):
        env.step(3)


@pytest.mark.parametrize("level", [-1, 3])
def test_levels_are_bounded(level):
    with pytest.raises(ValueError, match=r"\[0, 3\)"):
        Sum(level=level)


def test_a_wrong_shape_is_passed_on_for_the_caller_to_judge():
    class Odd(Sum):
        def step(self, action):
            return "only text"

    env = Odd()
    env.reset(seed=1)
    assert env.step("x") == "only text"


def test_draws_are_plain_python_values_and_follow_the_seed():
    env = Sum()
    env.reset(seed=5)
    first = [env.draw_int(1, 3), env.draw("abc"), env.draw_many(range(9), 3), env.shuffled("xyz")]
    env.reset(seed=5)
    again = [env.draw_int(1, 3), env.draw("abc"), env.draw_many(range(9), 3), env.shuffled("xyz")]
    assert first == again
    assert [type(value) for value in first] == [int, str, list, list]
    assert sorted(first[3]) == ["x", "y", "z"]
    with pytest.raises(ValueError, match="cannot draw 4 of 3"):
        env.draw_many("abc", 4)


def test_a_copy_goes_on_by_itself():
    env = Sum()
    env.reset(seed=1)
    twin = copy.deepcopy(env)
    env.step("x")
    assert (env.turn, twin.turn) == (1, 0)


def test_render_shows_the_last_observation():
    env = Sum(render_mode="ansi")
    observation, _ = env.reset(seed=1)
    assert env.render() == observation
    env.step("x")
    assert env.render() == "No."


def test_a_class_without_a_reset_of_its_own_can_be_played():
    class Bare(TextEnv):
        def step(self, action):
            return self.win("ok")

    env = Bare()
    assert env.reset(seed=1) == ("", {})
    assert env.step("x")[1] == 1.0
