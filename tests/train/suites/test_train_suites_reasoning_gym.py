import json
import random
from dataclasses import replace
from importlib.util import find_spec

import pytest

from spade_envs.errors import ConfigError
from spade_train.suites import evaluating, judge, reasoning_gym, registry
from spade_train.suites.base import Fault, Score, Session, Suite
from train.suites import stubs

BUCKETS = {"math": 31, "algorithmic": 36, "cognition": 24, "logic": 9}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return stubs.install(tmp_path_factory.mktemp("lib"), "reasoning_gym", stubs.REASONING)


@pytest.fixture(scope="module")
def sandbox(library):
    with judge.library_sandbox(("reasoning_gym",), str(library)) as opened:
        yield opened


@pytest.fixture
def opened(library, sandbox, tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "packages_of", lambda name: library)
    monkeypatch.setattr(judge.Judge.__init__, "__defaults__", (SHORT,))
    monkeypatch.setattr(reasoning_gym, "library_sandbox", lambda *_: sandbox)
    made = []

    def make(**settings):
        made.append(reasoning_gym.suite(**{"cache": str(tmp_path / "items"), **settings}))
        return made[-1]

    yield make
    for suite in made:
        suite.close()


SHORT = replace(judge.LIMITS, step_timeout_s=0.5)


def played(suite, said, number=0):
    session = suite.open(suite.tasks()[number], seed=1)
    session.reply(said)
    return session.score()


def test_the_buckets_have_their_published_sizes():
    assert {bucket: len(held) for bucket, held in reasoning_gym.hard().items()} == BUCKETS
    assert reasoning_gym.hard()["cognition"]["sudoku"] == {"max_empty": 50, "min_empty": 30}


def test_items_are_those_of_the_published_evaluation():
    for episode in range(20):
        random.seed(episode)
        assert reasoning_gym.item_of(episode) == random.choice(range(500))


def test_tasks_are_all_datasets_and_a_beginning_is_fair(opened):
    suite = opened()
    tasks = suite.tasks()
    assert isinstance(suite, Suite)
    assert len(tasks) == len({task.id for task in tasks}) == 800
    first = [task.group for task in tasks[:100]]
    assert {bucket: first.count(bucket) for bucket in BUCKETS} == BUCKETS
    assert {task.group for task in tasks[:10]} == set(BUCKETS)
    assert suite.version == "reasoning-gym 9.9 + 1"


def test_replaying_answers_wins_and_another_item_does_not(opened):
    suite = opened(datasets="chain_sum", episodes=2)
    session = suite.open(suite.tasks()[1], seed=0)
    item = reasoning_gym.item_of(1)
    assert isinstance(session, Session)
    assert session.messages[0].content.startswith(f"chain_sum {item}?")
    assert session.messages[0].content.endswith("within \\boxed{}.")
    assert session.reference() == f"<answer>a{item}</answer>"
    assert played(suite, session.reference(), 1) == Score(
        value=1.0, success=True, detail={"credit": 1.0}
    )
    assert played(suite, f"\\boxed{{a{item}}}", 1).success
    assert played(suite, session.random(random.Random(0)), 1).value == 0.0


def test_partial_credit_is_no_win_and_no_value(opened):
    score = played(opened(datasets="lcm"), "<answer>nearly</answer>")
    assert score == Score(value=0.0, success=False, detail={"credit": 0.99})


@pytest.mark.parametrize("said", ["", "42", "<answer></answer>", "None", "\\boxed{" * 9])
def test_no_answer_scores_nothing_and_asks_nobody(opened, said):
    assert played(opened(datasets="lcm"), said) == Score(
        value=0.0, success=False, detail={"error": "no answer found"}
    )


def test_a_scorer_that_hangs_or_crashes_is_a_fault_and_the_next_is_served(opened):
    suite = opened(datasets="lcm")
    hung = played(suite, "<answer>hang</answer>")
    assert hung == Fault("score", "lcm: timeout: took longer than 0.5 s")
    crashed = played(suite, "<answer>crash</answer>")
    assert isinstance(crashed, Fault)
    assert "RuntimeError: scorer" in crashed.reason
    assert played(suite, f"<answer>a{reasoning_gym.item_of(0)}</answer>").success


def test_what_a_scorer_would_evaluate_is_let_through_only_if_it_is_a_formula(opened):
    suite = opened(datasets="countdown")
    assert played(suite, "<answer>2 + 2</answer>").success
    sly = played(suite, "<answer>exec('import sys') or 4</answer>")
    assert sly.detail == {"error": "an answer that would have to be run"}
    assert not sly.success


@pytest.mark.parametrize(
    "endless",
    [
        *("99999999!", "((3!)!)!", "9**(9*9)**9", "9**9**9", "9**(100*100*100)"),
        *("((9**200)**200)**200", "(2**(99+99))**(99+99)", "-" * 3000 + "1", "2**1e300"),
    ],
)
def test_a_formula_that_takes_for_ever_is_wrong_and_no_fault_that_leaves_the_task_out(endless):
    assert not evaluating.harmless(endless, "countdown")


@pytest.mark.parametrize(
    "formula",
    [
        *("x**5 + 3*x**2*y - 1", "(x+1)**200", "2**0.5", "1.5*x**2.5", "2**(x+3)", "sqrt(x)**3"),
        *("36*x**6*y**(-2)", "exp(x**2)/2 + C", "3*(4+5)-2/7", "9**200", "2 +"),
    ],
)
def test_a_formula_that_ends_is_scored(formula):
    assert evaluating.harmless(formula, "countdown")


def test_datasets_without_an_answer_have_no_oracle(opened):
    suite = opened(datasets="rush_hour")
    session = suite.open(suite.tasks()[0], seed=0)
    assert session.reference() is None
    assert session.random(random.Random(0)) == "<answer>0</answer>"


def test_items_are_made_once_and_kept(opened, tmp_path):
    opened(datasets="lcm", episodes=1).open(opened(datasets="lcm").tasks()[0], seed=0)
    (file,) = (tmp_path / "items").rglob("*.json")
    kept = json.loads(file.read_text())
    file.write_text(json.dumps({**kept, "question": "from the disk?"}))
    suite = opened(datasets="lcm", episodes=1)
    task = suite.tasks()[0]
    assert suite.open(task, seed=0).messages[0].content.startswith("from the disk?")
    file.write_text("{broken")
    assert suite.open(task, seed=0).messages[0].content.startswith("lcm ")
    assert json.loads(file.read_text()) == kept


def test_items_that_are_no_plain_data_are_made_again_to_be_scored(opened):
    suite = opened(datasets="bf")
    assert played(suite, f"<answer>a{reasoning_gym.item_of(0)}</answer>").success


def test_wrong_settings_name_what_is_wrong(opened):
    with pytest.raises(ConfigError, match="no dataset 'sums'"):
        opened(datasets="sums")
    with pytest.raises(ConfigError, match="episodes must be"):
        opened(episodes=0)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("reasoning_gym") is None, reason="needs pip install reasoning-gym")
def test_shipped_answers_win(tmp_path):
    suite = reasoning_gym.suite(episodes=1, cache=str(tmp_path), datasets="chain_sum,lcm,syllogism")
    for number, task in enumerate(suite.tasks()):
        session = suite.open(task, seed=0)
        assert played(suite, session.reference(), number).success
    suite.close()
