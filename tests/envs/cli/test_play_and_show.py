"""Playing, showing and looking around: what is printed, and the exit codes."""

import json
from pathlib import Path

import click
import pytest

from envs.cli.kit import run
from envs.cli.test_commands import SUMS
from envs.store.kit import add
from spade_envs.cli.main import cli
from spade_envs.gates import GATES_VERSION
from spade_envs.store import open_store
from spade_envs.store.plays import Plays, PlayWriter
from spade_train.cli import main as train_cli

SOLUTION = SUMS.index("    def solution")
HINT = SUMS.index("    def hint")
GRADER = "if answer_of"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shown")
    (folder / "sums.py").write_text(SUMS)
    (folder / "bare.py").write_text(SUMS[:HINT])
    (folder / "hangs.py").write_text(SUMS.replace(GRADER, f"while True: pass\n        {GRADER}"))
    (folder / "torn.py").write_text(SUMS[:SOLUTION] + "    def (")
    return folder


@pytest.fixture
def store(tmp_path):
    opened = open_store(tmp_path / "my store", create=True)
    add(opened, 1, name="maze")
    return opened


def test_what_was_played_before_the_person_left_is_told(place):
    code, out, err = run("play", "sums.py", "--json", "--seed", 5, cwd=place, text="1\n")
    episode = json.loads(out)
    assert code == 0
    assert [turn["action"] for turn in episode["turns"]] == ["1"]
    assert "What is" in episode["first_observation"]
    assert (episode["seed"], episode["env_id"]) == (5, "sums.py")
    assert (episode["success"], episode["terminated"], episode["truncated"]) == (False,) * 3
    assert "stopped" in err


def test_what_an_environment_lacks_is_said(place):
    code, out, err = run("play", "bare.py", "--solve", cwd=place)
    assert (code, out) == (2, "")
    assert "bare.py has no solution()" in err
    assert "bare.py has no hint()" in run("play", "bare.py", "--hint", cwd=place)[2]


def test_an_environment_that_fails_is_found_wrong(place):
    code, out, err = run("play", "hangs.py", "--json", cwd=place, text="1\n")
    assert code == 1, err
    assert json.loads(out)["fault"]["kind"] == "timeout"
    assert run("play", "hangs.py", cwd=place, text="1\n")[0] == 1
    for command in ("play", "show"):
        code, _, err = run(command, "torn.py", cwd=place)
        assert (code, "Traceback" in err) == (1, False)


def test_the_command_that_show_names_works_as_printed(store):
    code, out, err = run("show", "maze", "--store", store.root.name, cwd=store.root.parent)
    assert code == 0, err
    assert out.splitlines()[-1] == (
        "source: spade-envs show spade/maze-v0 --source --store 'my store'"
    )


def test_show_tells_what_plays_came_to_by_player_hint_and_level(store):
    digest = store.get("maze").digest
    shown = {"digest": digest, "plays": 4, "hinted": 4, "pairs": 4}
    PlayWriter(store.root).append(
        [
            Plays(**shown, policy="b", level=1, successes=1, hinted_successes=3),
            Plays(**shown, policy="b", level=0, successes=3, hinted_successes=3, both=3),
            Plays(**shown, policy="b", level=0, hint="strategy:0123456789ab"),
            Plays(digest=digest, policy="a", plays=2, successes=1),
            Plays(digest=f"sha256:{7:064x}", policy="other", plays=2),
        ]
    )
    code, out, _ = run("show", "maze", "--store", store.root, "--json")
    plays = json.loads(out)["plays"]
    assert code == 0
    assert [(p["policy"], p["hint"], p["level"], p["plays"]) for p in plays] == [
        ("a", "instance", None, 2),
        ("b", "instance", 0, 4),
        ("b", "instance", 1, 4),
        ("b", "strategy:0123456789ab", 0, 4),
    ]
    assert [p["regret"] for p in plays] == [None, 0.0, 0.5, 0.0]
    text = run("show", "maze", "--store", store.root)[1]
    assert "Plays of b, strategy:0123456789ab hints" in " ".join(text.split())
    assert "other" not in text


def test_show_names_the_gates_that_certified(store):
    (record,) = store.records()
    version = store.report(record).gates_version
    assert version != GATES_VERSION
    out = run("show", "maze", "--store", store.root)[1]
    assert f"gates version {version}; now they are version {GATES_VERSION}" in out


@pytest.mark.parametrize(
    "command",
    [("show",), ("show", "--json"), ("show", "--source"), ("play",), ("check",)],
)
def test_a_changed_version_is_found_wrong_by_every_command(store, command):
    source = store.root / "envs" / "maze" / "v0" / "env.py"
    source.write_text(source.read_text() + "# changed\n")
    name, *options = command
    code, out, err = run(name, "spade/maze-v0", *options, "--store", store.root)
    assert (code, "changed after publishing" in err) == (1, True)
    if options == ["--json"]:
        assert "changed after publishing" in json.loads(out)["changed"]


def test_a_withdrawn_name_is_not_proposed(store):
    add(store, 2, name="mazes")
    store.withdraw("maze", "too easy")
    code, _, err = run("show", "maz", "--store", store.root)
    assert code == 2
    assert "did you mean 'mazes'?" in err


def test_a_gate_that_does_not_exist_refuses_nothing(store):
    code, _, err = run("rejected", "--gate", "X9", "--store", store.root)
    assert code == 2
    assert "L3.12" in err
    assert run("rejected", "--gate", "L3.12", "--store", store.root)[0] == 0


def test_doctor_tells_which_of_two_layers_is_enough():
    code, out, _ = run("doctor", cwd=Path(__file__).parents[3])
    assert code == 0
    rows = {line.split()[0]: line for line in out.splitlines() if line.split()}
    assert "this or namespaces" in rows["landlock"]
    assert "this or landlock" in rows["namespaces"]
    assert {"ray", "hub", "eval"} <= set(rows)
    assert "default and starter store are the same" in out


@pytest.mark.parametrize("group", [cli, train_cli])
def test_no_help_shows_marks_of_its_own_layout(group):
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        text = command.get_help(click.Context(command, info_name=name))
        assert "\\b" not in text, name
