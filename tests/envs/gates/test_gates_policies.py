"""Ignorant policies and harmless variants."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_envs.api import answer_of, call
from spade_envs.api.calls import parse_calls
from spade_envs.gates.policies import (
    POLICIES,
    View,
    all_candidates,
    best_constant,
    boxed,
    constant,
    copy_example,
    cycle,
    degraded,
    examples,
    one_tool,
    other_seed_reference,
    random_grammar,
    replaced,
    sample_arguments,
    script,
    tokens,
    vocabulary,
    without,
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
    return View(interface, 0, 1, text, text, name=str(seed))


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


def played(policy, view, turns=12):
    said = []
    while len(said) < turns and (action := policy(view)) is not None:
        said.append(action)
        view.turn += 1
    return said


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ask N        for example: ask 3\nNext.", ["ask 3"]),
        ("Reply with letters, such as BWS, in a box.", ["BWS"]),
        ("Write effects, such as A>C, B>A if A acts on C.", ["A>C", "A>C, B>A"]),
        ("Say a colour, e.g. 'dark red', in words.", ["dark red"]),
        ("Answer like \\boxed{12}.", ["12"]),
        ("No worked one is here.", []),
    ],
)
def test_worked_examples_are_found(text, found):
    assert examples(text) == found


def test_the_example_is_copied_bare_and_boxed_and_then_nothing():
    view = view_of(text="Say a number, for example 17.")
    assert played(copy_example, view) == ["17", boxed("17")]


def test_all_candidates_name_every_number_and_word_once():
    assert played(all_candidates, view_of(text="red, 7 or red?")) == [
        "red 7 or",
        "\\boxed{red 7 or}",
    ]


def test_every_ignorant_policy_says_something_from_the_view_alone():
    for name, policy in POLICIES.items():
        said = [policy(view_of(text="Say 'go on', for example 17.")) for _ in range(2)]
        assert said[0] == said[1] is not None, name


def test_the_best_constant_is_the_most_frequent_reference():
    references = {1: ("a",), 2: ("b", "c"), 3: ("b", "c")}
    assert played(best_constant(references), view_of()) == ["b", "c"]
    with pytest.raises(ValueError, match="at least one"):
        best_constant({})


def test_the_reference_of_another_seed_is_a_different_one():
    view = view_of()
    assert played(other_seed_reference({1: ("a",), 2: ("a",), 3: ("b",)}), view) == ["b"]
    assert played(other_seed_reference({1: ("a",), 2: ("a",)}), view_of()) == []
    assert played(other_seed_reference({5: ("a",)}), view_of()) == []


def test_a_degraded_reference_is_wrong_at_about_its_share():
    actions = [f"act {n}" for n in range(400)]
    for share in (0.0, 0.2, 0.5, 1.0):
        said = played(degraded(actions, share), view_of(), turns=500)
        kept = sum(one == other for one, other in zip(said, actions, strict=True))
        assert abs(kept / 400 - (1 - share)) < 0.08, share
    assert played(degraded(actions, 0.5), view_of(), 500) == played(
        degraded(actions, 0.5), view_of(), 500
    )
    with pytest.raises(ValueError, match="share"):
        degraded(actions, 1.5)


def test_an_action_is_left_out_or_replaced():
    assert played(without(("a", "b", "c"), -2), view_of()) == ["a", "c"]
    assert played(replaced(("a", "b", "c"), -1, "x"), view_of()) == ["a", "b", "x"]


def test_one_tool_is_called_and_then_it_is_done():
    said = played(one_tool(0), view_of("tool"))
    assert [item.name for item in parse_calls(said[0])] == ["move"]
    assert said[1:] == ["Done."]
    assert played(one_tool(1), view_of("tool")) == []
