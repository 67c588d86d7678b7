"""`hint` and `calibrate --hint strategy` from the outside."""

import json

import pytest
from click.testing import CliRunner

from spade_envs.cli.main import cli
from spade_envs.errors import ConfigError
from spade_envs.store import open_store
from spade_envs.store.plays import PlayReader

PUNCH = "spade/paper-punch-v0"
WAY = (
    "Unfold in your mind: each fold doubles what lies on top of each other, and a hole goes "
    "through every layer at its place. Work backwards from the last fold to the first."
)


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A store of one's own beside the starter store."""
    root = tmp_path / "mine"
    open_store(root, create=True)
    monkeypatch.setenv("SPADE_ENVSTORE", str(root))
    return root


def run(*arguments):
    return CliRunner().invoke(cli, [*map(str, arguments)])


def script(tmp_path, *texts):
    path = tmp_path / "said.jsonl"
    path.write_text("".join(json.dumps(text) + "\n" for text in texts), encoding="utf-8")
    return f"scripted:{path}"


def test_a_written_hint_is_kept_shown_and_played_with(mine, tmp_path):
    assert run("hint", PUNCH).exit_code == 1
    with_strategy = ("calibrate", PUNCH, "--hint", "strategy", "--model", "scripted:reference=0,1")
    refused = run(*with_strategy)
    assert isinstance(refused.exception, ConfigError)
    assert "spade-envs hint" in str(refused.exception)

    model = script(tmp_path, "```\ncode\n```", WAY)
    done = run("hint", PUNCH, "--model", model, "--json")
    assert done.exit_code == 0
    (document,) = json.loads(done.stdout)
    assert document["text"] == WAY
    assert document["gates"] == {"L4.1": "pass", "L4.2": "pass", "L4.3": "pass"}
    assert [each["reason"] for each in document["tries"]] == ["it holds code; write prose", None]
    shown = run("hint", PUNCH)
    assert (shown.exit_code, WAY in shown.stdout) == (0, True)

    played = run(*with_strategy, "--episodes", 3, "--levels", 0, "--json")
    assert played.exit_code == 0
    (found,) = json.loads(played.stdout)["environments"]
    assert found["hint"] == document["hint"]
    figures = PlayReader(mine).figures()[document["digest"]]
    assert (figures.regret, figures.hints) == (1.0, (document["hint"],))
    chosen = run("select", "--regret", ">0.9", "--hint", "strategy", "--store", mine)
    assert chosen.exit_code == 1  # the environment itself is in the starter store
    assert run("select", "--regret", ">0.9", "--hint", "strategy").stdout == f"{PUNCH}\n"
    assert run("select", "--regret", ">0.9").exit_code == 1


def test_a_hint_that_no_gate_lets_pass_is_not_kept(mine, tmp_path):
    model = script(tmp_path, "Think carefully.")
    done = run("hint", PUNCH, "--model", model, "--tries", 1, "--json")
    assert done.exit_code == 1
    (document,) = json.loads(done.stdout)
    assert (document["text"], document["tries"][0]["gates"]["L4.3"]) == (None, "fail")
    assert run("hint", PUNCH).exit_code == 1
