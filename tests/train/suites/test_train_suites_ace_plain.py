"""ACEBench's Normal and Special parts on a checkout of ours, and (slow) on a real one."""

import json
import os
import random
import sys

import pytest

from spade_envs.errors import ConfigError
from spade_envs.types import Message
from spade_train.evaluate.players import function_player
from spade_train.evaluate.run import Evaluation, Plan
from spade_train.suites import ace_plain
from spade_train.suites.base import Score, Session, Suite, latest
from train.suites.ace_kit import checkout, forget

_CHECKER = """
def normal_checker(functions, calls, wanted, question, category):
    assert category.startswith("normal_")
    if len(calls) != len(wanted):
        return {"valid": False, "error_type": "number"}
    for call, (name, given) in zip(calls, wanted.items()):
        found = call[name.removesuffix("_1").removesuffix("_2")]
        if found["room"] == "crash":
            raise AttributeError
        if found != given:
            return {"valid": False, "error_type": "value"}
        given.clear()
    return {"valid": True}
"""
_PROMPTS = """
SYSTEM_PROMPT_FOR_NORMAL_DATA_EN = "Call. {time} {function}"
SYSTEM_PROMPT_FOR_PREFERENCE_DATA_EN = "Call for {profile}. {function}"
SYSTEM_PROMPT_FOR_SPECIAL_DATA_EN = "Call or tell. {time} {function}"
USER_PROMPT_EN = "History: {question}"
"""
_HEAT = {
    "name": "heat",
    "parameters": {"properties": {"room": {"type": "string"}}, "required": ["room"]},
}
KITCHEN, HALL = "[heat(room='kitchen')]", "[heat(room='hall')]"
_IN = {"heat": {"room": "kitchen"}}
_DATA = {
    "normal_single_turn_single_function": [("0", [{"heat": {"room": "hall"}}, _IN])],
    "normal_single_turn_parallel_function": [
        ("0", {"heat_1": {"room": "kitchen"}, "heat_2": {"room": "hall"}})
    ],
    "normal_multi_turn_user_adjust": [("0_0", _IN), ("0_1", {"heat": {"room": "hall"}})],
    "normal_preference": [("0", _IN)],
    "special_incomplete": [("0", {"heat": ["room", "degrees"]})],
    "special_error_param": [("0", {"degrees": ["hot"]})],
    "special_irrelevant": [("0", "Due to the limitations of the function, I cannot.")],
}
MISSING = '["Missing necessary parameters (room, degrees) for the api (heat)"]'


@pytest.fixture
def home(tmp_path, monkeypatch):
    found = checkout(tmp_path)
    for file, text in (
        ("model_eval/checker.py", _CHECKER),
        ("model_inference/prompt_en.py", _PROMPTS),
    ):
        with (found / file).open("a") as opened:
            opened.write(text)
    data = found / "data_all" / "data_en"
    names = [f"normal_{c}" for c in ace_plain.NORMAL] + [f"special_{c}" for c in ace_plain.SPECIAL]
    for name in names:
        rows = [(f"{name}_{number}", truth) for number, truth in _DATA.get(name, [])]
        asked = {
            "question": "user: Heat!",
            "function": [_HEAT],
            "time": "Now {9}",
            "profile": "Ada",
        }
        tasks = [{"id": i, **asked} for i, _ in rows]
        truths = [{"id": i, "ground_truth": truth} for i, truth in rows]
        for place, lines in ((data, tasks), (data / "possible_answer", truths)):
            text = "".join(json.dumps(each) + "\n" for each in lines)
            (place / f"data_{name}.json").write_text(text)
    monkeypatch.setattr(sys, "path", list(sys.path))
    forget()
    yield found
    forget()


@pytest.fixture
def suite(home):
    return ace_plain.suite(path=str(home))


def start(suite, category):
    (task,) = [each for each in suite.tasks() if each.group == category]
    return suite.open(task, seed=0)


def judged(suite, category, *said):
    session = start(suite, category)
    for each in said:
        session.reply(each)
    return session.score()


def test_it_is_a_suite_in_which_the_turns_of_a_conversation_are_one_task(suite):
    assert isinstance(suite, Suite)
    assert [task.group for task in suite.tasks()] == [
        "single_turn_single_function", "single_turn_parallel_function", "multi_turn_user_adjust",
        "preference", "incomplete", "error_param", "irrelevant",
    ]  # fmt: skip
    assert suite.tasks()[2].detail == {"turns": 2}
    assert isinstance(start(suite, "preference"), Session)


def test_oracle_and_empty(suite):
    for task in suite.tasks():
        session, nothing = suite.open(task, seed=0), suite.open(task, seed=0)
        while not session.done:
            session.reply(session.reference())
            nothing.reply("")
        assert session.score() == Score(value=1.0, success=True), task
        assert nothing.score().value == 0.0
        assert session.reference() is None


def test_prompts(suite):
    normal = start(suite, "single_turn_single_function").messages
    assert normal[0].content.startswith("Call. Now {9} [{'name': 'heat'")
    assert normal[1] == Message("user", "History: user: Heat!")
    assert start(suite, "preference").messages[0].content.startswith("Call for Ada.")
    assert start(suite, "irrelevant").messages[0].content.startswith("Call or tell. Now")


def test_any_alternative_is_right_and_talk_may_stand_around_it(suite):
    assert judged(suite, "single_turn_single_function", f"Sure: {KITCHEN} [heat(]").success
    assert judged(suite, "single_turn_single_function", HALL).success
    assert judged(suite, "single_turn_single_function", "[heat(room='x')]").detail == {
        "error": "value"
    }


def test_a_conversation_is_won_by_all_of_its_turns_each_asked_anew(suite):
    half = judged(suite, "multi_turn_user_adjust", KITCHEN, KITCHEN)
    assert (half.value, half.success, half.detail) == (0.5, False, {"error": "value"})
    assert judged(suite, "multi_turn_user_adjust", "[heat( room = 'kit chen')]", HALL).success
    assert judged(suite, "multi_turn_user_adjust", f"Sure: {KITCHEN}", HALL).value == 0.5
    session = start(suite, "multi_turn_user_adjust")
    session.reply("first")
    assert [m.role for m in session.messages] == ["system", "user", "assistant", "system", "user"]
    assert [m.role for m in latest(session.messages)] == ["system", "user"]
    assert latest([Message("user", "a")]) == (Message("user", "a"),)


def test_a_policy_sees_the_turn_that_it_is_asked_and_no_other(suite):
    seen = []

    def respond(messages):
        seen.append([each.role for each in messages])
        return HALL

    plan = Plan(decoding=suite.decoding)
    list(Evaluation(suite, function_player(respond, name="hall"), plan).run())
    assert len(seen) == 8
    assert all(roles == ["system", "user"] for roles in seen)


@pytest.mark.parametrize(
    ("category", "said", "error"),
    [
        ("incomplete", MISSING.replace("degrees", "x"), "error_correction"),
        ("incomplete", MISSING.replace("heat", "x"), "error_correction"),
        ("incomplete", "What room?", "error_detection"),
        ("error_param", "There is incorrect value (cold).", "error_correction"),
        ("error_param", "hot", "error_detection"),
        ("irrelevant", "I cannot.", "error_detection"),
    ],
)
def test_special_wants_the_names_of_what_is_wrong(suite, category, said, error):
    assert judged(suite, category, said).detail == {"error": error}


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ("no brackets", "wrong_output_format"),
        ("[heat(room=f'kitchen')]", "wrong_output_format"),
        ("[1, 2]", "wrong_output_format"),
        ("[" * 50_000 + "]" * 50_000, "wrong_output_format"),
        ("[heat(room='crash')]", "checker:AttributeError"),
        ("[fly(room='kitchen')]", "checker:KeyError"),
        ("[]", "number"),
    ],
)
def test_what_is_wrong_scores_nothing_and_is_no_fault(suite, said, error):
    assert judged(suite, "preference", said).detail == {"error": error}


@pytest.mark.parametrize("category", ["preference", "multi_turn_user_adjust", "irrelevant"])
def test_a_reply_that_would_execute_code_does_not(suite, category, tmp_path):
    file = tmp_path / "made"
    for code in (
        f"[heat(room=open({str(file)!r},'w'))]",
        f"[heat(room=''+open({str(file)!r},'w').name)]",
        f"[open(file={str(file)!r},mode='w')]",
    ):
        assert not judged(suite, category, code).success
    assert not file.exists()


def test_scoring_twice_is_the_same_though_the_checker_changes_what_it_is_given(suite):
    assert judged(suite, "preference", KITCHEN).success
    assert judged(suite, "preference", KITCHEN).success


def test_other_folders_and_categories_are_refused(home, tmp_path):
    with pytest.raises(ConfigError, match="chenchen0103/ACEBench"):
        ace_plain.suite(path=str(tmp_path / "none"))
    with pytest.raises(ConfigError, match="agent"):
        ace_plain.suite(path=str(home), categories="normal,agent")
    some = ace_plain.suite(path=str(home), categories="special")
    assert [task.group for task in some.tasks()] == list(ace_plain.SPECIAL)


def test_random_replies_have_the_forms_that_are_asked_for(suite):
    rng = random.Random(0)
    said = {start(suite, "incomplete").random(rng)[:12] for _ in range(40)}
    assert {each[:6] for each in said} == {"[heat(", '["Miss', '["Ther', '["Due '}
    assert all(start(suite, "preference").random(rng)[:6] == "[heat(" for _ in range(9))


@pytest.mark.slow
def test_the_figures_of_the_public_checkout(monkeypatch):
    """Upstream takes the blanks out of replies in conversations, and loses answers by that."""
    path = os.environ.get("ACEBENCH_DIR")
    if not path:
        pytest.skip("set ACEBENCH_DIR to a checkout of chenchen0103/ACEBench")
    monkeypatch.setattr(sys, "path", list(sys.path))
    real = ace_plain.suite(path=path)
    wins = {}
    for task in real.tasks():
        session = real.open(task, seed=0)
        while not session.done:
            session.reply(session.reference())
        wins.setdefault(task.group, []).append(session.score().success)
    lost = {group: len(each) - sum(each) for group, each in wins.items() if not all(each)}
    assert lost == {
        "multi_turn_user_adjust": 12, "multi_turn_user_switch": 13,
        "preference": 1, "single_turn_parallel_function": 1,
    }  # fmt: skip
    assert sum(map(len, wins.values())) == 850
