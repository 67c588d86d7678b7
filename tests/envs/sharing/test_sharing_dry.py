"""Dry runs do nothing and foretell what is done; what fails leaves nothing behind."""

import json

import pytest
from click.testing import CliRunner

from envs.store.kit import add
from spade_envs.cli.main import cli
from spade_envs.sharing import push
from spade_envs.store import open_store


def run(*arguments):
    return CliRunner().invoke(cli, [str(each) for each in arguments])


@pytest.fixture
def team(tmp_path, stores):
    add(stores[0], 1, name="maze")
    push(str(tmp_path / "team"), stores[0])
    return tmp_path / "team"


def test_dry_runs_and_failing_pulls_make_no_store(team, tmp_path):
    new = tmp_path / "not/there"
    for words, said in (
        (("pull", team, "--dry-run"), "1 new"),
        (("sync", team, "--dry-run"), "1 new"),
        (("pull", tmp_path / "nowhere"), ""),
        (("pull", team, "nosuch"), ""),
        (("sync", tmp_path / "nowhere"), ""),
    ):
        done = run(*words, "--store", new)
        assert (said in done.output, done.exit_code == 0) == (True, bool(said)), done.output
        assert not new.parent.exists()
    assert run("sync", team, "--store", new).exit_code == 0
    assert [each.id for each in open_store(new).records()] == ["spade/maze-v0"]


def test_a_folder_that_holds_something_else_is_refused_before_anything(team, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full/mine.txt").write_text("mine")
    for place in (tmp_path / "full", tmp_path / "full/mine.txt"):
        done = run("pull", team, "--dry-run", "--store", place)
        assert "name a new" in str(done.exception)


def test_a_dry_run_of_sync_foretells_what_sync_does(team, stores):
    alice, bob, _ = stores
    run("pull", team, "--store", bob.root)
    alice.withdraw("maze", "too easy")
    add(alice, 2, name="chess")
    push(str(team), alice)
    add(bob, 3, name="nim")
    foretold = json.loads(run("sync", team, "--dry-run", "--json", "--store", bob.root).stdout)
    done = json.loads(run("sync", team, "--json", "--store", bob.root).stdout)
    for way in ("pull", "push"):
        assert foretold[way]["environments"] == done[way]["environments"]
    kinds = {each["id"]: each["kind"] for each in foretold["push"]["environments"]}
    assert kinds == {
        "spade/chess-v0": "same",
        "spade/maze-v0": "withdrawn",
        "spade/nim-v0": "new",
    }
