import logging
import threading
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace

import pytest

from envs.design.chat_server import serving
from spade_envs.design.clients import CompletionRequest, ConcurrentPolicy, open_policy, usage_of
from spade_envs.design.clients.guided import GUIDES
from spade_envs.design.clients.openai_compatible import OpenAICompatiblePolicy, _retry_after
from spade_envs.errors import ClientError, ConfigError
from spade_envs.types import Message

CHAT = (Message("system", "s"), Message("user", "u"))


@pytest.fixture(autouse=True)
def _no_key_and_no_waiting(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr("tenacity.nap.time.sleep", lambda seconds: None)


def request(**changes):
    return CompletionRequest(**{"messages": CHAT, "seed": 7, "max_tokens": 9, **changes})


def once(fault, seeds=(1,)):
    """Return what goes wrong with the first request of each seed."""
    seen = set()

    def faults(number, asked):
        if asked["seed"] in seen or asked["seed"] not in seeds:
            return None
        seen.add(asked["seed"])
        return fault

    return faults


@pytest.mark.parametrize("stream", [True, False])
def test_a_server_is_asked_as_told(stream):
    with serving() as server:
        policy = open_policy(server.url, stream=stream)
        found = policy.complete_many([request(seed=s, temperature=0.5) for s in (4, 5)])
    assert [answer.text for answer in found] == ["seed 4", "seed 5"]
    first = found[0]
    assert (first.model, first.finish_reason, policy.name) == ("m1", "stop", "m1")
    assert (first.prompt_tokens, first.completion_tokens) == (5, 1)
    asked = next(one for one in server.asked if one["seed"] == 4)
    assert (asked["model"], asked["temperature"], asked["max_tokens"]) == ("m1", 0.5, 9)
    assert asked["messages"] == [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "u"},
    ]
    assert isinstance(policy, ConcurrentPolicy)


def test_the_same_request_twice_has_two_answers():
    with serving() as server:
        same = request(seed=3)
        found = open_policy(f"{server.url}#m9").complete_many([same, same])
    assert [(answer.text, answer.model) for answer in found] == [("seed 3", "m9")] * 2


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("fault", ["429", "500", "503", "408", "truncated", "empty", "hanging"])
def test_what_passes_is_tried_again(fault, stream):
    with serving(fault=once(fault)) as server:
        policy = open_policy(
            server.url, stream=stream, timeout_s=0.4 if fault == "hanging" else 20.0
        )
        found = policy.complete_many([request(seed=s) for s in (1, 2)])
    assert [answer.text for answer in found] == ["seed 1", "seed 2"]
    assert (len(server.asked), server.faults) == (3, {fault: 1})


@pytest.mark.parametrize("status", ["400", "401", "404", "422"])
def test_what_stays_wrong_is_not_tried_again(status):
    mends = {"401": "set OPENAI_API_KEY", "404": "the model's name"}
    with serving(fault=lambda number, asked: status) as server:
        found = open_policy(f"{server.url}#m1").complete_many([request()])
    assert mends.get(status, "no luck") in str(found[0])
    assert len(server.asked) == 1


def test_a_pause_of_more_than_ten_minutes_is_told_and_not_waited_for():
    with serving(fault=lambda number, asked: "429") as server:
        server.retry_after = 900
        (found,) = open_policy(f"{server.url}#m1").complete_many([request()])
    assert len(server.asked) == 1
    assert "it asks for a pause of 15 minutes; start again after that" in str(found)


def test_tries_are_limited_and_the_last_error_is_told(caplog):
    caplog.set_level(logging.INFO, "spade_envs")
    with serving(fault=lambda number, asked: "500") as server:
        (found,) = open_policy(f"{server.url}#m1", max_retries=2).complete_many([request()])
    assert len(server.asked) == 3
    assert "no luck" in str(found)
    assert "asking again" in caplog.text


def test_a_reply_that_trickles_on_ends_at_its_time_limit():
    with serving(fault=lambda number, asked: "truncated") as server:
        policy = OpenAICompatiblePolicy(server.url, "m1", max_retries=0)
        with pytest.raises(ClientError, match="broke off"):
            policy.complete(CHAT, seed=1, max_tokens=1, temperature=0)
        late = OpenAICompatiblePolicy(server.url, "m1", max_retries=0, timeout_s=1e-9)
        with pytest.raises(ClientError, match="timeout_s"):
            late.complete(CHAT, seed=1, max_tokens=1, temperature=0)


def test_a_server_that_is_gone():
    with serving() as server:
        url = server.url
    with pytest.raises(ClientError, match="is the server running"):
        OpenAICompatiblePolicy(url, "m", max_retries=0).complete(
            CHAT, seed=1, max_tokens=1, temperature=0
        )
    with pytest.raises(ClientError, match="is the server running"):
        _ = OpenAICompatiblePolicy(url, max_retries=0).name


def test_a_server_that_never_answered_is_given_up_sooner(monkeypatch):
    naps = []
    monkeypatch.setattr("tenacity.nap.time.sleep", naps.append)
    with serving() as server:
        known = OpenAICompatiblePolicy(server.url, "m", max_retries=5)
        known.complete(CHAT, seed=1, max_tokens=9, temperature=0)
    for policy, waits in ((known, 5), (OpenAICompatiblePolicy(server.url, "m", max_retries=5), 2)):
        naps.clear()
        with pytest.raises(ClientError, match="is the server running"):
            policy.complete(CHAT, seed=1, max_tokens=9, temperature=0)
        assert len(naps) == waits


def test_a_server_without_models():
    with serving() as server:
        server.models = []
        with pytest.raises(ClientError, match="serves no model"):
            _ = open_policy(server.url).name


def test_as_many_requests_are_in_flight_as_allowed():
    together = threading.Barrier(3, timeout=60)

    def answer(asked):
        together.wait()  # nobody is answered before three have asked
        return "here"

    with serving(answer) as server:
        policy = open_policy(f"{server.url}#m", concurrency=3)
        found = policy.complete_many([request(seed=s) for s in range(12)])
    assert [one.text for one in found] == ["here"] * 12
    assert server.most_in_flight == 3


THOUGHTS = [
    {"content": "an answer", "reasoning_content": "hm"},
    {"content": "an answer", "reasoning": "hm"},
    {"content": "<think>hm</think>\nan answer"},
    {"content": "hm\n</think>an answer"},
]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("message", THOUGHTS, ids=str)
def test_thinking_is_taken_apart(message, stream):
    with serving(lambda asked: dict(message)) as server:
        policy = open_policy(server.url, stream=stream)
        (answer,) = policy.complete_many([request()])
    assert (answer.text, answer.thinking) == ("an answer", "hm")


def test_a_reply_that_never_leaves_its_thinking_has_no_text():
    cut = {"content": "<think>```python\nclass A(TextEnv): ...\n```", "finish_reason": "length"}
    with serving(lambda asked: dict(cut)) as server:
        (answer,) = open_policy(server.url).complete_many([request()])
    assert (answer.text, answer.finish_reason) == ("", "length")
    assert answer.thinking.startswith("```python")


def test_tokens_are_estimated_where_the_server_does_not_count():
    with serving(lambda asked: "x" * 40) as server:
        server.counts_usage = False
        (answer,) = open_policy(server.url).complete_many([request()])
    assert usage_of(request(), answer).as_json() == {
        "requests": 1,
        "completion_tokens": 10,
        "estimated": 1,
    }


@pytest.mark.parametrize("kind", list(GUIDES))
def test_guided_decoding_goes_into_the_body(kind):
    with serving() as server:
        open_policy(server.url, guided=kind).complete_many([request()])
    (field,) = GUIDES[kind]
    assert server.asked[0][field] == GUIDES[kind][field]


def test_cuts_go_into_the_body_where_they_are_set():
    with serving() as server:
        open_policy(server.url, top_p=0.8, top_k=20).complete_many([request()])
        open_policy(server.url, top_p=0.5).complete_many([request()])
        open_policy(server.url).complete_many([request()])
    cuts = [{key: each.get(key) for key in ("top_p", "top_k")} for each in server.asked]
    assert cuts == [
        {"top_p": 0.8, "top_k": 20},
        {"top_p": 0.5, "top_k": None},
        {"top_p": None, "top_k": None},
    ]
    for wrong in ({"top_p": 0.0}, {"top_p": 1.5}, {"top_k": 0}):
        with pytest.raises(ConfigError, match="top_"):
            open_policy("http://127.0.0.1:9/v1", **wrong)


def test_retry_after_is_seconds_milliseconds_or_a_date():
    def wait(**headers):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return _retry_after(SimpleNamespace(response=SimpleNamespace(headers=named)))

    assert wait(retry_after="3") == 3
    assert wait(retry_after_ms="250", retry_after="3") == 0.25
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    assert 80 < wait(retry_after=later) <= 90
    for text in ("", "soon", "-1", "inf", "nan", "Mon, 32 Foo 2020"):
        assert wait(retry_after=text) is None
    assert _retry_after(None) is None


def test_settings_that_cannot_be_used():
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        open_policy("openai:gpt-x")
    for name in ("concurrency", "requests_per_minute", "tokens_per_minute"):
        with pytest.raises(ConfigError, match=name):
            OpenAICompatiblePolicy("http://localhost/v1", **{name: 0})
    with pytest.raises(ConfigError, match="there is vllm, sglang"):
        OpenAICompatiblePolicy("http://localhost/v1", guided="magic")
