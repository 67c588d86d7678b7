"""BFCL against a stand-in of our own making, and (slow) against the real package."""

import importlib
import random
import sys
from collections import Counter
from pathlib import Path

import pytest

from spade_envs.errors import ConfigError
from spade_train.suites.base import Session, Suite, Task
from spade_train.suites.registry import open_suite, readiness

FAKE = Path(__file__).parent / "fakes" / "bfcl"


@pytest.fixture
def suite(monkeypatch):
    for name in [each for each in sys.modules if each.split(".")[0] == "bfcl_eval"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(FAKE))
    importlib.invalidate_caches()
    from spade_train.suites import bfcl

    made = bfcl.suite(categories=("base", "miss_func"))
    yield made
    made.close()
    for name in [each for each in sys.modules if each.split(".")[0] == "bfcl_eval"]:
        monkeypatch.delitem(sys.modules, name)


def play(suite, name, say, limit=60):
    (task,) = [each for each in suite.tasks() if each.id == name]
    session = suite.open(task, seed=0)
    for _ in range(limit):
        if session.done:
            break
        session.reply(say(session))
    score = session.score()
    session.close()
    return session, score


def test_it_is_a_suite(suite):
    assert isinstance(suite, Suite)
    assert suite.version == "bfcl-eval 0 + 1"
    tasks = suite.tasks()
    assert [task.id for task in tasks] == [
        "multi_turn_base_0", "multi_turn_miss_func_0", "multi_turn_base_1",
    ]  # fmt: skip
    assert tasks[1] == Task(
        "multi_turn_miss_func_0", "miss_func", {"turns": 2, "classes": ["Shelf"]}
    )
    assert isinstance(suite.open(tasks[0], seed=0), Session)


def test_no_such_category():
    from spade_train.suites import bfcl

    with pytest.raises(ConfigError, match="web_search"):
        bfcl.suite(categories="base,web_search")


def test_the_prompt_lists_the_functions_and_not_the_answer(suite):
    session = suite.open(suite.tasks()[0], seed=0)
    system, asked = session.messages
    assert (system.role, asked.content) == ("system", "Put Emma on the shelf.")
    assert '"name": "put"' in system.content
    assert "Python 3 syntax" in system.content
    assert "Ulysses" not in system.content


@pytest.mark.parametrize(
    "task", ["multi_turn_base_0", "multi_turn_base_1", "multi_turn_miss_func_0"]
)
def test_oracle_and_empty(suite, task):
    session, score = play(suite, task, lambda s: s.reference())
    assert (score.value, score.success) == (1.0, True)
    assert session.reference() is None
    _, nothing = play(suite, task, lambda s: "")
    assert (nothing.value, nothing.success) == (0.0, False)


def test_the_oracle_without_its_last_turn_fails(suite):
    said = iter(["[put(title='Emma')]", "done", "done"])
    _, score = play(suite, "multi_turn_base_0", lambda s: next(said))
    assert score.detail == {"error": "multi_turn:empty_turn_model_response"}


def test_a_function_held_back_is_shown_when_its_turn_comes(suite):
    said = iter(["There is no such function.", "[put(title='Emma')]", "done"])
    session, score = play(suite, "multi_turn_miss_func_0", lambda s: next(said))
    assert "'name': 'put'" not in session.messages[0].content
    assert '"name": "put"' not in session.messages[0].content
    assert "'name': 'put'" in session.messages[3].content
    assert session.messages[3].content.endswith("And now?")
    assert score.success


def test_the_same_run_twice_gives_the_same_scores(suite):
    """Upstream keeps instances by run name: a second run would find the books of the first."""
    both = [play(suite, "multi_turn_base_0", lambda s: s.reference())[1] for _ in range(2)]
    assert both[0] == both[1]
    session, _ = play(suite, "multi_turn_base_0", lambda s: "[look()]" if s._steps == 0 else "")
    assert "Faust" in session.messages[3].content
    assert "Emma" not in session.messages[3].content


def test_a_score_may_be_asked_twice_and_leaves_nothing(suite):
    session, score = play(suite, "multi_turn_base_0", lambda s: s.reference())
    assert session.score() == score
    session.close()
    from bfcl_eval.eval_checker.multi_turn_eval import multi_turn_utils

    assert not [name for name in vars(multi_turn_utils) if name.endswith("_instance")]


@pytest.mark.parametrize(
    "code",
    [
        "put(title=open('{file}', 'w'))",
        "put(title=__import__(name='os'))",
        "open(file='{file}', mode='w')",
        "put(title=put.__globals__)",
        "__import__(name='os').system(command='touch {file}')",
        "Shelf().put(title='{file}')",
        "_load_scenario(config={{}})",
        "exec(source='open({file!r}, 1)')",
        """put(title={{"open('{file}', 'w') or dict": {{"x": 1}}}})""",
        "put(title='x') if open('{file}', 'w') else 1",
    ],
)
def test_a_call_that_would_execute_code_does_not(suite, code, tmp_path):
    file = tmp_path / "made"
    session = suite.open(suite.tasks()[0], seed=0)
    session.reply(code.format(file=file))
    while not session.done:
        session.reply("")
    assert not session.score().success
    assert not file.exists()


def test_what_is_refused_is_told_and_counted(suite):
    session = suite.open(suite.tasks()[0], seed=0)
    session.reply("[steal(title='Emma'), put(title=f()), power(base=9, exponent=10**9)]")
    session.reply("[power(base=9, exponent=999999999)]")
    told = session.messages[3].content
    assert "name 'steal' is not defined" in told
    assert "no plain value" in told
    assert "out of bounds" in session.messages[5].content
    while not session.done:
        session.reply("")
    assert session.score().detail["refused"] == 4


def test_too_many_steps_in_a_turn_end_it(suite):
    session, score = play(suite, "multi_turn_base_0", lambda s: "[look()]")
    assert session._steps == 21
    assert score.detail == {"error": "multi_turn:force_terminated"}


def test_what_is_broken_off_fails(suite):
    session = suite.open(suite.tasks()[0], seed=0)
    session.reply("[put(title='Emma')]")
    assert session.score().detail == {"error": "multi_turn:force_terminated"}


def test_positional_arguments_are_dropped_as_upstream_does(suite):
    session = suite.open(suite.tasks()[0], seed=0)
    session.reply("[put('Emma')]")
    assert "missing 1 required positional argument" in session.messages[3].content


def test_random_replies_are_calls(suite):
    rng = random.Random(0)
    session = suite.open(suite.tasks()[0], seed=0)
    said = session.random(rng)
    assert said.startswith("[")
    session.reply(said)
    assert session.messages[-1].content.startswith("[{'role': 'tool'")


def without_the_last_turn(turns):
    """Return what says the reference up to the last turn, and nothing in it."""
    ended = 0

    def say(session):
        nonlocal ended
        said = session.reference() if ended < turns - 1 else ""
        ended += not said.startswith("[")
        return said

    return say


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_real_package_has_its_ceiling_and_floors_and_gives_them_again():
    found = readiness("bfcl-multi-turn")
    if not found.ready:
        pytest.skip(f"bfcl-eval is not installed; {found.mend}")
    real = open_suite("bfcl-multi-turn")
    try:
        tasks = real.tasks()
        groups = Counter(task.group for task in tasks)
        assert groups == dict.fromkeys(("base", "miss_func", "miss_param", "long_context"), 200)
        won = Counter()
        for task in tasks:
            first = play(real, task.id, lambda s: s.reference())[1]
            assert first == play(real, task.id, lambda s: s.reference())[1], task.id
            won["oracle", task.group] += first.success
            won["empty", task.group] += play(real, task.id, lambda s: "")[1].success
            short = without_the_last_turn(task.detail["turns"])
            won["short", task.group] += play(real, task.id, short)[1].success
        assert {won["oracle", group] for group in groups} == {200}
        assert {won["empty", group] for group in groups} == {0}
        assert all(won["short", group] <= 2 for group in groups)
    finally:
        real.close()
