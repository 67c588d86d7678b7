import json

import pytest
from click.testing import CliRunner

from spade_train.cli import main

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
        (["eval", "--suite", "heldout", "--set", "levles=1"], 2, "no setting 'levles'"),
        (["eval", "--suite", "heldout", "--set", "store=nowhere"], 2, "nowhere"),
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
