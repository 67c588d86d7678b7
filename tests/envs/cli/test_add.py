"""`add` and `import` against the store that they write into."""

import dataclasses
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from envs.cli.kit import run
from envs.cli.test_commands import SUMS
from envs.reports.kit_reports import report
from envs.store.kit import PROVENANCE, report_of
from spade_envs import interop
from spade_envs.cli.main import cli
from spade_envs.interop import Checked
from spade_envs.store import open_store
from spade_envs.types import EnvSource

ROOT = Path(__file__).parents[3]
RENAMED = (
    SUMS.replace("Sums", "Totals")
    .replace("self.a", "self.left")
    .replace("What is", "How much makes")
    .replace("scale", "size")
)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("add")
    (folder / "sums.py").write_text(SUMS)
    (folder / "totals.py").write_text(RENAMED)
    code, out, err = run("add", "sums.py", "--name", "sums", "--store", "store", cwd=folder)
    assert code == 0, err
    assert "registered, licence MIT" in err
    assert open_store(folder / "store").get("sums").digest in out
    return folder


def test_what_is_there_is_told_and_corrected(place):
    code, out, err = run("add", "sums.py", "--store", "store", cwd=place)
    assert code == 0
    assert out.startswith("spade/sums-v0 ")
    assert "was there already, licence MIT" in err
    options = ("--licence", "cc0-1.0", "--skill", "optimization", "--store", "store", "--json")
    code, out, _ = run("add", "sums.py", *options, cwd=place)
    row = json.loads(out)
    assert (code, row["id"], row["licence"]) == (0, "spade/sums-v0", "CC0-1.0")
    assert "licence now CC0-1.0 (before: MIT)" in row["note"]
    assert "skills now optimization (before: none)" in row["note"]


def test_who_wrote_it_is_noted_and_must_be_one_line(tmp_path, monkeypatch):
    made = report({"L1.1": "pass"})

    def check_target(target, **_):
        found = dataclasses.replace(made, source_sha256=target.source.sha256)
        return Checked(target=target, report=found)

    monkeypatch.setattr(interop, "check_target", check_target)
    (tmp_path / "sums.py").write_text(SUMS)
    words = ["add", str(tmp_path / "sums.py"), "--store", str(tmp_path / "store"), "--author"]
    assert CliRunner().invoke(cli, [*words, "Alice Ng"]).exit_code == 0
    store = open_store(tmp_path / "store")
    assert store.manifest(store.records()[0]).provenance.author == "Alice Ng"
    for author in ("", "two\nlines", "a\u202eb", "x" * 301):
        done = CliRunner().invoke(cli, [*words, author])
        assert (done.exit_code, "no name on one line" in done.stderr) == (2, True)


def test_the_same_content_gets_no_second_name(place):
    code, _, err = run("add", "sums.py", "--name", "more", "--store", "store", cwd=place)
    assert code == 1
    assert "spade/sums-v0 has this very content" in err
    options = ("--name", "more", "--store", "store", "--json")
    code, out, _ = run("add", "sums.py", *options, cwd=place)
    refused = json.loads(out)
    assert (code, refused["accepted"]) == (1, False)
    assert refused["reason"].startswith("spade/sums-v0 has this very content")


def test_a_copy_in_other_words_is_refused_but_as_the_next_version(place, tmp_path):
    code, out, err = run("add", "totals.py", "--store", "store", cwd=place)
    assert code == 1
    assert "it repeats spade/sums-v0" in out
    assert "name it so (add --name sums)" in err
    code, out, _ = run("import", "totals.py", "--store", "store", "--json", cwd=place)
    (row,) = json.loads(out)
    assert (code, row["id"]) == (1, None)
    assert row["reason"].startswith("L5.1: it repeats spade/sums-v0")
    known = ("--known", "store", "--store", tmp_path / "other")
    assert "it repeats spade/sums-v0" in run("add", "totals.py", *known, cwd=place)[1]
    code, out, err = run("add", "totals.py", "--name", "sums", "--store", "store", cwd=place)
    assert (code, out.split()[0]) == (0, "spade/sums-v1"), err


def test_importing_a_store_into_itself_renews_its_certificates(tmp_path):
    store = open_store(tmp_path / "store", create=True)
    source = EnvSource(code=SUMS)
    first = interop.check_target(interop.Target(label="x", source=source))
    old = report_of(source, interface=first.report.interface)
    record = store.add(source, old, PROVENANCE, name="sums")
    code, out, err = run("verify", "--store", "store", cwd=tmp_path)
    assert (code, "0 errors, 1 note" in err, "certified by version 1" in out) == (0, True, True)
    code, out, _ = run("import", "store", "--store", "store", "--json", cwd=tmp_path)
    (row,) = json.loads(out)
    assert (code, row["id"]) == (0, record.id)
    assert "certified anew" in row["note"]
    assert "0 errors, 0 notes" in run("verify", "--store", "store", cwd=tmp_path)[2]


@pytest.mark.parametrize("name", ["foo", "MIT and", ""])
def test_a_licence_is_an_spdx_expression(place, name):
    code, _, err = run("add", "sums.py", "--licence", name, "--store", "store", cwd=place)
    assert code == 2
    assert "no SPDX licence identifier" in err


def test_warnings_are_shown(place, tmp_path, monkeypatch):
    made = report({"L2.5": "warn"}, messages={"L2.5": "few tasks"})

    def check_target(target, **_):
        found = dataclasses.replace(made, source_sha256=target.source.sha256)
        return Checked(target=target, report=found)

    monkeypatch.setattr(interop, "check_target", check_target)
    arguments = ["add", str(place / "sums.py"), "--store", str(tmp_path / "fresh")]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0
    assert "warning: L2.5 few tasks" in result.stderr
    again = CliRunner().invoke(cli, [*arguments, "--json", "--licence", "LicenseRef-mine"])
    assert json.loads(again.stdout)["warnings"] == ["L2.5 few tasks"]
    assert json.loads(again.stdout)["licence"] == "LicenseRef-mine"


@pytest.mark.parametrize(
    "words",
    [
        ["add", "{file}"],
        ["import", "{file}"],
        ["generate", "--designer", "scripted:{script}", "--count", "1"],
    ],
)
def test_nothing_is_written_into_the_starter_store_by_accident(place, monkeypatch, words):
    monkeypatch.delenv("SPADE_ENVSTORE", raising=False)
    monkeypatch.chdir(ROOT)
    (place / "script.jsonl").write_text('"no code"\n')
    values = {"file": place / "sums.py", "script": place / "script.jsonl"}
    before = (ROOT / "envstore" / "index.jsonl").read_bytes()
    result = CliRunner().invoke(cli, [word.format(**values) for word in words])
    assert "is the starter store of this checkout" in str(result.exception)
    assert (ROOT / "envstore" / "index.jsonl").read_bytes() == before


def test_novelty_is_judged_by_the_thresholds_given_and_noted_in_the_manifest(tmp_path):
    (tmp_path / "sums.py").write_text(SUMS)
    other = SUMS.replace("class Sums", "class Gaps").replace("Add two", "Subtract")
    other = other.replace("{self.a} + {self.b // 10 * 10}", "{self.a} - {self.b // 10 * 10}")
    other = other.replace("self.a + self.b", "self.a - self.b").replace("a} + {", "a} - {")
    (tmp_path / "gaps.py").write_text(other)
    assert run("add", "sums.py", "--store", "novel", cwd=tmp_path)[0] == 0
    gaps = ("add", "gaps.py", "--store", "novel")
    code, out, _ = run(*gaps, "--novelty", "behaviour=0.9", "--json", cwd=tmp_path)
    reason = json.loads(out)["reason"]
    assert (code, "behaviour distance" in reason, "at most 0.9" in reason) == (1, True, True)
    code, _, err = run(*gaps, "--novelty", "0.9", cwd=tmp_path)
    assert (code, "write embedding=" in err) == (2, True)
    code, out, err = run(*gaps, "--json", cwd=tmp_path)
    assert code == 0, err
    store = open_store(tmp_path / "novel")
    noted = store.manifest(store.get(json.loads(out)["id"])).provenance.novelty
    assert noted["thresholds"] == "embedding=0.2,behaviour=0.1"
    assert noted["behaviour"]["distance"] > 0.3


@pytest.mark.parametrize("title", ["", " ", "\u3164\u2800", "maze 1\ufe0f"])
def test_a_title_that_cannot_be_seen_is_refused_before_anything_is_checked(title, tmp_path):
    (tmp_path / "sums.py").write_text("no environment")
    words = ["add", str(tmp_path / "sums.py"), "--store", str(tmp_path / "store")]
    code, _, err = run(*words, "--title", title, cwd=tmp_path)
    assert code == 2
    assert "characters that cannot be seen" in err
    assert not (tmp_path / "store").exists()
