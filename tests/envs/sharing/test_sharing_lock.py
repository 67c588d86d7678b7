"""Lock files: the very same environments elsewhere, or a clear reason why not."""

import errno
import json
import os
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from envs.sharing.places import folder, git, memory
from envs.store.kit import add
from spade_envs.cli.main import cli, exit_code
from spade_envs.errors import ConfigError, FormatTooNew
from spade_envs.sharing import Wanted, install, make_lock, pull, push, read_lock, write_lock
from spade_envs.sharing.install import InstallOptions
from spade_envs.sharing.lock import Lock
from spade_envs.sharing.names import Renaming
from spade_envs.sharing.pull import PullOptions
from spade_envs.store import open_store


@pytest.fixture
def place(tmp_path):
    with memory(tmp_path) as url:
        yield url


def digests(store):
    return {record.id: record.digest for record in store.records()}


def test_a_lock_brings_the_same_digests_under_the_same_ids(place, stores, tmp_path):
    alice, bob, carol = stores
    for number in range(3):
        add(alice, number, name="maze")
    push(place, alice)
    pull(place, bob, PullOptions(renaming=Renaming(namespace="alice")))
    lock = make_lock(bob, known={"team": place})
    write_lock(lock, tmp_path / "envstore.lock")
    again = read_lock(tmp_path / "envstore.lock")
    assert again == lock
    assert (again.remotes, {each.remote for each in again.environments}) == (
        {"team": place},
        {"team"},
    )
    done = install(again, carol)
    assert (len(done.of("new")), done.clean) == (3, True)
    assert digests(carol) == digests(bob)
    assert set(digests(carol)) == {f"spade/alice.maze-v{n}" for n in range(3)}
    assert {each.kind for each in install(again, carol).outcomes} == {"same"}
    assert write_lock(make_lock(carol, known={"team": place}), tmp_path / "two.lock") is None
    assert (tmp_path / "two.lock").read_bytes() == (tmp_path / "envstore.lock").read_bytes()


@pytest.mark.parametrize("written", ["git+file://{}", "file://{}#main", "{}"])
def test_a_named_repository_is_locked_under_its_name_however_its_address_is_written(
    written, stores, tmp_path
):
    alice, bob, carol = stores
    add(alice, 1, name="maze")
    with git(tmp_path) as path:
        url = written.format(path)
    push(url, alice)
    pull(url, bob)
    lock = make_lock(bob, known={"team": url})
    assert lock.remotes == {"team": url}
    done = install(lock, carol)
    assert done.clean
    assert str(tmp_path) in done.remote


def test_a_lock_leads_back_to_the_branch_and_kind_that_this_store_pulled_from(stores, tmp_path):
    alice, bob, carol = stores
    add(alice, 1, name="maze")
    with git(tmp_path) as path, folder(tmp_path) as other:
        push(f"{path}#dev", alice)
        push(other, alice)
    work = tmp_path / "checkout"
    subprocess.run(["git", "clone", "-q", "-b", "dev", path, str(work)], check=True)
    pull(other, carol)
    for url in (f"git+file://{work}#dev", f"{path}#dev"):
        bob = open_store(tmp_path / f"bob-{url[-6:-4]}{len(url)}", create=True)
        pull(url, bob)
        lock = make_lock(bob)
        assert list(lock.remotes.values()) == [url if "+" in url else f"git+file://{url}"]
        fresh = open_store(tmp_path / f"fresh-{len(url)}", create=True)
        assert install(lock, fresh).of("new")


def test_no_lock_holds_a_secret_that_somebody_wrote_into_the_names(place, stores):
    alice, bob, _ = stores
    add(alice, 1, name="maze")
    push(place, alice)
    pull(place, bob)
    with pytest.raises(ConfigError, match="secret") as caught:
        make_lock(bob, known={"team": f"{place}?token=hunter22"}, remote="team")
    assert "hunter22" not in str(caught.value)


def test_a_lock_file_is_a_file_of_bounded_length(tmp_path):
    with pytest.raises(ConfigError, match="more than"):
        read_lock(Path("/dev/zero"))
    for path in (Path(), tmp_path):
        with pytest.raises(ConfigError, match="name the lock file"):
            write_lock(Lock(environments=()), path)
    assert list(tmp_path.iterdir()) == []


def test_what_came_from_no_remote_is_locked_to_the_one_named(place, stores, tmp_path):
    alice, bob, _ = stores
    add(alice, 1, name="maze")
    lock = make_lock(alice)
    assert [each.remote for each in lock.environments] == [""]
    (missing,) = install(lock, bob).outcomes
    assert (missing.kind, bob.records()) == ("refused", [])
    assert "--remote" in missing.note
    push(place, alice)
    assert install(lock, bob, InstallOptions(remotes=(place,))).of("new")
    fresh = open_store(tmp_path / "fresh", create=True)
    assert install(make_lock(alice, remote=place), fresh).of("new")


def test_another_content_or_a_withdrawn_one_is_never_installed(place, stores):
    alice, bob, carol = stores
    add(alice, 1, name="maze")
    push(place, alice)
    lock = make_lock(alice, remote=place)
    other = add(bob, 2, name="maze")
    (clash,) = install(lock, bob).outcomes
    assert (clash.kind, digests(bob)) == ("conflict", {"spade/maze-v0": other.digest})
    alice.withdraw("maze", "it leaks")
    push(place, alice)
    (gone,) = install(lock, carol).outcomes
    assert (gone.kind, carol.records()) == ("refused", [])
    assert "withdrawn" in gone.note
    with pytest.raises(ConfigError, match="nothing to lock"):
        make_lock(alice)


def test_a_remote_out_of_reach_is_told_and_the_next_one_asked(place, stores, tmp_path):
    alice, bob, _ = stores
    add(alice, 1, name="maze")
    push(place, alice)
    with folder(tmp_path) as gone:
        lock = make_lock(alice, Wanted(refs=("maze",)), remote=f"git+file://{gone}.git")
    done = install(lock, bob, InstallOptions(remotes=(place,)))
    assert done.of("new")
    assert "ls-remote" in done.notes[0]


GOOD = {
    "environments": [{"id": "spade/maze-v0", "digest": f"sha256:{'0' * 64}", "remote": "r0"}],
    "remotes": {"r0": "https://host/x.git"},
    "format": 1,
}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"format": 2}, "pip install -U"),
        ({"format": 0}, "there is no format 0"),
        ({"format": -1}, "there is no format -1"),
        ({"more": 1}, "unknown field"),
        ({"remotes": {"r0": "ext::sh -c touch% x"}}, "no address of a remote"),
        ({"remotes": {"r0": "-x"}}, "hyphen"),
        ({"remotes": {"r0": "https://a:hunter22@host/x"}}, "secret"),
        ({"remotes": {}}, "of no address"),
        ({"environments": [{"id": "../x", "digest": f"sha256:{'0' * 64}"}]}, "not an environment"),
        ({"environments": [{"id": "spade/maze", "digest": f"sha256:{'0' * 64}"}]}, "written like"),
        ({"environments": [{"id": "spade/maze-v0", "digest": "sha256:0"}]}, "regex"),
        ({"environments": GOOD["environments"] * 2}, "twice"),
    ],
)
def test_a_lock_that_lies_or_is_newer_is_refused(change, why, tmp_path):
    path = tmp_path / "envstore.lock"
    path.write_text(json.dumps(GOOD))
    assert read_lock(path).environments[0].id == "spade/maze-v0"
    path.write_text(json.dumps({**GOOD, **change}))
    with pytest.raises((ConfigError, FormatTooNew), match=why) as caught:
        read_lock(path)
    assert "hunter22" not in str(caught.value)


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.EACCES, "Permission denied; give yourself the right to read it"),
        (errno.EIO, "Input/output error; name another lock file"),
    ],
)
def test_a_lock_file_that_cannot_be_read_is_named_with_the_mend(
    number, said, tmp_path, monkeypatch
):
    path = tmp_path / "envstore.lock"

    def fail(*_, **__):
        raise OSError(number, os.strerror(number), str(path))

    monkeypatch.setattr(Path, "open", fail)
    with pytest.raises(ConfigError) as caught:
        read_lock(path)
    assert str(caught.value) == f"{path} cannot be read: {said}"


def test_a_folder_or_too_long_a_name_is_no_lock_file(tmp_path):
    for path in (tmp_path, tmp_path / ("x" * 300), tmp_path / "x.lock" / "y"):
        (tmp_path / "x.lock").touch()
        done = CliRunner().invoke(cli, ["install", "-r", str(path), "--store", str(tmp_path / "s")])
        assert exit_code(done.exception) == 2
        assert str(done.exception).startswith(f"{path} ")
        assert "name " in str(done.exception)
        assert "Errno" not in str(done.exception)
    assert not (tmp_path / "s").exists()


def spoil(url, name="maze"):
    (Path(url) / f"envs/{name}/v0/env.py").write_text("evil")


def test_what_one_remote_has_spoilt_is_taken_from_the_next(stores, tmp_path):
    alice, bob, carol = stores
    add(alice, 1, name="maze")
    first, mirror, third = (str(tmp_path / name) for name in ("first", "mirror", "third"))
    for url in (first, mirror, third):
        push(url, alice)
    lock = make_lock(alice, remote=first)
    spoil(first)
    done = install(lock, bob, InstallOptions(remotes=(mirror,)))
    assert [(each.kind, each.id) for each in done.outcomes] == [("new", "spade/maze-v0")]
    assert (done.remote, digests(bob), done.clean) == (mirror, digests(alice), True)
    spoil(third)
    (lost,) = install(lock, carol, InstallOptions(remotes=(third,))).outcomes
    assert (lost.kind, carol.records()) == ("refused", [])
    assert lost.note.startswith(f"at {first}: is refused: ")
    assert f"; at {third}: is refused: " in lost.note
    empty = str(tmp_path / "empty")
    push(empty, open_store(tmp_path / "nothing", create=True))
    (lost,) = install(lock, carol, InstallOptions(remotes=(empty,))).outcomes
    assert lost.note.startswith("is refused: ")


def test_what_was_withdrawn_where_it_is_locked_is_taken_from_no_mirror(stores, tmp_path):
    alice, bob, _ = stores
    add(alice, 1, name="maze")
    first, mirror = (str(tmp_path / name) for name in ("first", "mirror"))
    for url in (first, mirror):
        push(url, alice)
    lock = make_lock(alice, remote=first)
    alice.withdraw("maze", "it leaks")
    push(first, alice)
    (gone,) = install(lock, bob, InstallOptions(remotes=(mirror,))).outcomes
    assert (gone.kind, bob.records()) == ("refused", [])
    assert f"was withdrawn at {first}" in gone.note


def test_a_refused_copy_under_another_name_is_told_once_under_the_name_of_the_lock(
    stores, tmp_path
):
    alice, bob, carol = stores
    add(alice, 1, name="maze")
    url = str(tmp_path / "remote")
    push(url, alice)
    pull(url, bob, PullOptions(renaming=Renaming(name="keys")))
    lock = make_lock(bob, known={"team": url})
    assert [each.id for each in lock.environments] == ["spade/keys-v0"]
    spoil(url)
    (lost,) = install(lock, carol).outcomes
    assert (lost.kind, lost.id, lost.digest) == (
        "refused",
        "spade/keys-v0",
        lock.environments[0].digest,
    )
    assert lost.note.startswith("(there spade/maze-v0) is refused: ")


def test_a_lock_below_a_file_is_told_which_it_is(stores, tmp_path):
    add(stores[0], 1, name="maze")
    (tmp_path / "afile").touch()
    with pytest.raises(ConfigError, match="afile is no folder; name another place"):
        write_lock(make_lock(stores[0]), tmp_path / "afile/deep/x")
