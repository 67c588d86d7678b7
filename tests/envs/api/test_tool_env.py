from enum import Enum
from typing import Literal

import pytest
from gymnasium.utils.env_checker import check_env

from spade_envs.api import Task, ToolEnv, ToolError, call, calls, finish, tool
from spade_envs.api.tool_env import same_answer
from spade_envs.api.tools import tools_of


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Desk(ToolEnv):
    """Keep parcels."""

    levels, max_turns = 3, 6

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.state = {"weight": self.draw_int(10, 99), "lane": 0}
        self.tasks = [
            Task("Use lane 4.", done=lambda s: s["lane"] == 4),
            Task("What does it weigh?", answer=lambda s: str(s["weight"])),
        ]
        return self.begin("You run the desk.")

    @tool
    def set_lane(self, lane: int, mode: Literal["air", "sea"] = "air") -> str:
        """Choose the lane.

        Args:
            lane: number of the lane,
                1 to 9.
        """
        if lane > 9:
            raise ToolError("there are nine lanes")
        self.state["lane"] = lane
        return "set"

    @tool
    def weigh(self, colours: list[Colour] | None = None, exact: bool = False) -> dict:
        """Weigh the parcel."""
        return {"kg": self.state["weight"]}

    def hint(self):
        return "Weigh it last."

    def solution(self):
        return [call("set_lane", lane=4), finish(str(self.state["weight"]))]


def start():
    env = Desk()
    observation, info = env.reset(seed=3)
    return env, observation, info


def test_it_is_a_gymnasium_environment():
    check_env(Desk(level=2), skip_render_check=True)


def test_schema_comes_from_signature_and_docstring():
    schema, other = (spec["function"] for spec in Desk().tools)
    assert schema == {
        "name": "set_lane",
        "description": "Choose the lane.",
        "parameters": {
            "type": "object",
            "properties": {
                "lane": {"type": "integer", "description": "number of the lane, 1 to 9."},
                "mode": {"enum": ["air", "sea"], "default": "air"},
            },
            "required": ["lane"],
            "additionalProperties": False,
        },
    }
    colours = other["parameters"]["properties"]["colours"]
    assert colours["anyOf"][0] == {"type": "array", "items": {"enum": ["blue", "red"]}}


def test_the_first_observation_names_tools_format_and_the_first_task_only():
    _, observation, info = start()
    assert "- set_lane(lane: integer, mode?: 'air' | 'sea'): Choose the lane." in observation
    assert observation.endswith("User: Use lane 4.")
    assert "weigh?" not in observation
    assert [spec["function"]["name"] for spec in info["tools"]] == ["set_lane", "weigh"]


def test_native_tools_are_left_out_of_the_text():
    observation, info = Desk().reset(seed=3, options={"native_tools": True})
    assert observation == "You run the desk.\n\nUser: Use lane 4."
    assert len(info["tools"]) == 2


def test_the_solution_wins():
    env, _, _ = start()
    first, last = env.solution()
    assert env.step(first)[0] == "set_lane -> set\nUser: What does it weigh?"
    assert env.step(last)[1:] == (1.0, True, False, {"success": True})


def test_several_calls_run_in_order_and_reveal_the_next_task_once():
    env, _, _ = start()
    text, reward, *_, info = env.step(calls(call("set_lane", lane=4), call("weigh")))
    assert text.splitlines() == [
        "set_lane -> set",
        "User: What does it weigh?",
        f'weigh -> {{"kg": {env.state["weight"]}}}',
    ]
    assert reward == 0.0
    assert [result["name"] for result in info["tool_results"]] == ["set_lane", "weigh"]


@pytest.mark.parametrize(
    ("action", "part"),
    [
        (call("set_lane", lane="4"), "Expected `int`, got `str` - at `$.lane`"),
        (call("set_lane"), "missing required field `lane`"),
        (call("set_lane", lane=4, speed=1), "unknown field `speed`"),
        (call("set_lane", lane=4, mode="rail"), "Invalid enum value 'rail'"),
        (call("set_lane", lane=11), "there are nine lanes"),
        (call("fly"), "there is no tool 'fly'; tools: set_lane, weigh"),
        ("<tool_call>{</tool_call>", "not valid JSON"),
        ("hello", "not done yet"),
    ],
)
def test_mistakes_get_a_helpful_message_and_change_nothing(action, part):
    env, _, _ = start()
    text, reward, terminated, truncated, _ = env.step(action)
    assert part in text
    assert (reward, terminated, truncated, env.state["lane"]) == (0.0, False, False, 0)


def test_markup_without_types_is_read_by_the_schema():
    env, _, _ = start()
    env.step("<function=set_lane><parameter=lane>4</parameter></function>")
    assert env.state["lane"] == 4


def test_a_wrong_answer_ends_the_episode_without_reward():
    env, _, _ = start()
    env.step(call("set_lane", lane=4))
    assert env.step("1")[1:] == (0.0, True, False, {"success": False})


def test_saying_done_before_it_is_done_earns_nothing():
    env, _, _ = start()
    returns = [env.step(finish())[1] for _ in range(env.max_turns)]
    assert returns == [0.0] * env.max_turns


def test_a_conversation_is_closed_by_a_message():
    class Short(Desk):
        """One wish."""

        def reset(self, *, seed=None, options=None):
            ToolEnv.reset(self, seed=seed, options=options)
            self.state = {"lane": 0, "weight": 1}
            self.tasks = [Task("Use lane 4.", done=lambda s: s["lane"] == 4)]
            return self.begin("Desk.")

    env = Short()
    env.reset(seed=0)
    text, reward, terminated, *_ = env.step(call("set_lane", lane=4))
    assert (reward, terminated) == (0.0, False)
    assert "confirm" in text
    assert env.step("All set.")[1:3] == (1.0, True)


@pytest.mark.parametrize("given", [{}, {"done": bool, "answer": "4"}])
def test_a_task_has_exactly_one_condition(given):
    with pytest.raises(ValueError, match="exactly one"):
        Task("Do it.", **given)


def _untyped(self, x):
    """Do."""


def _undocumented(self, x: int): ...


def _starred(self, *x: int):
    """Do."""


def _odd(self, x: type):
    """Do."""


@pytest.mark.parametrize(
    ("method", "part"),
    [
        (_untyped, "needs a type"),
        (_undocumented, "needs a docstring"),
        (_starred, r"may not take \*x"),
        (_odd, "JSON cannot hold"),
    ],
)
def test_a_tool_that_cannot_be_described_is_refused(method, part):
    with pytest.raises(TypeError, match=part):
        tools_of(type("Broken", (), {"go": tool(method)}))


@pytest.mark.parametrize(
    ("given", "expected", "same"),
    [
        ("42", "42.0", True),
        ("$1,200", "1200", True),
        ("0.3", "0.30000000001", True),
        ("41", "42", False),
        ("nan", "nan", True),
        ("nan", "1", False),
        ("North  Gate", "north gate", True),
        ("9" * 5000, "9", False),
    ],
)
def test_same_answer(given, expected, same):
    assert same_answer(given, expected) is same
