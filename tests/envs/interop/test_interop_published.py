"""The published tool shape, and files that forget their imports."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_envs.api.published_names import SUPPLIED, forgotten, supply
from spade_envs.api.published_tools import ToolUseBaseEnv, same_answer
from spade_envs.gates import check
from spade_envs.sandbox import default_sandbox
from spade_envs.types import EnvSource

STOCKROOM = '''
from tool_use_base_env import ToolUseBaseEnv


class StockroomEnv(ToolUseBaseEnv):
    """Count parts in a stockroom."""

    def __init__(self, max_turns=10):
        super().__init__(max_turns=max_turns)

    def reset(self, seed=None):
        rng = random.Random(seed)
        names = ["bolts", "nuts", "gears", "belts", "springs"]
        self._state = {name: rng.randint(1000, 99999) for name in names}
        self.wanted = rng.sample(names, 2)
        self._expected_answer = str(sum(self._state[name] for name in self.wanted))
        schema = {"type": "object", "properties": {"part": {"type": "string", "enum": names}}}
        self._tools = {"count": {"description": "Count one part.", "parameters": schema}}
        return f"How many {self.wanted[0]} and {self.wanted[1]} are there in all?", {}

    def tool_count(self, part):
        return str(self._state[part])

    def solution(self):
        form = '<tool_call>{"name": "count", "arguments": {"part": "%s"}}</tool_call>'
        return [*(form % part for part in self.wanted), self._expected_answer]
'''


def test_a_published_tool_file_is_accepted_and_the_forgotten_import_is_told():
    report = check(EnvSource(code=STOCKROOM))
    assert report.accepted, report.failures
    assert (report.interface.kind, report.interface.api) == ("tool", "published-1")
    assert [tool["function"]["name"] for tool in report.interface.tools] == ["count"]
    first = report.results[0]
    assert (first.gate, first.outcome) == ("L0.1", "warn")
    assert "uses random without importing" in first.message


def test_a_forgotten_import_does_not_hide_process_wide_randomness():
    code = STOCKROOM.replace("random.Random(seed)", "random")
    report = check(EnvSource(code=code), depth="quick")
    assert [item.gate for item in report.failures] == ["L0.3"]


def test_the_first_observation_lists_the_tools_and_the_base_class_may_be_injected():
    code = STOCKROOM.replace("from tool_use_base_env import ToolUseBaseEnv\n", "")
    with default_sandbox().load(EnvSource(code=code)) as worker:
        instance = worker.create(0)
        start = worker.reset([(instance, 3, None)])[0]
        assert '"name": "count"' in start.observation
        outcomes = [worker.step([(instance, text)])[0] for text in worker.solution(instance)]
    assert [item.reward for item in outcomes] == [0.0, 0.0, 1.0]
    assert outcomes[-1].terminated


class Desk(ToolUseBaseEnv):
    def reset(self, seed=None):
        self._tools = {"look": {"description": "Look."}}
        self._state, self._expected_answer = {"looked": False}, "Rome"
        self._message_criteria = [lambda state: state["looked"]]
        return "Look, then say the capital of Italy.", {}

    def tool_look(self):
        self._state["looked"] = True
        return "Looked." + self._advance_if_done()

    def tool_hidden(self):
        return "not declared"


def test_steps_follow_the_published_rules():
    desk = Desk(max_turns=4)
    look = '<tool_call>{"name": "look", "arguments": {}}</tool_call>'
    assert desk.get_tools()[0]["function"]["name"] == "look"
    assert desk.step("<answer>Rome</answer>")[1:4] == (0.0, False, False)
    assert desk.step("hello")[1:4] == (-0.1, False, False)
    assert desk.step(look)[:2] == ("Looked.", 0.0)
    assert desk.step("<answer>rome</answer>")[1:4] == (1.0, True, False)
    desk.reset()
    assert [desk.step(look)[3] for _ in range(4)] == [False, False, False, True]


def test_tools_fail_with_a_message():
    desk = Desk()
    assert desk.execute_tool("hidden", {})["returncode"] == 1
    wrong = desk.execute_tool("look", {"far": True})
    assert wrong["returncode"] == 1
    assert "TypeError" in wrong["output"]


@pytest.mark.parametrize(
    ("given_", "expected", "same"),
    [
        (" PARIS ", "Paris", True),
        ("$1,200", "1200", True),
        ("3.005", "3", True),
        ("3.02", "3", False),
        ("nan", "1", False),
    ],
)
def test_answers_agree_without_case_or_within_a_hundredth(given_, expected, same):
    assert same_answer(given_, expected) is same


@given(st.sets(st.sampled_from(sorted(SUPPLIED)), min_size=1, max_size=6))
def test_exactly_the_unbound_names_are_supplied(names):
    uses = "\n".join(f"    {name}" for name in sorted(names))
    assert forgotten(ast.parse(f"def f():\n{uses}\n")) == tuple(sorted(names))
    bound = "\n".join(f"{name} = 1" for name in names)
    assert forgotten(ast.parse(f"{bound}\ndef f():\n{uses}\n")) == ()
    assert forgotten(ast.parse(f"from spade_envs.api import TextEnv\ndef f():\n{uses}\n")) == ()
    assert set(supply(names)) == names
