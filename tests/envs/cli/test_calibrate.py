"""`calibrate` from the outside: what it prints, what it writes, and how it ends."""

import json
import re

import pytest
from click.testing import CliRunner

from spade_envs.cli.figures import Levels, figures_json, figures_row
from spade_envs.cli.main import cli
from spade_envs.errors import ClientError, ConfigError, NotFound
from spade_envs.store import open_store, starter_path
from spade_envs.store.plays import Figures, PlayReader, Plays

PUNCH = "spade/paper-punch-v0"


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A store of one's own beside the starter store."""
    root = tmp_path / "mine"
    open_store(root, create=True)
    monkeypatch.setenv("SPADE_ENVSTORE", str(root))
    return root


def run(*arguments):
    return CliRunner().invoke(cli, ["calibrate", *map(str, arguments)])


def test_known_skill_is_printed_and_kept_in_the_users_own_store(mine):
    arguments = (PUNCH, "--model", "scripted:reference=0.2,0.9", "--episodes", 30, "--levels", "0")
    done = run(*arguments, "--json")
    assert done.exit_code == 0
    document = json.loads(done.stdout)
    (found,) = document["environments"]
    (level,) = found["levels"]
    assert (found["id"], found["hint"], found["faults"], level["level"]) == (
        PUNCH,
        "instance",
        0,
        0,
    )
    assert level["plays"] == level["hinted"] == level["pairs"] == 30
    low, high = level["regret_interval"]
    assert low <= 0.7 <= high
    assert level["regret"] == pytest.approx(level["hinted_success"] - level["success"])
    figures = PlayReader(mine).figures()[found["digest"]]
    assert (figures.plays, figures.successes) == (30, level["successes"])
    assert PlayReader(starter_path()).figures() == {}

    again = run(*arguments)
    assert "30 of 30 instances were played before" in again.stderr
    assert f"{level['success']:.2f}" in again.stdout
    assert "all" not in again.stdout
    assert PlayReader(mine).figures()[found["digest"]].plays == 30


def test_several_levels_are_summed_up(mine):
    done = run(PUNCH, "--model", "scripted:empty", "--episodes", 2, "--levels", "0..1", "--json")
    (found,) = json.loads(done.stdout)["environments"]
    assert [level["level"] for level in found["levels"]] == [0, 1]
    assert (found["all"]["plays"], found["all"]["success"]) == (4, 0.0)


def test_two_files_of_completions_with_one_name_are_two_players(mine, tmp_path):
    files = [tmp_path / folder / "s.jsonl" for folder in ("one", "two")]
    for file, said in zip(files, ("left", "right"), strict=True):
        file.parent.mkdir()
        file.write_text(json.dumps(said) + "\n", encoding="utf-8")

    def played(file):
        model = ("--model", f"scripted:{file}", "--max-turns", 1)
        return run(PUNCH, *model, "--episodes", 1, "--levels", 0, "--json")

    models = [json.loads(played(file).stdout)["model"] for file in files]
    assert all(re.fullmatch(r"scripted:s\.jsonl#[0-9a-f]{12}", model) for model in models)
    assert models[0] != models[1]
    assert {cell.policy for cell in PlayReader(mine).cells()} == set(models)
    moved = files[0].rename(tmp_path / "s.jsonl")
    assert "1 of 1 instance were played before" in played(moved).stderr


def test_a_script_that_is_too_short_is_told_as_that(mine, tmp_path):
    (tmp_path / "s.jsonl").write_text('"one"\n', encoding="utf-8")
    model = ("--model", f"scripted:{tmp_path / 's.jsonl'}", "--max-turns", 1)
    done = run(PUNCH, *model, "--episodes", 2, "--levels", 0)
    assert done.exit_code == 1
    assert "no completion for attempt 1: it ends after 1" in done.stderr
    assert "without an answer; the script is at its end" in done.stderr
    assert "run it again" not in done.stderr


def test_a_script_whose_name_is_not_utf8_is_played(mine, tmp_path):
    script = tmp_path / "\udcff.jsonl"
    try:
        script.write_text('"one"\n', encoding="utf-8")
    except (OSError, UnicodeError):
        pytest.skip("this file system takes no such name")
    model = ("--model", f"scripted:{script}", "--max-turns", 1)
    done = run(PUNCH, *model, "--episodes", 1, "--levels", 0, "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["model"].startswith(r"scripted:\udcff.jsonl#")


def test_an_environment_that_breaks_is_told_and_ends_with_1(mine, monkeypatch):
    from spade_envs.calibrate import Pair
    from spade_envs.types import Fault

    def broken(plan):
        fault = Fault(kind="crash", op="step", message="it crashed")
        yield Pair(target=plan.targets[0], level=0, number=0, fault=fault)
        yield Pair(target=plan.targets[0], level=0, number=1, error=ClientError("busy"))

    monkeypatch.setattr("spade_envs.calibrate.Calibration.run", broken)
    done = run(PUNCH, "--model", "scripted:empty", "--episodes", 2, "--levels", 0)
    assert done.exit_code == 1
    assert "it crashed" in done.stderr
    assert "no result: 1 play that an environment broke" in done.stderr
    assert "no result: 1 play without an answer" in done.stderr


def test_an_interrupted_run_shows_what_it_has_and_goes_on(mine, monkeypatch):
    from spade_envs.calibrate import Calibration

    whole = Calibration.run

    def interrupted(plan):
        for number, pair in enumerate(whole(plan)):
            if number == 3:
                raise KeyboardInterrupt
            yield pair

    arguments = (PUNCH, "--model", "scripted:empty", "--episodes", 5, "--levels", 0, "--live", 2)
    monkeypatch.setattr("spade_envs.calibrate.Calibration.run", interrupted)
    done = run(*arguments, "--json")
    assert done.exit_code == 130
    assert json.loads(done.stdout)["environments"][0]["all"]["plays"] == 4
    monkeypatch.setattr("spade_envs.calibrate.Calibration.run", whole)
    done = run(*arguments, "--json")
    assert done.exit_code == 0
    assert "4 of 5 instances were played before" in done.stderr
    assert json.loads(done.stdout)["environments"][0]["all"]["plays"] == 5


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (("nothing-here", "--model", "scripted:empty"), NotFound, "nothing-here"),
        ((PUNCH, "--model", "nan0"), ConfigError, "or scripted:empty, scripted:random, "),
        ((PUNCH, "--model", "scripted:nobody"), ConfigError, "scripted:reference"),
        ((PUNCH, "--model", "nobody"), ConfigError, "no model 'nobody'"),
        ((PUNCH, "--model", "scripted:empty", "--levels", "9"), ConfigError, "no.* level 9"),
    ],
)
def test_what_cannot_be_played_is_refused_before_anything_is(mine, arguments, error, words):
    done = run(*arguments)
    assert isinstance(done.exception, error)
    with pytest.raises(error, match=words):
        raise done.exception
    assert PlayReader(mine).figures() == {}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--model", "scripted:empty"), "--all"),
        ((PUNCH, "--all", "--model", "scripted:empty"), "--all"),
        ((PUNCH, "--model", "scripted:empty", "--levels", "3..1"), "1..3"),
        ((PUNCH, "--model", "scripted:empty", "--episodes", 0), "episodes"),
        ((PUNCH, "--model", "nano", "--concurrency", 3), "about servers"),
    ],
)
def test_wrong_usage_ends_with_2_and_names_the_mend(mine, arguments, words):
    done = run(*arguments)
    assert (done.exit_code, words in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("text", "levels"),
    [("2", (2,)), ("0,2", (0, 2)), ("1..3", (1, 2, 3)), ("3, 0..1,1", (0, 1, 3))],
)
def test_levels_are_read(text, levels):
    assert Levels().convert(text, None, None) == levels


def test_figures_that_are_not_known_stay_empty():
    assert figures_row(Figures()) == ("0", "", "", "", "")
    assert figures_json(Figures())["success_interval"] is None
    line = Plays(digest=f"sha256:{1:064x}", plays=4, successes=1, returns=1.0, squares=1.0)
    assert figures_row(Figures().plus(line)) == ("4", "0.25 0.05..0.70", "", "", "0.25")
    json.dumps(figures_json(Figures().plus(line)), allow_nan=False)
