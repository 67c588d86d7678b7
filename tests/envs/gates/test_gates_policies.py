"""Ignorant policies and harmless variants."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_envs.api import answer_of, call
from spade_envs.api.calls import parse_calls
from spade_envs.gates.policies import (
    View,
    constant,
    cycle,
    random_grammar,
    sample_arguments,
    script,
    tokens,
    vocabulary,
)
from spade_envs.gates.probes import hostile
from spade_envs.gates.reference import CALL_VARIANTS, TEXT_VARIANTS, final_answer
from spade_envs.types import Interface

TOOL = {
    "type": "function",
    "function": {
        "name": "move",
        "parameters": {
            "type": "object",
            "properties": {
                "where": {"enum": ["left", "right"]},
                "steps": {"type": "integer"},
                "tags": {"type": "array", "items": {"type": "string"}},
                "fast": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
            },
            "required": ["where", "steps"],
        },
    },
}


def view_of(kind="text", text="Say 'go on' or 17.", seed=0):
    interface = Interface(entry="E", kind=kind, tools=(TOOL,) if kind == "tool" else ())
    return View(interface, 0, 1, text, text, rng=random.Random(seed))


def test_scripts_stop_and_cycles_do_not():
    view = view_of()
    view.turn = 2
    assert script(("a", "b"))(view) is None
    assert cycle(("a", "b"))(view) == "a"
    assert constant("x")(view) == "x"
    assert constant("x", 2)(view) is None


def test_vocabulary_keeps_quoted_and_listed_phrases_whole():
    words = vocabulary("Choose:\n- red door\n- blue door\nor say 'open it' 3 times")
    assert {"red door", "blue door", "open it", "3"} <= set(words)
    assert tokens("a=-3.5, (b-c)!") == ["a", "-3.5", "b-c"]


@given(st.integers(0, 10**6))
def test_random_calls_fit_their_schema(seed):
    arguments = sample_arguments(TOOL["function"]["parameters"], view_of("tool", seed=seed))
    assert {"where", "steps"} <= set(arguments)
    assert arguments["where"] in ("left", "right")
    assert type(arguments["steps"]) is int
    assert all(type(tag) is str for tag in arguments.get("tags", []))
    assert arguments.get("fast") in (True, False, None)


def test_the_random_policy_depends_on_its_seed_only():
    said = [[random_grammar(view_of("tool", seed=seed)) for _ in range(3)] for seed in (1, 1, 2)]
    assert said[0] == said[1] != said[2]


def test_tool_environments_get_wrong_calls_of_each_tool():
    texts = hostile(Interface(entry="E", kind="tool", tools=(TOOL,)))
    wrong = [item for text in texts for item in parse_calls(text) if item.name == "move"]
    assert len(wrong) == 12
    assert {} in [dict(item.arguments) for item in wrong]


@pytest.mark.parametrize("name", TEXT_VARIANTS)
@pytest.mark.parametrize("text", ["42", "go north", "a, b", "\\boxed{7}"])
def test_text_variants_say_the_same(name, text):
    said = TEXT_VARIANTS[name][1](text)
    assert said is None or (said != text and answer_of(said) == answer_of(text))


@pytest.mark.parametrize("name", CALL_VARIANTS)
def test_call_variants_hold_the_same_calls(name):
    text = call("move", where="left", steps=3) + "\n" + call("move", where="right", steps=1)
    said = CALL_VARIANTS[name][1](text)
    assert said is not None
    assert said != text
    pairs = [(item.name, dict(item.arguments)) for item in parse_calls(said)]
    assert pairs == [(item.name, dict(item.arguments)) for item in parse_calls(text)]


def test_the_final_answer_is_that_of_the_last_message():
    assert final_answer(("x", "The answer is \\boxed{12}.")) == "12"
    assert final_answer(("x", call("move"))) is None
    assert final_answer(()) is None
