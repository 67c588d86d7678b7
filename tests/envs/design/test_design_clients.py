import json

import pytest

from spade_envs.design.clients import CompletionRequest, Policy, complete_all, open_policy
from spade_envs.design.clients import registry as registry_module
from spade_envs.design.clients.base import SerialPolicy, shown_name
from spade_envs.design.clients.scripted import ScriptedPolicy, ScriptEnded
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
    assert isinstance(found[3], ScriptEnded)
    assert "no completion for attempt 3: it ends after 3" in str(found[3])
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


def test_a_line_separator_inside_a_text_ends_no_line_of_a_script(tmp_path):
    text = "one\u2028two\x85three"
    (tmp_path / "s.jsonl").write_text(json.dumps(text, ensure_ascii=False) + "\n", "utf-8")
    designer = ScriptedPolicy.from_file(tmp_path / "s.jsonl")
    assert designer.complete(CHAT, seed=0, max_tokens=1, temperature=0).text == text


@pytest.mark.parametrize(
    ("path", "name"),
    [("org/m1", "m1"), ("/a/b/", "b"), ("m", "m"), ("a/\udcff.jsonl", "\\udcff.jsonl")],
)
def test_a_path_has_a_name_that_can_be_written_down(path, name):
    assert shown_name(path) == name


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
