"""ACEBench's agent part against a checkout of our own making, and (slow) against a real one."""

import os
import random
import sys

import pytest

from spade_envs.errors import ConfigError
from spade_envs.types import Completion
from spade_train.suites import acebench
from spade_train.suites.ace_session import END, bracketed, followed_part, read_step
from spade_train.suites.base import Session, Suite
from spade_train.suites.users import ModelUser
from train.suites.ace_kit import SEND, WIFI, checkout, forget


@pytest.fixture
def fresh(monkeypatch):
    """Undo what a checkout does to imports."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    forget()
    yield
    forget()


@pytest.fixture
def suite(tmp_path, fresh):
    return acebench.suite(path=str(checkout(tmp_path)))


def start(suite, kind):
    (task,) = [each for each in suite.tasks() if each.group == kind]
    return suite.open(task, seed=0)


def play(session, replies):
    for said in replies:
        session.reply(said)
    return session.score()


def oracle(session):
    while not session.done:
        session.reply(session.reference())
    return session.score()


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("[a()]", True),
        ("x [a()] y", True),
        ("]a()[", False),
        ("[\n]", False),
        ("[" * 200_000, False),
    ],
)
def test_brackets_are_looked_for_once(said, found):
    assert bracketed(said) is found


def test_it_is_a_suite_and_says_who_the_user_is(suite):
    assert isinstance(suite, Suite)
    assert suite.labels == {"user": "scripted"}
    assert [task.group for task in suite.tasks()] == ["multi_step", "multi_turn"]
    assert suite.version.startswith("acebench ")
    assert isinstance(start(suite, "multi_turn"), Session)


@pytest.mark.parametrize("kind", acebench.KINDS)
def test_oracle_and_empty(suite, kind):
    assert oracle(start(suite, kind)).success
    session = start(suite, kind)
    while not session.done:
        session.reply("")
    score = session.score()
    assert (score.value, score.success, score.detail["process"]) == (0.0, False, 0.0)


def test_the_alternative_that_works_is_the_oracle(suite):
    session = start(suite, "multi_turn")
    oracle(session)
    assert [m.content for m in session.messages if m.role == "assistant"][:2] == [
        WIFI,
        """[send_message(receiver='Eve', message="Don't go")]""",
    ]


def test_partial_credit_is_no_success(suite):
    score = play(start(suite, "multi_step"), [WIFI, END])
    assert (score.value, score.detail) == (0.0, {"process": 0.5})


def test_results_are_told_and_errors_too(suite):
    session = start(suite, "multi_step")
    play(session, ["[count(), turn_on_wifi(), fly(), send_message(receiver='Eve')]", SEND])
    told = session.messages[3].content
    assert told.startswith("execution result: [1, {'status': True}, \"Error during execution: ")
    assert "missing 1 required positional argument: 'message'" in told
    assert session.messages[5].content == "execution result: [{'status': True, 'id': 2}]"


def test_a_method_that_classes_share_acts_on_all(suite):
    session = start(suite, "multi_step")
    session.reply(WIFI)
    assert [each.wifi for each in session._instances.values()] == [True, True]


@pytest.mark.parametrize(
    "code",
    [
        "[send_message(receiver='Eve', message=open({file!r}, 'w'))]",
        "[send_message(receiver=open(file={file!r}, mode='w'), message='')]",
        "[send_message(receiver=1+open({file!r}, 'w'), message='')]",
        "[open(file={file!r}, mode='w')]",
        "[_load_scenario(scenario={{'wifi': True}})]",
        "[send_message.__globals__.update(wifi=True)]",
        "[__init__()]",
    ],
)
@pytest.mark.parametrize("kind", acebench.KINDS)
def test_a_call_that_would_execute_code_does_not(suite, kind, code, tmp_path):
    file = str(tmp_path / "made")
    session = start(suite, kind)
    session.reply(code.format(file=file))
    assert not os.path.exists(file)
    assert session._instances["MessageApi"].wifi is False
    assert not session.score().success


def test_talk_goes_to_the_user_only_where_there_is_one(suite):
    session = start(suite, "multi_step")
    session.reply("What should I do?")
    assert session.messages[-1].content.startswith("execution result: Please do not ask me")
    session = start(suite, "multi_turn")
    play(session, ["What should I do?", "And now?"])
    assert session.done
    session = start(suite, "multi_turn")
    play(session, ["Shall I?", WIFI, "Shall I really?"])
    assert not session.done


def test_messages_are_limited(suite):
    session = start(suite, "multi_step")
    replies = 0
    while not session.done:
        session.reply(WIFI)
        replies += 1
    assert replies == 20
    session.reply(SEND)
    assert not session.score().success


def test_a_class_named_wrongly_keeps_the_verdict_before_it(tmp_path, fresh):
    """As upstream, whose ground truth names some classes wrongly."""
    found = acebench.Checkout(checkout(tmp_path))
    state = [{"BaseApi": {"wifi": True}}, {"MessageApi": {"inbox": {}}}]
    wanted = ({"BaseApi": {"wifi": True}}, {"MessageAPI": {"inbox": {"9": "x"}}})
    entry = acebench.Entry("multi_step", {}, wanted, ((),))
    assert found.matches(state, entry)
    assert not found.matches(state[:1], entry)
    wrong = acebench.Entry("multi_step", {}, ({"BaseApi": {"wifi": False}}, wanted[1]), ((),))
    assert not found.matches(state, wrong)


def test_how_far_a_way_was_followed():
    way = [read_step(text) for text in ("[a()]", "[b(x='it's')] ", "[c()]")]
    assert followed_part(way, ["[a()]", "talk", '[b(x="it\'s")]']) == pytest.approx(2 / 3)
    assert followed_part(way, ["[b(x='it\\'s')]", "[a()]"]) == pytest.approx(1 / 3)
    assert followed_part(way, ["[c()]"]) == 0.0
    assert followed_part([], []) == 1.0


def test_another_folder_is_refused_with_what_is_meant(tmp_path):
    with pytest.raises(ConfigError, match="chenchen0103/ACEBench"):
        acebench.suite(path=str(tmp_path))
    with pytest.raises(ConfigError, match="scripted"):
        acebench.suite(path=str(tmp_path), user="gpt")


class Echo:
    """A model in the role of the user."""

    name = "echo"

    def __init__(self):
        self.asked = []

    def complete(self, messages, *, seed, max_tokens, temperature):
        self.asked.append((tuple(messages), seed, temperature))
        text = "<think>hm</think>Tell Eve." if len(self.asked) == 1 else f"Please. {END}"
        return Completion(text=text, model="echo")


def test_a_model_may_play_the_user(tmp_path, fresh):
    model = Echo()
    suite = acebench.AceBenchAgent(acebench.Checkout(checkout(tmp_path)), ModelUser(model))
    assert suite.labels == {"user": "model echo"}
    (task,) = [each for each in suite.tasks() if each.group == "multi_turn"]
    session = suite.open(task, seed=7)
    assert "user:Tell Eve.\n" in session.messages[1].content
    assert model.asked[0][0][0].content == "You want: Tell Eve: Don't go"
    play(session, [WIFI, SEND, "Done."])
    assert session.done
    assert session.score().success
    assert {(seed, heat) for _, seed, heat in model.asked} == {(7, 0.0)}


def test_random_replies_can_be_read(suite):
    rng = random.Random(3)
    assert all(read_step(said) or said == END for said in _many(suite, rng))


def _many(suite, rng):
    session = start(suite, "multi_step")
    return [session.random(rng) for _ in range(20)]


@pytest.mark.slow
def test_the_figures_of_the_public_checkout(fresh):
    """Nine entries have solutions that do not lead to their own end state."""
    path = os.environ.get("ACEBENCH_DIR")
    if not path:
        pytest.skip("set ACEBENCH_DIR to a checkout of chenchen0103/ACEBench")
    real = acebench.suite(path=path)
    rates = {}
    for who, say in (("oracle", lambda s: s.reference()), ("empty", lambda s: "")):
        for kind in acebench.KINDS:
            wins = []
            for task in (each for each in real.tasks() if each.group == kind):
                session = real.open(task, seed=0)
                while not session.done:
                    session.reply(say(session))
                wins.append(session.score().value)
            rates[who, kind] = round(sum(wins) / len(wins), 3)
    assert rates == {
        ("oracle", "multi_step"): 0.6,
        ("oracle", "multi_turn"): 0.967,
        ("empty", "multi_step"): 0.0,
        ("empty", "multi_turn"): 0.0,
    }
