import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from spade_train.cli import main
from spade_train.suites.registry import readiness

SUITE = "train.suites.sums:make"
POLICY = "python:train.suites.sums:solve"


def call(*arguments):
    return CliRunner().invoke(main, list(map(str, arguments)))


def test_eval_prints_floors_and_goes_on(tmp_path):
    out = tmp_path / "evals"
    options = ("eval", "--suite", SUITE, "--samples", 1, "--out", out, "--set", "count=3")
    first = call(*options, "--json", "--policy", POLICY)
    assert first.exit_code == 0, first.output
    found = {each["header"]["player"]: each for each in json.loads(first.stdout)}
    assert list(found) == [POLICY, "oracle", "empty", "constant", "random"]
    assert found["oracle"]["overall"]["success"] == 1.0
    assert found["empty"]["overall"]["success"] == 0.0
    assert found["oracle"]["header"]["settings"] == {"count": 3, "broken": []}
    again = call(*options, "--policy", POLICY)
    cells = ("100.0 [34.2, 100.0]", "100.0 [20.7, 100.0]", "100.0 [43.9, 100.0]")
    assert f"| oracle | {' | '.join(cells)} |" in again.stdout
    assert len(list(out.rglob("records.jsonl"))) == 5
    table = call("table", out, "--against", "empty", "--html", tmp_path / "page.html")
    assert table.exit_code == 0
    assert "Paired differences" in (tmp_path / "page.html").read_text()
    assert "| sums | python:train.suites.sums:solve | empty | 3 | +33.3" in table.stdout
    plain = json.loads(call("table", out, "--json").stdout)
    rows = {row["name"]: row["cells"]["all"] for row in plain["tables"][0]["rows"]}
    assert rows["oracle"]["success"] == 1.0
    assert call("table", out, "--format", "csv").stdout.startswith("table,row,kind,column,success")


def test_a_progress_bar_shows_names_and_does_not_act_on_them(tmp_path, monkeypatch):
    monkeypatch.setattr("rich.console.Console.is_terminal", True)
    options = ("eval", "--suite", SUITE, "--set", "count=1", "--no-floors", "--out", tmp_path)
    found = call(*options, "--policy", "constant=[/b]\x1b[2Jx")
    assert found.exit_code == 0, found.output
    assert "constant=[/b]" in found.stderr
    assert "\x1b[2J" not in found.output


def test_a_page_that_cannot_be_written_is_wrong_usage(tmp_path):
    call("eval", "--suite", SUITE, "--set", "count=1", "--policy", POLICY, "--out", tmp_path)
    (tmp_path / "file").write_text("")
    found = call("table", tmp_path, "--html", tmp_path / "file" / "page.html")
    assert found.exit_code == 2
    assert "page.html" in found.stderr


def test_faults_end_with_1(tmp_path):
    settings = ("--set", 'broken=["raise"]', "--set", "count=1", "--no-floors")
    found = call(
        "eval", "--suite", SUITE, "--out", tmp_path, "--policy", "constant=3", *settings, "--json"
    )
    assert found.exit_code == 1
    (summary,) = json.loads(found.stdout)
    assert summary["faults"] == {"reply: RuntimeError: two lines": 1}
    assert summary["overall"]["attempts"] == 1
    oracle = call("eval", "--suite", SUITE, "--out", tmp_path, "--policy", "oracle", *settings[2:])
    assert oracle.exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["eval", "--suite", "nope"], 2, "no suite 'nope'"),
        (["eval", "--suite", SUITE, "--set", "count"], 2, "KEY=VALUE"),
        (["eval", "--suite", SUITE, "--set", "count=0"], 2, "count must be >= 1"),
        (["eval", "--suite", SUITE, "--set", "count=13"], 3, "no such data"),
        (["eval", "--suite", SUITE, "--policy", "nobody"], 2, "no model 'nobody'"),
        (
            ["eval", "--suite", SUITE, "--policy", "orcale"],
            2,
            "python:MODULE:FUNCTION, oracle, empty, random or constant=TEXT",
        ),
        (["eval", "--suite", "heldout", "--set", "levles=1"], 2, "no setting 'levles'"),
        (["eval", "--suite", "heldout", "--set", "store=nowhere"], 2, "nowhere"),
        (["eval", "--suite", "heldout", "--set", "store=5"], 2, "store must be a folder"),
        (["eval", "--suite", "heldout", "--set", "hint=3"], 2, "hint must be true or false"),
        (["eval", "--suite", SUITE, "--policy", "nano", "--dtype", "float32"], 2, "leave it out"),
        (["table", "."], 2, "holds no evaluation"),
    ],
)
def test_wrong_usage_is_told(arguments, code, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = call(*arguments)
    assert found.exit_code == code, found.output
    assert told in found.output


def test_suites_are_listed():
    found = json.loads(call("suites", "--json").stdout)
    by_name = {each["name"]: each for each in found}
    assert by_name["heldout"]["ready"] is True
    assert "store" in by_name["heldout"]["settings"]
    assert "--set store=..." in call("suites", "show", "heldout").output
    assert call("suites", "show", "nope").exit_code == 2


def test_a_suite_that_still_needs_a_file_of_the_users_does_not_say_ready():
    found = {each["name"]: each for each in json.loads(call("suites", "--json").stdout)}
    assert found["heldout"]["state"] == "ready"
    exam = found["gpqa-diamond"]  # nothing to install
    assert (exam["ready"], exam["state"]) == (True, "needs path")
    assert exam["mend"].startswith("--set path=PATH (")
    lines = call("suites").stdout.splitlines()
    (shown,) = (line for line in lines if line.startswith("gpqa-diamond"))
    assert shown.split()[1:3] == ["needs", "path"]
    assert exam["mend"] in lines[lines.index(shown) + 1]


def test_a_suite_that_is_to_be_installed_tells_of_the_file_too(monkeypatch):
    nothing = SimpleNamespace(find_spec=lambda *_: None)
    monkeypatch.setattr("spade_train.suites.registry.PathFinder", nothing)
    found = readiness("gsm8k")
    assert (found.ready, found.state) == (False, "missing")
    assert found.mend.startswith("run: spade-train suites install gsm8k, then give --set path=PATH")
    assert readiness("gem").mend == "run: spade-train suites install gem"


OWN = """
def four(messages):
    return "4"

def breaks(messages):
    raise ValueError("no\\nidea")

def silent(messages):
    return None
"""


def test_functions_of_the_current_folder_play(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*sys.path])
    (tmp_path / "own_player.py").write_text(OWN)
    options = ("eval", "--suite", SUITE, "--set", "count=2", "--no-floors", "--json", "--policy")
    plain = [each for each in options if each != "--json"]
    found = call(*options, "python:own_player:four", "--name", "mine")
    assert found.exit_code == 0, found.output
    (summary,) = json.loads(found.stdout)
    assert summary["header"]["player"] == "mine"
    monkeypatch.delitem(sys.modules, "own_player")
    (tmp_path / "own_player.py").write_text(OWN + "\n# another version\n")
    (again,) = json.loads(call(*options, "python:own_player:four", "--name", "mine").stdout)
    assert again["digest"] != summary["digest"]
    for name, reason in (("breaks", "ValueError: no idea"), ("silent", "returned NoneType")):
        broken = call(*options, f"python:own_player:{name}")
        assert broken.exit_code == 1
        assert reason in next(iter(json.loads(broken.stdout)[0]["faults"]))
        shown = call(*plain, f"python:own_player:{name}")
        assert reason in shown.stderr
    assert call(*plain, "empty").exit_code == 0
    (begun,) = Path("evals").rglob("empty-*/records.jsonl")
    begun.write_text("")
    table = call("table", "evals", "--against", "mine")
    assert table.exit_code == 0
    assert "left out: python:own_player:" in table.stderr
    assert f"no attempt in {begun.parent} is finished" in table.stderr
    assert "| empty |" not in table.stdout
    assert "| mine |" in table.stdout


def test_a_layout_that_nothing_belongs_to_is_told_with_what_is_there(tmp_path):
    call("eval", "--suite", SUITE, "--set", "count=1", "--policy", POLICY, "--out", tmp_path)
    for options in ((), ("--json",), ("--html", tmp_path / "page.html")):
        found = call("table", tmp_path, "--layout", "reasoning", *options)
        assert (found.exit_code, found.stdout) == (2, "")
        (line,) = found.stderr.splitlines()
        assert "--layout reasoning, which are AIME-25, AIME-26, GPQA-Diamond," in line
        assert "RG:Logic; found: sums (large); play one" in line
    assert not (tmp_path / "page.html").exists()
    for records in tmp_path.rglob("records.jsonl"):
        records.write_text("")
    found = call("table", tmp_path, "--layout", "tool-use")
    assert found.exit_code == 2
    assert "BFCL-v4 non-live" in found.stderr
    assert "found: no finished attempt;" in found.stderr


@pytest.mark.parametrize(
    ("policy", "name"), [(POLICY, "oracle"), (POLICY, "constant=7"), ("empty", "mine")]
)
def test_names_of_floors_are_kept_apart(policy, name, tmp_path):
    found = call("eval", "--suite", SUITE, "--out", tmp_path, "--policy", policy, "--name", name)
    assert found.exit_code == 2
    assert name in found.stderr
    assert list(tmp_path.iterdir()) == []


def test_transcripts_that_are_asked_for_later_are_of_new_attempts_alone(tmp_path):
    options = ("eval", "--suite", SUITE, "--no-floors", "--policy", POLICY, "--out", tmp_path)
    call(*options, "--set", "count=3", "--limit", "2")
    later = call(*options, "--set", "count=3", "--transcripts")
    assert "2 attempts made before keep no conversation; another --out" in later.stderr
    (kept,) = tmp_path.rglob("transcripts.jsonl")
    assert len(kept.read_text().splitlines()) == 1
    anew = call(*options, "--set", "count=3", "--transcripts", "--out", tmp_path / "new")
    assert "keep no conversation" not in anew.stderr


def odd(tmp_path, *arguments):
    options = ("eval", "--suite", "train.suites.odd:make", "--no-floors", "--out", tmp_path)
    return call(*options, *arguments)


def test_a_policy_that_exits_or_prints_ends_no_evaluation(tmp_path):
    left = odd(tmp_path, "--policy", "python:train.suites.odd:leave", "--json")
    assert left.exit_code == 1
    (summary,) = json.loads(left.stdout)
    assert summary["faults"] == {"policy: SystemExit: 0": 2}
    noisy = odd(tmp_path, "--policy", "python:train.suites.odd:noisy", "--json")
    assert noisy.exit_code == 0
    assert json.loads(noisy.stdout)[0]["overall"]["attempts"] == 2
    assert "noise of a policy" in noisy.stderr


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("def f(:", "SyntaxError: "),
        ("raise ValueError('boo')", "ValueError: boo"),
        ("import sys; sys.exit(0)", "SystemExit: 0"),
    ],
)
def test_a_module_that_cannot_be_imported_is_wrong_usage(code, told, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "broken_policy.py").write_text(code)
    found = odd(tmp_path, "--policy", "python:broken_policy:f")
    assert found.exit_code == 2
    assert f"broken_policy cannot be imported, it ends with {told}" in found.stderr


def test_a_reference_that_breaks_is_no_task_without_one(tmp_path):
    broken = odd(tmp_path, "--policy", "oracle", "--set", "how=reference raises")
    assert broken.exit_code == 1
    assert "oracle: no result, 2 faults, most often reference: ValueError: no key" in broken.stdout
    assert "oracle: 2 faults, reference: ValueError: no key" in broken.stderr
    without = odd(tmp_path, "--policy", "oracle", "--set", "how=no reference")
    assert without.exit_code == 0
    assert "The suite has no reference for 2 tasks." in without.stdout


def test_a_suite_without_tasks_is_wrong_usage(tmp_path):
    found = odd(tmp_path, "--policy", "empty", "--set", "how=none")
    assert found.exit_code == 2
    assert "suite odd has no tasks with these settings" in found.stderr


def test_an_evaluation_that_is_named_twice_is_one(tmp_path, monkeypatch):
    odd(tmp_path / "evals", "--policy", "empty")
    monkeypatch.chdir(tmp_path)
    found = call("table", "evals", tmp_path / "evals", "--json")
    assert [row["name"] for row in json.loads(found.stdout)["tables"][0]["rows"]] == ["empty"]


def test_a_difference_is_of_the_samples_that_the_table_shows(tmp_path):
    played = ("eval", "--suite", SUITE, "--set", "count=3", "--no-floors", "--out", tmp_path)
    for samples in (3, 1):
        call(*played, "--policy", POLICY, "--policy", "random", "--samples", samples)
    found = json.loads(call("table", tmp_path, "--against", "random", "--json").stdout)
    (difference,) = found["differences"]
    assert difference["method"].startswith("McNemar")


@pytest.mark.parametrize("value", ["NaN", "1e999", "[" * 80 + "]" * 80])
def test_settings_that_have_no_digest_are_a_damaged_file(value, tmp_path):
    odd(tmp_path, "--policy", "empty")
    (header,) = tmp_path.rglob("evaluation.json")
    header.write_text(header.read_text().replace('"nothing"', value))
    found = call("table", tmp_path)
    assert found.exit_code == 2
    assert f"{header} is damaged: " in found.stderr


def test_a_policy_that_changes_the_folder_moves_no_results(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    policy = "python:train.suites.odd:wander"
    odd("evals", "--policy", policy, "--policy", "empty")
    assert len(list(tmp_path.glob("evals/odd/*"))) == 2


@pytest.mark.parametrize("second", ["hedlout", "gsm8k"])
def test_a_further_suite_that_cannot_be_played_is_told_before_the_first_is(second, tmp_path):
    out = tmp_path / "evals"
    found = call("eval", "--suite", SUITE, "--suite", second, "--no-floors", "--policy", "oracle",
                 "--out", out)  # fmt: skip
    assert (found.exit_code, found.stdout, second in found.stderr) == (2, "", True)
    assert not out.exists()


def test_damaged_records_end_eval_and_table_with_3(tmp_path):
    arguments = ("eval", "--suite", SUITE, "--no-floors", "--policy", "oracle", "--out", tmp_path)
    assert call(*arguments).exit_code == 0
    (file,) = tmp_path.rglob("records.jsonl")
    file.write_text("[]\n" + file.read_text())
    for again in (arguments, ("table", tmp_path)):
        found = call(*again)
        assert (found.exit_code, found.stdout, str(file) in found.stderr) == (3, "", True)


def test_a_place_that_cannot_be_written_is_told_with_the_mend_before_anything_is_played(
    tmp_path, monkeypatch
):
    file = tmp_path / "file"
    file.touch()
    arguments = ("eval", "--suite", SUITE, "--no-floors", "--policy", "oracle", "--out")
    for out in (file, file / "deeper"):
        found = call(*arguments, out)
        assert (found.exit_code, found.stdout) == (2, "")
        assert "name another place" in found.stderr
    monkeypatch.setattr("spade_envs.store.room.os.access", lambda place, mode: mode == os.X_OK)
    found = call(*arguments, tmp_path / "new")
    assert (found.exit_code, found.stdout) == (3, "")
    assert "give yourself the right to do so, or name a place of your own" in found.stderr
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
