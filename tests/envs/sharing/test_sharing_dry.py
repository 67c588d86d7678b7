"""Dry runs do nothing and foretell what is done; what fails leaves nothing behind."""

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
