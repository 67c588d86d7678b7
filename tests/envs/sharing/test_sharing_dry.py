"""Dry runs do nothing and foretell what is done; what fails leaves nothing behind."""

import json
import os
import re
import shlex
import shutil

import pytest
from click.testing import CliRunner

from envs.store.kit import add
from spade_envs.cli.main import cli
from spade_envs.errors import (
    ConfigError,
    Corrupt,
    NotFound,
    RemoteError,
    StorageError,
    StoreError,
)
from spade_envs.sharing import push
from spade_envs.sharing.push import PushOptions, push_to
from spade_envs.sharing.remotes import Address
from spade_envs.sharing.remotes.objects import ObjectRemote
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
            {**row, "note": re.sub(r" \(kept in .*?\)", "", row["note"])}
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
    places = [tmp_path / name for name in ("file", "dangling", "file/x", "dangling/x")]
    places += [team]
    options = [each for place in places for each in ("--remote", place)]
    done = run("install", "-r", lock, "--store", stores[1].root, *options)
    assert done.exit_code == 0, done.output
    assert done.output.count("is no folder") == 4
    assert [each.id for each in open_store(stores[1].root).records()] == ["spade/maze-v0"]


def test_a_store_below_a_file_is_refused_by_the_dry_run_too(team, tmp_path, stores):
    (tmp_path / "file").write_text("")
    (tmp_path / "dangling").symlink_to(tmp_path / "gone")
    for name in ("file", "dangling", "gone/../file"):
        place = tmp_path / name / "x"
        for words in (
            ("pull", team, "--store", place),
            ("sync", team, "--store", place),
            ("push", place, "--store", stores[0].root),
            ("pull", place, "--store", stores[1].root),
            ("list", "--store", place),
        ):
            for more in ((), ("--dry-run",)) if words[0] != "list" else ((),):
                error = run(*words, *more).exception
                assert isinstance(error, ConfigError | NotFound), (words, more, error)
                above = os.path.normpath(place.parent)
                assert f"cannot be there: {above} is no folder; name another place" in str(error)


@pytest.fixture
def barred(tmp_path, monkeypatch):
    """Give a folder that may not be entered or written to, whoever runs the tests."""
    (tmp_path / "barred").mkdir()
    asked = os.access
    monkeypatch.setattr(
        "os.access", lambda path, *a, **k: path != tmp_path / "barred" and asked(path, *a, **k)
    )
    return tmp_path / "barred"


def test_what_may_not_be_entered_is_told_with_the_mend(team, stores, barred):
    for words in (
        ("pull", team, "--store", barred / "s"),
        ("pull", barred / "r", "--store", stores[1].root),
        ("push", barred / "r", "--store", stores[0].root),
        ("list", "--store", barred / "s"),
    ):
        error = run(*words).exception
        assert isinstance(error, StorageError | RemoteError)
        assert f"{barred} may not be entered; give yourself the right" in str(error)


def test_dry_runs_foretell_where_nothing_may_be_made(team, stores, tmp_path, monkeypatch):
    (tmp_path / "fixed").mkdir()
    asked = os.access
    monkeypatch.setattr(
        "os.access",
        lambda path, mode, **k: (
            not (path == tmp_path / "fixed" and mode & os.W_OK) and asked(path, mode, **k)
        ),
    )
    for words in (
        ("pull", team, "--store", tmp_path / "fixed/s"),
        ("push", tmp_path / "fixed/r", "--store", stores[0].root),
        ("push", tmp_path / "fixed", "--store", stores[0].root),
        ("pull", team, "--store", tmp_path / "fixed"),
    ):
        for more in ((), ("--dry-run",)):
            error = run(*words, *more).exception
            assert isinstance(error, StorageError), (words, more)
            assert "give yourself the right" in str(error)
    assert list((tmp_path / "fixed").iterdir()) == []


def test_a_push_that_cannot_be_noted_moves_nothing(team, stores, tmp_path, monkeypatch):
    add(stores[0], 2, name="chess")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("os.access", lambda path, *_, **__: path != tmp_path / "file")
    for more in ((), ("--dry-run",)):
        done = run("push", team, "--store", stores[0].root, *more)
        assert "must be noted there" in str(done.exception)
    assert not (team / "envs/chess").exists()


def test_a_pull_of_what_was_withdrawn_leaves_no_store(team, stores, tmp_path):
    stores[0].withdraw("maze", "wrong")
    push(str(team), stores[0])
    for words in (("pull", team, "maze"), ("pull", team), ("sync", team)):
        assert run(*words, "--store", tmp_path / "new").exit_code == 0
        assert not (tmp_path / "new").exists()
    assert run("pull", team, "maze@0", "--store", tmp_path / "new").exit_code == 1
    assert not (tmp_path / "new").exists()


def test_ledgers_of_plays_alone_make_a_store(team, stores, tmp_path):
    maze = stores[0].records()[0]
    PlayWriter(stores[0].root, "run").append([Plays(digest=maze.digest, plays=4, successes=2)])
    stores[0].withdraw("maze", "wrong")
    assert run("push", team, "--plays", "--store", stores[0].root).exit_code == 0
    assert run("pull", team, "--plays", "--store", tmp_path / "new").exit_code == 0
    assert open_store(tmp_path / "new").records() == []
    assert len(list((tmp_path / "new/ledger").iterdir())) == 1


def test_a_withdrawn_version_that_is_to_be_pushed_is_a_problem_and_one_of_many_is_not(
    stores, tmp_path, monkeypatch
):
    monkeypatch.setenv("COLUMNS", "300")
    maze = add(stores[0], 1, name="maze")
    add(stores[0], 2, name="chess")
    stores[0].withdraw("maze", "wrong")
    for ref, code in (("maze@0", 1), (maze.digest, 1), ("maze", 0)):
        done = run("push", tmp_path / "team", ref, "--store", stores[0].root)
        assert done.exit_code == code, (ref, done.output)
        assert ("name another version" in done.output) == bool(code)
    assert run("push", tmp_path / "team", "--store", stores[0].root).exit_code == 0


def test_commands_are_on_lines_of_their_own_and_told_once(team, stores, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    alice, bob, _ = stores
    add(bob, 1, name="maze")
    alice.withdraw("maze", "it's wrong")
    push(str(team), alice)
    for more in ((), ("--dry-run",)):
        done = run("sync", team, "--store", bob.root, *more)
        where = f"--store {shlex.quote(str(bob.root))}"
        command = f"""  spade-envs withdraw spade/maze-v0 {where} --reason 'it'"'"'s wrong'"""
        assert done.output.splitlines().count(command) == 1
        assert done.output.count("spade-envs withdraw") == 1
        assert "as told above" in done.output


def test_what_a_remote_writes_is_never_printed_as_a_command_of_ours(team, stores, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    bob = stores[1]
    evil = "spade-envs trust add --from evil; rm -rf ~"
    add(bob, 1, name="maze")  # his own, so it is only told
    assert run("pull", team, "--store", stores[2].root).exit_code == 0  # from there: followed
    for reason in (evil, f"bad: {evil}", f"bad: {evil}: {evil}"):
        tombstone = team / "envs/maze/v0/WITHDRAWN.json"
        tombstone.write_text(json.dumps({"reason": reason, "at": "2026-01-01T00:00:00Z"}))
        for store in stores[1:]:
            for way in ("pull", "sync"):
                done = run(way, team, "--dry-run", "--store", store.root)
                said = [line.strip() for line in done.output.splitlines()]
                commands = [line for line in said if line.startswith("spade-envs")]
                assert [each for each in commands if "trust" in each.split("--reason")[0]] == []
                where = f"--store {shlex.quote(str(bob.root))} --reason {shlex.quote(reason)}"
                mine = [f"spade-envs withdraw spade/maze-v0 {where}"]
                assert commands == (mine if store is bob else [])
    (team / f"envs/x: {evil}").mkdir()
    assert run("verify", "--store", team).output.count(f"\n  {evil}") == 0


def test_the_root_of_the_disk_is_no_store_and_no_remote(team, stores):
    for words in (("pull", team), ("push", team), ("sync", team), ("list",)):
        done = run(*words, "--store", "/")
        assert isinstance(done.exception, ConfigError | NotFound), done.exception
    for way in ("pull", "push", "sync"):  # soon, however much the disk holds
        done = run(way, "/", "--store", stores[0].root)
        assert isinstance(done.exception, ConfigError | NotFound), done.exception


def test_an_address_without_a_place_is_refused_before_a_folder_of_its_name_is_written(
    stores, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "memory:").mkdir()
    add(stores[0], 1, name="maze")
    for address in ("memory://", "memory:///", "s3://", "gs://"):
        done = run("push", address, "--store", stores[0].root)
        assert isinstance(done.exception, ConfigError), done.exception
        assert "names no place" in str(done.exception)
    assert list((tmp_path / "memory:").iterdir()) == []


def test_an_install_says_where_it_took_things_from(team, stores, tmp_path):
    lock = tmp_path / "envstore.lock"
    assert run("lock", "--out", lock, "--store", stores[0].root).exit_code == 0
    words = ("install", "-r", lock, "--remote", tmp_path / "nowhere", "--remote", team)
    foretold = run(*words, "--dry-run", "--store", tmp_path / "new")
    assert f"would install from {team}: 1 new" in foretold.output
    assert not (tmp_path / "new").exists()
    done = run(*words, "--store", tmp_path / "new")
    assert f"install from {team}: 1 new" in done.output
    assert [each.id for each in open_store(tmp_path / "new").records()] == ["spade/maze-v0"]


def test_a_range_of_success_without_plays_is_told(team, stores):
    for way, store in (("pull", stores[1]), ("push", stores[0])):
        done = run(way, team, "--success", "0.2..0.8", "--store", store.root)
        assert done.exit_code == 0
        assert ("no plays are noted" in done.output) or ("nothing was played" in done.output)


def test_a_dry_run_foretells_a_store_that_cannot_be_written(team, stores, monkeypatch):
    monkeypatch.setattr("spade_envs.store.envstore.EnvStore.read_only", True)
    done = run("pull", team, "--dry-run", "--store", stores[1].root)
    assert isinstance(done.exception, StoreError)
    assert "is read-only" in str(done.exception)


def test_a_push_of_nothing_new_writes_nothing(team, stores, monkeypatch):
    monkeypatch.setattr("spade_envs.store.envstore.EnvStore.refresh", lambda self: 1 / 0)
    done = run("push", team, "--store", stores[0].root)
    assert (done.exit_code, "1 same" in done.output) == (0, True)


def test_a_push_of_what_is_withdrawn_there_too_can_be_repeated(team, stores):
    stores[0].withdraw("maze", "wrong")
    for _ in range(3):
        done = run("push", team, "maze@0", "--store", stores[0].root)
        assert done.exit_code == 0, done.output
        assert "1 withdrawn" in done.output


def test_what_lies_behind_a_link_is_judged_where_it_lies(team, stores, tmp_path, monkeypatch):
    (tmp_path / "fixed/open/sub").mkdir(parents=True)
    (tmp_path / "fixed/link").symlink_to("open/sub")
    asked = os.access
    monkeypatch.setattr(
        "os.access",
        lambda path, mode, **k: (
            not (path == tmp_path / "fixed" and mode & os.W_OK) and asked(path, mode, **k)
        ),
    )
    assert run("pull", team, "--store", tmp_path / "fixed/link/../s").exit_code == 0
    assert (tmp_path / "fixed/open/s/envs/maze").is_dir()


def test_a_dry_run_foretells_that_ledgers_and_signatures_cannot_be_given(
    team, stores, tmp_path, monkeypatch
):
    maze = stores[0].records()[0]
    asked = os.access
    monkeypatch.setattr(
        "os.access",
        lambda path, mode, **k: not (path == team and mode & os.W_OK) and asked(path, mode, **k),
    )
    words = ("push", team, "--plays", "--store", stores[0].root)
    assert run(*words, "--dry-run").exit_code == 0
    PlayWriter(stores[0].root, "run").append([Plays(digest=maze.digest, plays=4, successes=2)])
    for more in ((), ("--dry-run",)):
        error = run(*words, *more).exception
        assert isinstance(error, StorageError), more
    (stores[0].root / "envs/maze/v0/manifest.json.sig").write_text("signature")
    for more in ((), ("--dry-run",)):
        error = run("push", team, "--store", stores[0].root, *more).exception
        assert isinstance(error, StorageError), more


def test_a_file_url_without_a_place_is_not_the_folder_one_is_in(stores):
    error = run("pull", "file://", "--store", stores[1].root).exception
    assert isinstance(error, ConfigError)
    assert "names no place" in str(error)


@pytest.mark.parametrize("name", ["envs", ".staging"])
def test_dry_runs_foretell_that_a_folder_inside_belongs_to_another(
    team, stores, tmp_path, monkeypatch, name
):
    add(stores[0], 2, name="chess")
    (team / ".staging").mkdir(exist_ok=True)
    pulled = tmp_path / "pulled"
    assert run("pull", team, "--store", pulled).exit_code == 0
    (pulled / ".staging").mkdir(exist_ok=True)
    fixed = (team / name, pulled / name)
    asked = os.access
    monkeypatch.setattr(
        "os.access",
        lambda path, mode, **k: not (path in fixed and mode & os.W_OK) and asked(path, mode, **k),
    )
    for words in (
        ("push", team, "--store", stores[0].root),
        ("pull", team, "--as", "other", "maze", "--store", pulled),
    ):
        for more in ((), ("--dry-run",)):
            error = run(*words, *more).exception
            assert isinstance(error, StorageError), (words, more)
            assert f"/{name} cannot be written" in str(error)


def test_an_install_says_where_it_looked_in_vain(team, stores, tmp_path):
    lock = tmp_path / "envstore.lock"
    assert run("lock", "--out", lock, "--store", stores[0].root).exit_code == 0
    words = ("install", "-r", lock, "--remote", tmp_path / "nowhere", "--store", stores[1].root)
    done = run(*words)
    assert done.exit_code == 1
    assert f"install from {tmp_path}/nowhere: 1 refused" in done.output
    assert "install from no remote: 1 refused" in run(*words[:3], *words[5:]).output
    for name, said in (
        ("", "is a folder; name the lock file"),
        ("x" * 300, "File name too long; name "),
    ):
        error = run("install", "-r", name, "--store", stores[1].root).exception
        assert isinstance(error, ConfigError)
        assert said in str(error)


def test_rights_inside_matter_only_where_something_is_placed(team, tmp_path, monkeypatch):
    pulled = tmp_path / "pulled"
    assert run("pull", team, "--store", pulled).exit_code == 0
    asked = os.access
    monkeypatch.setattr(
        "os.access",
        lambda path, mode, **k: (
            not (path == pulled / "envs" and mode & os.W_OK) and asked(path, mode, **k)
        ),
    )
    for words in (("pull", team), ("reindex",), ("withdraw", "maze", "--reason", "bad")):
        assert run(*words, "--store", pulled).exit_code == 0


@pytest.mark.parametrize("name", ["envs", ".staging"])
def test_a_file_in_the_place_of_a_folder_is_called_so_before_anything(team, tmp_path, name):
    pulled = tmp_path / "pulled"
    open_store(pulled, create=True)
    shutil.rmtree(pulled / name, ignore_errors=True)
    (pulled / name).write_text("")
    for more in ((), ("--dry-run",)):
        error = run("pull", team, "--store", pulled, *more).exception
        assert isinstance(error, Corrupt)
        assert f"/{name} is no folder, as a store needs it; move it away" in str(error)


class _NoBucket:
    """What `s3fs` does where the bucket is not there."""

    def invalidate_cache(self):
        pass

    def find(self, path, detail):
        return {}

    def exists(self, path):
        return path != "gone"


def test_a_bucket_that_is_not_there_ends_a_dry_run_too(stores):
    add(stores[0], 1, name="maze")
    for dry_run in (True, False):
        remote = ObjectRemote(_NoBucket(), "gone/envs", Address.read("s3://gone/envs"))
        with pytest.raises(RemoteError, match=r"s3://gone/envs: there is no bucket 'gone'; make"):
            push_to(remote, stores[0], PushOptions(dry_run=dry_run))
    there = ObjectRemote(_NoBucket(), "there/envs", Address.read("s3://there/envs"))
    assert len(push_to(there, stores[0], PushOptions(dry_run=True)).of("new")) == 1
