"""What `check` prints for a few targets, and the exit codes, without running a gate."""

import json
import signal

import pytest
from click.testing import CliRunner

from envs.reports.kit_reports import report
from envs.store.kit import add
from spade_envs import interop
from spade_envs.cli.main import cli
from spade_envs.interop import Checked, known
from spade_envs.store import open_store

NAMES = ("a.py", "b.py", "c.py", "d.py")


@pytest.fixture
def place(tmp_path, monkeypatch):
    for name in NAMES:
        (tmp_path / name).write_text(f"class Env:\n    name = {name!r}\n")
    (tmp_path / "latin.py").write_bytes(b"# \xff\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def finished(order, *, stop=False):
    """A `check_all` that is done with its targets in this order, and is then perhaps stopped."""

    def check_all(targets, **_):
        for number in order:
            error = targets[number].error
            made = None if error else report()
            yield number, Checked(target=targets[number], error=error, report=made)
        if stop:
            raise KeyboardInterrupt

    return check_all


def check(*arguments):
    return CliRunner().invoke(cli, ["check", *arguments])


def told(output):
    return [line.partition(":")[0] for line in output.splitlines() if ".py: " in line]


def test_text_comes_in_the_order_of_the_names(place, monkeypatch):
    monkeypatch.setattr(interop, "check_all", finished([2, 0, 3, 1]))
    assert told(check(*NAMES).stdout) == list(NAMES)
    missing = check("a.py", "gone.py", "b.py", "c.py", "d.py")
    assert (missing.exit_code, told(missing.stdout)) == (2, list(NAMES))


def test_an_interrupt_shows_what_waited(place, monkeypatch):
    monkeypatch.setattr(interop, "check_all", finished([3, 1], stop=True))
    result = check(*NAMES)
    assert result.exit_code == 130
    assert told(result.stdout) == ["b.py", "d.py"]


def test_being_told_to_end_shows_what_was_done(place, monkeypatch):
    def check_all(targets, **_):
        yield 1, Checked(target=targets[1], report=report())
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(interop, "check_all", check_all)
    before = signal.getsignal(signal.SIGTERM)
    result = check(*NAMES, "--json")
    assert result.exit_code == 130
    rows = json.loads(result.stdout)
    undone = "interrupted before it was checked"
    assert [row["error"] for row in rows] == [undone, None, undone, undone]
    assert rows[1]["report"]["results"]
    assert signal.getsignal(signal.SIGTERM) == before


def test_an_interrupt_before_the_first_check_names_every_target(place, monkeypatch):
    def evaluation_texts(path):
        raise KeyboardInterrupt

    monkeypatch.setattr(known, "evaluation_texts", evaluation_texts)
    result = check("a.py", "gone.py", "--against", "texts.txt", "--json")
    assert result.exit_code == 130
    errors = [row["error"] for row in json.loads(result.stdout)]
    assert errors[0] == "interrupted before it was checked"
    assert "gone.py is not a file" in errors[1]


def test_an_empty_name_is_wrong_usage(place, monkeypatch):
    monkeypatch.setattr(interop, "check_all", finished([]))
    result = check("")
    assert result.exit_code == 2
    assert "empty name" in result.stderr
    assert "a.py" not in result.stdout


def test_a_pool_whose_list_cannot_be_read_is_found_wrong(place, monkeypatch):
    monkeypatch.setattr(interop, "check_all", finished([]))
    (place / "checksums.sha256").mkdir()
    result = check(".", "--json")
    assert result.exit_code == 1
    (row,) = json.loads(result.stdout)
    assert (row["target"], row["verdict"]) == (".", "not checked")
    assert "checksums.sha256 cannot be read" in row["error"]


def test_what_is_there_and_cannot_be_checked_is_found_wrong(place, monkeypatch):
    monkeypatch.setattr(interop, "check_all", finished([0]))
    for target, reason in (
        ("latin.py", "not UTF-8"),
        ("gym:no_such_module_here:Foo-v0", "pip install"),
    ):
        result = check(target)
        assert result.exit_code == 1, result.output
        assert reason in result.stdout


def test_a_store_stands_for_its_versions(place, monkeypatch):
    store = open_store("kept", create=True)
    for number in range(2):
        add(store, number, name="maze")
    monkeypatch.setattr(interop, "check_all", finished([1, 0]))
    rows = json.loads(check("kept", "--json").stdout)
    assert [row["target"] for row in rows] == ["spade/maze-v0", "spade/maze-v1"]
