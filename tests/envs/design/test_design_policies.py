"""Pace, thinking, usage, prices, and vLLM in process, each apart from any server."""

import sys
import threading
from types import ModuleType, SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_envs.design.clients import CompletionRequest, Price, Usage, open_policy, split_thinking
from spade_envs.design.clients.base import asked_at_once
from spade_envs.design.clients.guided import BLOCK_REGEX
from spade_envs.design.clients.pace import Pace
from spade_envs.errors import ConfigError, MissingExtra
from spade_envs.types import Message


class Clock:
    now = 100.0

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


def paced(**limits):
    clock = Clock()
    return Pace(**limits, clock=clock, sleep=clock.sleep), clock


@given(
    limit=st.integers(1, 50),
    sizes=st.lists(st.integers(0, 400), max_size=60),
    tokens=st.integers(100, 300),
)
def test_no_minute_sees_more_than_twice_the_limits(limit, sizes, tokens):
    pace, clock = paced(requests_per_minute=limit, tokens_per_minute=tokens)
    sent = []
    for size in sizes:
        pace.take(size)
        sent.append((clock.now, size))
    for start, _ in sent:
        minute = [size for at, size in sent if start <= at < start + 60 - 1e-6]
        assert len(minute) <= 2 * limit + 1
        assert sum(minute) <= 2 * tokens + max(minute)  # one request may be larger than a bucket
    long_run_s = clock.now - 100
    assert len(sent) <= limit + limit * long_run_s / 60 + 1e-6


def test_unused_tokens_come_back_and_a_server_may_ask_for_a_pause():
    pace, clock = paced(tokens_per_minute=600)
    pace.take(600)
    pace.give_back(500)
    pace.take(500)
    assert clock.now == 100
    pace.take(10)
    assert clock.now == pytest.approx(101)
    pace.pause(30)
    pace.take(0)
    assert clock.now == pytest.approx(131)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("plain", ("", "plain")),
        ("<think>a</think>b", ("a", "b")),
        (" \n<Thinking>a\n</thinking>\n\nb", ("a", "b")),
        ("<think>never done", ("never done", "")),
        ("begun in the prompt</think>b", ("begun in the prompt", "b")),
        ("```python\ns = '</think>'\n```", ("", "```python\ns = '</think>'\n```")),
        ("see <think> and </think>", ("", "see <think> and </think>")),
        ("", ("", "")),
    ],
)
def test_thinking_and_answer(text, parts):
    assert split_thinking(text) == parts


counts = st.integers(0, 10**9)
usages = st.builds(
    Usage,
    requests=counts,
    prompt_tokens=counts,
    completion_tokens=counts,
    thinking_tokens=counts,
    estimated=counts,
)


@given(usages, usages, usages)
def test_usage_adds_up_in_any_order_and_survives_json(one, two, three):
    assert (one + two) + three == three + (two + one)
    assert Usage() + one == one
    assert Usage.from_json(one.as_json()) == one
    price = Price(read=0.5, written=2)
    assert price.cost(one + two) == pytest.approx(price.cost(one) + price.cost(two))


@pytest.mark.parametrize("value", [None, [], "x", {"requests": -1}, {"requests": True}, {"a": 1}])
def test_what_is_no_usage_counts_as_nothing(value):
    assert Usage.from_json(value) == Usage()


def test_prices():
    price = Price.parse("in=0.15, out=0.6")
    assert price.cost(Usage(prompt_tokens=2_000_000, completion_tokens=500_000)) == 0.6
    for text in ("", "in=1", "in=1,out=x", "in=1,out=-1", "in=1,out=inf", "in=1,in=2", "1,2"):
        with pytest.raises(ConfigError, match=r"in=0\.15,out=0\.6"):
            Price.parse(text)


class Engine:
    made: list = []

    def __init__(self, **settings):
        if settings["model"].endswith("broken"):
            raise ValueError("no such model")
        self.settings, self.calls = settings, []
        Engine.made.append(self)

    def chat(self, chats, params, use_tqdm):
        self.calls.append(len(chats))
        if any(chat[-1]["content"] == "too long" for chat in chats):
            raise ValueError("the prompt is longer than the window")
        rows = [f"<think>hm</think>seed {one.seed} of {one.max_tokens}" for one in params]
        return [
            SimpleNamespace(
                prompt_token_ids=[1, 2],
                outputs=[SimpleNamespace(text=row, token_ids=[1] * 3, finish_reason="stop")],
            )
            for row in rows
        ]


@pytest.fixture
def fake_vllm(monkeypatch):
    fake, sampling = ModuleType("vllm"), ModuleType("vllm.sampling_params")
    platforms = ModuleType("vllm.platforms")
    platforms.current_platform = SimpleNamespace(is_cpu=lambda: fake.on_cpu)
    fake.on_cpu = False
    fake.LLM, fake.SamplingParams = Engine, SimpleNamespace
    sampling.StructuredOutputsParams = SimpleNamespace
    monkeypatch.setitem(sys.modules, "vllm", fake)
    monkeypatch.setitem(sys.modules, "vllm.sampling_params", sampling)
    monkeypatch.setitem(sys.modules, "vllm.platforms", platforms)
    return fake


def asked(text="u", seed=7):
    return CompletionRequest(messages=(Message("user", text),), seed=seed, max_tokens=9)


def test_vllm_in_this_process(fake_vllm):
    policy = open_policy("vllm:models/my-4b/", max_model_len=64)
    found = policy.complete_many([asked(seed=1), asked("too long"), asked(seed=3)])
    assert policy.name == "my-4b"
    assert [getattr(answer, "text", None) for answer in found] == [
        *("seed 1 of 9", None, "seed 3 of 9"),
    ]
    assert "longer than the window" in str(found[1])
    assert (found[0].thinking, found[0].prompt_tokens, found[0].completion_tokens) == ("hm", 2, 3)
    assert Engine.made[-1].settings == {"model": "models/my-4b/", "max_model_len": 64}
    assert policy.complete_many([]) == []
    params = open_policy("vllm:x", guided=True)._params(asked())
    assert params.structured_outputs.regex == BLOCK_REGEX
    with pytest.raises(ConfigError, match="no such model"):
        open_policy("vllm:broken")


def test_vllm_on_a_cpu_compiles_nothing_and_cuts_no_prompt_unless_told(fake_vllm):
    fake_vllm.on_cpu = True
    open_policy("vllm:x", dtype="float32")
    whole = {"enforce_eager": True, "enable_chunked_prefill": False}
    assert Engine.made[-1].settings == {"model": "x", "dtype": "float32", **whole}
    open_policy("vllm:x", enforce_eager=False)
    assert Engine.made[-1].settings["enforce_eager"] is False


def test_without_vllm(monkeypatch):
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(MissingExtra, match=r"spade-envs\[vllm\]"):
        open_policy("vllm:x")


def test_what_ends_asking_is_not_held_up_by_answers_under_way():
    under_way, end = threading.Event(), threading.Event()

    def ask(number):
        if number == 0:
            under_way.wait(20)
            raise KeyboardInterrupt
        under_way.set()
        end.wait(20)
        finished.append(number)

    finished = []
    with pytest.raises(KeyboardInterrupt):
        asked_at_once(ask, range(50), 2)
    assert finished == []
    end.set()


def test_what_is_asked_at_once_keeps_its_order():
    assert asked_at_once(lambda number: -number, range(5), 3) == [0, -1, -2, -3, -4]
    assert asked_at_once(str, [], 3) == []
