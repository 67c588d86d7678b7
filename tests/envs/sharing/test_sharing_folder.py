"""Folders as they are on shared disks: unreadable, endless, and changed while they are read."""

import errno
import os
from itertools import count

import pytest

from envs.store.kit import add
from spade_envs.errors import RemoteError
from spade_envs.sharing import install, make_lock, open_remote, pull, push
from spade_envs.sharing.install import InstallOptions
from spade_envs.sharing.pull import PullOptions, pull_from
from spade_envs.sharing.remotes import folder as module
from spade_envs.store import files
from spade_envs.trust.incoming import Entry, Limits


@pytest.fixture
def shared(tmp_path, stores):
    """A folder with three versions."""
    for number, name in enumerate(("chess", "go", "maze")):
        add(stores[0], number, name=name)
    push(str(tmp_path / "shared"), stores[0])
    return tmp_path / "shared"


def kinds(transfer):
    return {each.id: each.kind for each in transfer.outcomes}


def test_one_file_that_may_not_be_read_costs_its_version_alone(shared, stores, monkeypatch):
    first = files._open_at

    def open_at(part, flags, handle, root):
        below = os.readlink(f"/proc/self/fd/{handle}")
        if root == shared and (part, below[-7:]) in (
            ("env.py", "s/go/v0"),
            ("manifest.json", "maze/v0"),
        ):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return first(part, flags, handle, root)

    monkeypatch.setattr(files, "_open_at", open_at)
    done = pull(str(shared), stores[1])
    assert kinds(done) == {
        "spade/chess-v0": "new",
        "spade/go-v0": "refused",
        "spade/maze-v0": "refused",
    }
    assert all("Permission denied" in each.note for each in done.of("refused"))


def test_a_folder_that_may_not_be_read_is_told_and_the_rest_taken(shared, stores, monkeypatch):
    first = os.scandir
    (shared / "lost+found").mkdir()

    def scandir(path):
        if str(path).endswith(("go/v0", "lost+found")):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return first(path)

    monkeypatch.setattr(module.os, "scandir", scandir)
    done = pull(str(shared), stores[1])
    assert kinds(done) == {"spade/chess-v0": "new", "envs/go/v0": "refused", "spade/maze-v0": "new"}
    assert "may not read" in done.of("refused")[0].note


def test_a_folder_without_an_end_is_listed_no_further_than_is_taken(shared, monkeypatch):
    root = os.open(shared / "envs", os.O_RDONLY)
    for _ in range(40):
        os.mkdir("d", dir_fd=root)
        below = os.open("d", os.O_RDONLY, dir_fd=root)
        os.close(root)
        root = below
    os.close(root)
    with open_remote(str(shared)) as remote:
        listed = remote.entries()
        assert [each.kind for each in listed if "/d/d" in each.path] == ["other"]
        monkeypatch.setattr(module, "Limits", lambda: Limits(entries=4))
        assert len(remote.entries()) == 5


def test_what_changes_between_listing_and_reading_is_told_and_not_taken(shared, stores):
    with open_remote(str(shared)) as remote:
        first = remote.entries

        def entries():
            listed = first()
            (shared / "envs/go/v0/env.py").unlink()
            (shared / "envs/maze/v0/manifest.json").unlink()
            return listed

        remote.entries = entries
        done = pull_from(remote, stores[1])
    assert kinds(done) == {
        "spade/chess-v0": "new",
        "spade/go-v0": "refused",
        "spade/maze-v0": "refused",
    }
    assert all("pull again" in each.note for each in done.of("refused"))


def test_a_store_that_goes_away_while_it_is_looked_at_is_one_error(shared, stores):
    with open_remote(str(shared)) as remote:
        listed = remote.entries()
        remote.entries = lambda: [*listed, Entry("ENVSTORE.json", 42)]
        (shared / "ENVSTORE.json").unlink()
        with pytest.raises(RemoteError, match="changed while it was looked at"):
            pull_from(remote, stores[1])


def test_two_who_pull_or_push_the_same_at_once_both_have_it(shared, stores, tmp_path):
    bob = stores[1]
    with open_remote(str(shared)) as remote:
        first, turn = remote.read, count()

        def read(path, max_bytes):
            if path.endswith("env.py") and next(turn) == 0:
                pull(str(shared), bob)
            return first(path, max_bytes)

        remote.read = read
        done = pull_from(remote, bob, PullOptions(jobs=1))
    assert (done.clean, {each.kind for each in done.outcomes}) == (True, {"same"})
    other = tmp_path / "other"
    with open_remote(str(other)) as remote:
        given = dict.fromkeys(("env.py", "manifest.json"), b"x")
        assert [remote.add("envs/maze/v0", given) for _ in range(2)] == [True, True]
        assert not remote.add("envs/maze/v0", {**given, "env.py": b"y"})


def test_a_remote_that_breaks_off_costs_an_install_nothing_that_was_placed(
    shared, stores, tmp_path, monkeypatch
):
    alice, bob, carol = stores
    push(str(tmp_path / "mirror"), alice)
    lock = make_lock(alice, remote=str(shared))
    first = module.FolderRemote.read

    def read(self, path, max_bytes):
        if self.root == shared and path.endswith("maze/v0/env.py"):
            raise RemoteError("the cable was pulled")
        return first(self, path, max_bytes)

    monkeypatch.setattr(module.FolderRemote, "read", read)
    monkeypatch.setattr("spade_envs.sharing.transfer.time.sleep", lambda seconds: None)
    broken = install(lock, bob, InstallOptions(jobs=1))
    assert kinds(broken) == {
        "spade/chess-v0": "new",
        "spade/go-v0": "new",
        "spade/maze-v0": "refused",
    }
    (tmp_path / "empty").mkdir()
    places = InstallOptions(jobs=1, remotes=(str(tmp_path / "empty"), str(tmp_path / "mirror")))
    whole = install(lock, carol, places)
    assert whole.clean
    assert [each.placed for each in whole.of("new", "same")] == list(kinds(broken))
    assert len(whole.notes) == 2
