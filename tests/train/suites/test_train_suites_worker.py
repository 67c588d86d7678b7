import os
import random

import pytest

from spade_envs.errors import ConfigError
from spade_train.errors import DataError, SuiteError
from spade_train.suites.base import Fault, Score, Session, Suite, Task
from spade_train.suites.worker import Limits, isolated
from train.suites.odd import SCORES
from train.suites.sums import make

REF = "train.suites.sums:make"
LIMITS = Limits(load_s=60, call_s=0.5, memory_mb=4096)


@pytest.fixture(scope="module")
def suite():
    broken = ["hang", "die", "raise", "nan", "closed", "unknown"]
    opened = isolated(REF, {"broken": broken}, limits=LIMITS)
    yield opened
    opened.close()


def session(suite, task, seed=5):
    return suite.open(next(each for each in suite.tasks() if each.id == task), seed=seed)


def test_a_suite_apart_is_the_same_suite(suite):
    here = make(broken=["hang", "die", "raise", "nan", "closed", "unknown"])
    assert isinstance(suite, Suite)
    assert list(suite.tasks()) == list(here.tasks())
    assert suite.settings == here.settings
    assert suite.labels == {"kind": "toy"}
    assert suite.decoding == here.decoding


def test_a_session_apart_goes_as_one_here(suite):
    apart, here = session(suite, "3"), make().open(Task("3", "small", {"n": 3}), seed=5)
    assert isinstance(apart, Session)
    assert apart.reference() == here.reference() == "8"
    for said in ("7", "8"):
        apart.reply(said)
        here.reply(said)
        assert apart.messages == here.messages
        assert apart.done is here.done
    assert apart.score() == here.score() == Score(value=1.0, success=True, detail={"turns": 2})


def test_random_replies_follow_the_generator(suite):
    one = session(suite, "3")
    assert one.random(random.Random(1)) == one.random(random.Random(1))
    assert one.random(random.Random(1)) != one.random(random.Random(2))


@pytest.mark.parametrize(
    ("task", "reason"),
    [
        ("hang", "timed out after 0.5 s"),
        ("die", "its process ended with 7"),
        ("raise", "RuntimeError: two lines"),
    ],
)
def test_what_breaks_is_a_fault_and_spares_the_others(suite, task, reason):
    innocent, culprit = session(suite, "2"), session(suite, task)
    innocent.reply("nonsense")
    before = innocent.messages
    culprit.reply("anything")
    assert culprit.done
    assert isinstance(culprit.score(), Fault)
    assert culprit.score().where == "reply"
    assert culprit.score().reason.startswith(reason)
    assert innocent.messages == before
    innocent.reply("7")
    assert innocent.score() == Score(value=1.0, success=True, detail={"turns": 2})


def test_a_score_out_of_range_is_a_fault(suite):
    one = session(suite, "nan")
    assert one.score() == Fault("score", "DataError: a score must be in [0, 1], not nan")
    with pytest.raises(DataError):
        Score(value=1.1, success=True)


def test_a_session_that_cannot_open_is_a_fault(suite):
    assert session(suite, "closed") == Fault("open", "it is closed")
    assert session(suite, "unknown").reference() is None


def test_settings_that_a_suite_refuses_and_data_that_it_lacks():
    with pytest.raises(ConfigError, match="count must be >= 1"):
        isolated(REF, {"count": 0}, limits=LIMITS)
    with pytest.raises(SuiteError, match="RuntimeError: no such data"):
        isolated(REF, {"count": 13}, limits=LIMITS)
    with pytest.raises(SuiteError, match="torch"):
        isolated(REF, {"count": 14}, limits=LIMITS)
    with pytest.raises(SuiteError, match="cannot be loaded"):
        isolated("no_such_module:make", limits=LIMITS)


def test_the_process_sees_no_keys_and_ends_with_the_suite(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    opened = isolated(REF, limits=LIMITS)
    process = opened._children[0]._process
    with open(f"/proc/{process.pid}/environ", "rb") as file:
        assert b"secret" not in file.read()
    opened.close()
    opened.close()
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)


def test_two_processes_serve_at_once():
    opened = isolated(REF, {"count": 4}, limits=LIMITS, workers=2)
    sessions = [opened.open(task, seed=0) for task in opened.tasks()]
    lives = {id(each._child) for each in sessions}
    assert opened.workers == len(lives) == 2
    for number, each in enumerate(sessions):
        each.reply(str(number))
        assert each.score().success
        each.close()
    opened.close()


def test_surrogates_and_long_replies_cross(suite):
    one = session(suite, "1")
    one.reply("\ud800" + "x" * 300_000)
    assert one.messages[1].content == "\ud800" + "x" * 300_000
    assert not one.done


@pytest.fixture
def odd():
    opened = []

    def open_odd(how):
        opened.append(isolated("train.suites.odd:make", {"how": how}, limits=LIMITS))
        return opened[-1]

    yield open_odd
    for each in opened:
        each.close()


@pytest.mark.parametrize("how", SCORES)
def test_what_is_no_score_is_a_fault(odd, how):
    one = session(odd(how), "a")
    one.reply("x")
    found = one.score()
    assert isinstance(found, Fault)
    assert found.where == "score"
    assert isinstance(found.reason, str)


def test_a_score_may_be_a_truth(odd):
    one = session(odd("nothing"), "a")
    one.reply("x")
    assert repr(one.score().value) == "1.0"


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("group is a number", "tasks of suite odd.*Expected `str`, got `int`"),
        ("name is a number", "Expected `str`, got `int`"),
        ("two of one name", "two tasks are called 'a'"),
        ("label is a number", r"odd:make: .*Expected `str`, got `int` - at `\$.labels"),
        ("version is a number", "version"),
        ("half a sample", "samples"),
    ],
)
def test_a_suite_of_another_form_is_refused_with_what_is_wrong(odd, how, told):
    with pytest.raises(SuiteError, match=told):
        odd(how).tasks()


@pytest.mark.parametrize(
    ("how", "reason"),
    [("reference raises", "ValueError: no key"), ("reference is a number", "int, not a text")],
)
def test_a_reference_that_breaks_is_a_fault_of_the_attempt(odd, how, reason):
    one = session(odd(how), "a")
    assert one.reference() is None
    assert one.done
    assert one.score().where == "reference"
    assert reason in one.score().reason
