import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from spade_envs.design.clients import CompletionRequest, Policy, complete_all, open_policy
from spade_envs.design.clients import registry as registry_module
from spade_envs.design.clients.base import SerialPolicy
from spade_envs.design.clients.openai_compatible import OpenAICompatiblePolicy
from spade_envs.design.clients.scripted import ScriptedPolicy
from spade_envs.errors import ClientError, ConfigError, MissingExtra
from spade_envs.types import Completion, Message

CHAT = (Message("system", "s"), Message("user", "u"))


def request(**changes):
    return CompletionRequest(**{"messages": CHAT, "seed": 7, "max_tokens": 9, **changes})


class Serial(SerialPolicy):
    name = "serial"

    def complete(self, messages, *, seed, max_tokens, temperature):
        if seed == 13:
            raise ClientError("unlucky")
        return Completion(text=f"{seed}/{max_tokens}/{temperature}", model="serial")


def test_failures_are_values_unless_all_fail():
    answers = complete_all(Serial(), [request(seed=1), request(seed=13)])
    assert answers[0].text == "1/9/0.8"
    assert isinstance(answers[1], ClientError)
    with pytest.raises(ClientError, match="unlucky"):
        complete_all(Serial(), [request(seed=13)] * 2)
    assert complete_all(Serial(), []) == []
    assert isinstance(Serial(), Policy)


def test_an_answer_per_request():
    class Short(Serial):
        def complete_many(self, requests):
            return []

    with pytest.raises(ClientError, match="0 answers to 1"):
        complete_all(Short(), [request()])


def test_scripted_follows_attempts_and_turns(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_text('"one"\n\n["two", "mended"]\n{"completion": "three", "note": 1}\n')
    designer = open_policy(f"scripted:{path}")
    found = designer.complete_many(
        [request(attempt=2), request(attempt=1), request(attempt=1, turn=5), request(attempt=3)]
    )
    assert [getattr(answer, "text", None) for answer in found] == ["three", "two", "mended", None]
    assert "no completion for attempt 3" in str(found[3])
    chat = {"seed": 0, "max_tokens": 1, "temperature": 0}
    assert [designer.complete(CHAT, **chat).text for _ in range(3)] == ["one", "two", "three"]
    with pytest.raises(ClientError):
        designer.complete(CHAT, **chat)
    assert designer.name == "scripted:s.jsonl"


@pytest.mark.parametrize("line", ["{", "1", "[]", "[1]", '{"text": "x"}', "[" * 5000])
def test_scripts_that_cannot_be_read(tmp_path, line):
    (tmp_path / "s.jsonl").write_text(line)
    with pytest.raises(ConfigError, match=r"s\.jsonl:1"):
        ScriptedPolicy.from_file(tmp_path / "s.jsonl")


def test_registry(monkeypatch):
    with pytest.raises(ConfigError, match=r"no model 'nope'.*scripted:FILE"):
        open_policy("nope")
    with pytest.raises(ConfigError, match="cannot read the script"):
        open_policy("scripted:/nonexistent")
    with pytest.raises(ConfigError):
        open_policy("hf:")

    class Entry:
        name, value = "mine", "m:Mine"

        def __init__(self, load):
            self.load = load

    def installed(load):
        monkeypatch.setattr(registry_module, "entry_points", lambda group: [Entry(load)])

    installed(lambda: Serial)
    assert open_policy("mine").name == "serial"
    installed(lambda: dict)
    with pytest.raises(ConfigError, match="not a policy"):
        open_policy("mine")

    def missing():
        raise MissingExtra("torch", "nano")

    installed(missing)
    with pytest.raises(MissingExtra, match=r"spade-envs\[nano\]"):
        open_policy("mine")

    def broken():
        raise ModuleNotFoundError("No module named 'zzz'")

    installed(broken)
    with pytest.raises(ConfigError, match="zzz"):
        open_policy("mine")


class Handler(BaseHTTPRequestHandler):
    def _send(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        models = [{"id": name, "object": "model"} for name in self.server.models]
        self._send(200, {"object": "list", "data": models})

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(asked)
        if asked["seed"] in self.server.errors:
            self._send(self.server.errors[asked["seed"]], {"error": {"message": "no luck"}})
            return
        message = {"role": "assistant", "content": f"seed {asked['seed']}"}
        choices = [{"index": 0, "message": message, "finish_reason": "length"}]
        usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
        self._send(
            200,
            {
                "id": "1",
                "object": "chat.completion",
                "created": 1,
                "usage": usage,
                "model": asked["model"],
                "choices": [] if asked["seed"] == 99 else choices,
            },
        )

    def log_message(self, *args):
        pass


@contextmanager
def serving(models=("m1",), errors=()):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.models, server.errors, server.asked = models, dict(errors), []
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server, f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(autouse=True)
def _no_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def test_http_server_is_asked_as_told():
    with serving() as (server, url):
        designer = open_policy(url, max_retries=0)
        answers = designer.complete_many([request(seed=s, temperature=0.5) for s in (4, 5, 99)])
    assert [getattr(a, "text", None) for a in answers] == ["seed 4", "seed 5", None]
    assert "without any choice" in str(answers[2])
    assert (answers[0].model, answers[0].finish_reason) == ("m1", "length")
    assert (answers[0].prompt_tokens, answers[0].completion_tokens) == (5, 2)
    assert sorted(asked["seed"] for asked in server.asked) == [4, 5, 99]
    first = server.asked[0]
    assert (first["model"], first["temperature"], first["max_tokens"]) == ("m1", 0.5, 9)
    assert first["messages"] == [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "u"},
    ]
    assert designer.name == "m1"


def test_http_failures_name_the_mend():
    errors = {1: 401, 2: 404, 3: 500}
    with serving(errors=errors) as (_, url):
        designer = OpenAICompatiblePolicy(url, "m2", max_retries=0)
        found = [str(a) for a in designer.complete_many([request(seed=s) for s in errors])]
    assert "set OPENAI_API_KEY" in found[0]
    assert "the model's name" in found[1]
    assert "no luck" in found[2]
    with pytest.raises(ClientError, match="is the server running"):
        designer.complete(CHAT, seed=1, max_tokens=1, temperature=0)
    with pytest.raises(ClientError, match="is the server running"):
        _ = OpenAICompatiblePolicy(url, max_retries=0).name


def test_http_settings_that_cannot_be_used():
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        open_policy("openai:gpt-x")
    with pytest.raises(ConfigError, match="concurrency"):
        OpenAICompatiblePolicy("http://localhost/v1", concurrency=0)
    with serving(models=()) as (_, url), pytest.raises(ClientError, match="serves no model"):
        _ = open_policy(url, max_retries=0).name
