"""Dry runs do nothing and foretell what is done; what fails leaves nothing behind."""

import json
import shlex

import pytest
from click.testing import CliRunner

from envs.store.kit import add
from spade_envs.cli.main import cli
from spade_envs.errors import ConfigError, NotFound, StoreError
from spade_envs.sharing import push
from spade_envs.store import open_store
from spade_envs.store.plays import Plays, PlayWriter
from spade_envs.trust.settings import settings_path


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


def foretold_and_done(*arguments):
    """Return what a dry run and then the real one say of each version, and their exit codes."""
    runs = [run(*arguments, "--json", *more) for more in (["--dry-run"], [])]
    told = []
    for each in runs:
        (transfer,) = [value for key, value in json.loads(each.stdout).items() if key != "dry_run"]
        rows = [
            {**row, "note": row["note"].partition(" (kept in")[0]}
            for row in transfer["environments"]
        ]
        told.append((rows, transfer["notes"], each.exit_code))
    return told


def test_a_dry_run_foretells_what_the_checks_of_a_pull_refuse(team, stores):
    add(stores[0], 2, name="chess")
    push(str(team), stores[0])
    with (team / "envs/maze/v0/env.py").open("a") as source:
        source.write("# changed")
    foretold, done = foretold_and_done("pull", team, "--store", stores[1].root)
    assert foretold == done
    assert [row["kind"] for row in done[0]] == ["new", "refused"]
    settings_path().parent.mkdir(parents=True)
    settings_path().write_text("require_signatures = true\n")
    foretold, done = foretold_and_done("pull", team, "--store", stores[2].root)
    assert foretold == done
    assert [row["kind"] for row in done[0]] == ["refused", "refused"]
    assert "ask its maker to sign it" in done[0][0]["note"]


def test_a_dry_run_foretells_what_a_push_leaves_out(stores, tmp_path):
    add(stores[0], 1, name="maze")
    (stores[0].root / "envs/maze/v0/manifest.json.sig").write_bytes(
        b"-----BEGIN SSH SIGNATURE-----\n"
    )
    words = ("push", tmp_path / "place", "--as", "alice.maze", "maze", "--store", stores[0].root)
    foretold, done = foretold_and_done(*words)
    assert foretold == done
    assert done[0][0]["note"] == "without its signature, which is of its other name"
    with (stores[0].root / "envs/maze/v0/env.py").open("a") as source:
        source.write("# changed")
    foretold, done = foretold_and_done("push", tmp_path / "new", "--store", stores[0].root)
    assert foretold == done
    assert done[0][0]["note"].startswith("is not sound here")
    assert not (tmp_path / "new").exists()


def test_a_dry_run_foretells_which_ledgers_of_plays_are_taken(team, stores):
    plays = Plays(digest=stores[0].get("maze").digest, plays=10, successes=5)
    PlayWriter(stores[0].root, "run").append([plays])
    (file,) = (stores[0].root / "ledger").iterdir()
    ledger = f"ledger/{file.name}"
    for way, store in (("push", stores[0]), ("pull", stores[1])):
        foretold, done = foretold_and_done(way, team, "--plays", "--store", store.root)
        assert foretold == done
        assert done[1] == [f"{ledger}: 1 new lines"]
    assert (stores[1].root / ledger).read_bytes() == file.read_bytes()


def test_a_push_of_nothing_makes_nothing_and_is_no_error(stores, tmp_path):
    foretold, done = foretold_and_done("push", tmp_path / "new", "--store", stores[0].root)
    assert foretold == done == ([], [], 0)
    assert not (tmp_path / "new").exists()


def test_a_pull_that_cannot_be_noted_leaves_no_store(team, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    done = run("pull", team, "--store", tmp_path / "new")
    assert "must be noted there" in str(done.exception)
    assert not (tmp_path / "new").exists()


def test_an_install_that_finds_nothing_leaves_no_store(team, stores, tmp_path):
    file, new = tmp_path / "envstore.lock", tmp_path / "new"
    words = ("install", "-r", file, "--store", new)
    assert run("lock", "--store", stores[0].root, "--out", file).exit_code == 0
    assert run(*words).exit_code == 1
    assert not new.exists()
    assert run(*words, "--remote", team).exit_code == 0
    assert [each.id for each in open_store(new).records()] == ["spade/maze-v0"]


def test_a_withdrawn_version_that_was_asked_for_is_a_problem_and_one_of_many_is_not(team, stores):
    alice, bob, _ = stores
    alice.withdraw("maze", "it's wrong")
    push(str(team), alice)
    digest = alice.records()[0].digest
    for ref, code in (
        ("maze@0", 1),
        ("spade/maze-v0", 1),
        (digest, 1),
        ("maze", 0),
    ):
        done = run("pull", team, ref, "--store", bob.root)
        assert done.exit_code == code, (ref, done.output)
    assert run("pull", team, "--store", bob.root).exit_code == 0


def test_what_was_withdrawn_elsewhere_is_withdrawn_here_by_the_command_that_is_told(team, stores):
    alice, bob, carol = stores
    add(bob, 1, name="maze")  # the same, but not from there
    alice.withdraw("maze", "it's wrong")
    push(str(team), alice)
    for way, reason in (("pull", "it's wrong"), ("push", "withdrawn at the remote")):
        done = json.loads(run(way, team, "--store", bob.root, "--json").stdout)
        (told,) = done[way]["environments"]
        command = shlex.split(told["note"].partition("if you agree: ")[2])
        words = ["spade/maze-v0", "--store", str(bob.root), "--reason", reason]
        assert command == ["spade-envs", "withdraw", *words]
    assert run(*command[1:]).exit_code == 0
    assert [each.withdrawn for each in bob.records()] != [None]
    assert not carol.records()


def test_a_file_is_no_remote(team, tmp_path, stores):
    (tmp_path / "file").write_text("")
    for way in ("push", "pull"):
        error = run(way, tmp_path / "file", "--store", stores[0].root).exception
        assert isinstance(error, NotFound)
        assert "is no folder; name the folder of a store" in str(error)


def test_a_remote_that_is_a_file_costs_an_install_that_remote_alone(team, tmp_path, stores):
    (tmp_path / "file").write_text("")
    (tmp_path / "dangling").symlink_to(tmp_path / "gone")
    lock = tmp_path / "envstore.lock"
    assert run("lock", "--out", lock, "--store", stores[0].root).exit_code == 0
    places = [tmp_path / "file", tmp_path / "dangling", team]
    options = [each for place in places for each in ("--remote", place)]
    done = run("install", "-r", lock, "--store", stores[1].root, *options)
    assert done.exit_code == 0, done.output
    assert done.output.count("is no folder") == 2
    assert [each.id for each in open_store(stores[1].root).records()] == ["spade/maze-v0"]


def test_a_store_below_a_file_is_refused_by_the_dry_run_too(team, tmp_path, stores):
    (tmp_path / "file").write_text("")
    for more in ((), ("--dry-run",)):
        error = run("pull", team, "--store", tmp_path / "file/x", *more).exception
        assert isinstance(error, ConfigError)
        assert f"{tmp_path}/file is no folder; name another place" in str(error)
    error = run("push", tmp_path / "file/x", "--store", stores[0].root).exception
    assert "cannot be made: Not a directory; name another folder" in str(error)


def test_a_dry_run_foretells_a_store_that_cannot_be_written(team, stores, monkeypatch):
    monkeypatch.setattr("spade_envs.store.envstore.EnvStore.read_only", True)
    done = run("pull", team, "--dry-run", "--store", stores[1].root)
    assert isinstance(done.exception, StoreError)
    assert "is read-only" in str(done.exception)
