"""Stores in odd places: read-only media, shared folders, other clocks, damaged derived files."""

import errno
import json
import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import gymnasium as gym
import pytest
from click.testing import CliRunner

import spade_envs
from envs.store.faults import FailingDisk, Fault, on
from envs.store.kit import add, source_of
from spade_envs.cli.main import cli, exit_code
from spade_envs.errors import Corrupt, StorageError
from spade_envs.memory import open_memory
from spade_envs.sharing import make_lock
from spade_envs.store import EnvStore, index, open_store, starter_path
from spade_envs.store.files import now_ns

WRITES = frozenset({"mkdir", "open", "write", "rename", "replace", "link", "utime"})
HOUR_S = 3600.0


@pytest.fixture
def store(tmp_path):
    opened = open_store(tmp_path / "store", create=True)
    for number, name in enumerate(("maze", "tower", "river")):
        add(opened, number, name=name)
    opened.withdraw("spade/river-v0", "too easy")
    return opened


def seen(root):
    return {
        path.relative_to(root).as_posix(): (path.lstat().st_mtime_ns, path.lstat().st_size)
        for path in root.rglob("*")
    }


def ids(lines):
    return [(line.id, line.withdrawn is not None) for line in lines]


WHOLE = [("spade/maze-v0", False), ("spade/river-v0", True), ("spade/tower-v0", False)]


def test_read_only_media_can_be_listed_shown_searched_and_played(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    root = tmp_path / "store"
    root.mkdir()
    shutil.copy(starter_path() / "ENVSTORE.json", root)
    shutil.copytree(starter_path() / "envs" / "paper-punch", root / "envs" / "paper-punch")
    before = seen(root)
    monkeypatch.setattr(EnvStore, "read_only", property(lambda self: True))
    disk = FailingDisk(Fault(WRITES, errno.EROFS, lasting=True), 0)
    with on(disk):
        run = CliRunner().invoke
        listed = run(cli, ["list", "--json", "--store", str(root)])
        assert [each["id"] for each in json.loads(listed.stdout)] == ["spade/paper-punch-v0"]
        assert run(cli, ["show", "paper-punch", "--store", str(root)]).exit_code == 0
        found = run(cli, ["search", "fold a paper", "--json", "--store", str(root)])
        assert json.loads(found.stdout)[0]["id"] == "spade/paper-punch-v0"
        assert spade_envs.register_store(str(root)) == 1
        env = gym.make("spade/Env-v0", ref="paper-punch", store=str(root))
        assert env.reset(seed=0)[0]
        env.close()
    assert not disk.fired
    assert seen(root) == before


def test_threads_that_want_one_name_each_get_a_number_of_their_own(store):
    with ThreadPoolExecutor(6) as pool:
        records = list(pool.map(lambda number: add(store, number, name="maze"), range(1, 25)))
    assert sorted(record.id for record in records) == sorted(
        f"spade/maze-v{version}" for version in range(1, 25)
    )
    for number, record in enumerate(records, start=1):
        assert store.source(record).code == source_of(number).code
    store.reindex()
    assert store.verify(deep=True) == []


def test_the_store_takes_no_lock():
    folder = Path(spade_envs.__file__).parent / "store"
    assert [path for path in folder.glob("*.py") if "fcntl" in path.read_text()] == []


def torn(data):
    return data[: len(data) * 2 // 3]


DAMAGES = {
    "gone": lambda data: None,
    "empty": lambda data: b"",
    "torn": torn,
    "torn at a line": lambda data: data[: data.index(b"\n") + 1],
    "zeros, as after a power cut": lambda data: bytes(len(data)),
    "foreign": lambda data: b"something else\n",
    "of a newer release": lambda data: data.replace(b'{"digest"', b'{"bench":1,"digest"'),
    "lines twice": lambda data: data + data,
    "of another store": lambda data: data.replace(b"maze", b"mice"),
    "merged by git with its marks": lambda data: b"<<<<<<< HEAD\n" + data,
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("trusting", [False, True])
def test_whatever_the_index_is_what_is_there_is_read_and_reindex_mends_it(store, damage, trusting):
    path = store.root / "index.jsonl"
    for folder in (store.root / "envs").iterdir():
        os.utime(folder, (time.time() - HOUR_S,) * 2)  # so the index is as trusted as can be
    changed = DAMAGES[damage](path.read_bytes())
    path.unlink()
    if changed is not None:
        path.write_bytes(changed)
    assert ids(index.load(store.root, trusting=trusting)) == WHOLE
    store.reindex()
    assert store.verify(deep=True) == []


def test_a_clock_that_is_ahead_hides_nothing_that_others_publish(store, monkeypatch):
    """This machine rebuilds the index, its clock a day ahead; another one publishes, and dies."""
    ahead_ns = time.time_ns() + 86_400 * 10**9
    with monkeypatch.context() as patch:
        patch.setattr(time, "time_ns", lambda: ahead_ns)
        store.reindex()
    assert (store.root / "index.jsonl").stat().st_mtime_ns < now_ns(store.root)
    add(store, 7, name="maze", refresh=False)
    assert ("spade/maze-v1", False) in ids(index.load(store.root, trusting=True))


def test_a_clock_that_was_set_back_hides_no_version_of_a_known_name(store):
    """What is published now bears a time before that of the index."""
    add(store, 7, name="maze", refresh=False)
    os.utime(store.root / "envs" / "maze", (1, 1))
    if (store.root / "envs").stat().st_nlink < 2:
        pytest.skip("this file system does not count the folders in a folder")
    assert ("spade/maze-v1", False) in ids(index.load(store.root, trusting=True))


def test_folders_from_the_future_are_read_anew_each_time(store):
    for folder in (store.root / "envs").iterdir():
        os.utime(folder, (time.time() + 9 * HOUR_S,) * 2)
    assert ids(index.load(store.root, trusting=True)) == WHOLE
    add(store, 7, name="maze", refresh=False)
    assert ("spade/maze-v1", False) in ids(index.load(store.root, trusting=True))


CACHE_DAMAGES = {
    "gone": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "torn": lambda path: path.write_bytes(torn(path.read_bytes())),
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "foreign": lambda path: path.write_bytes(b"something else\n"),
    "newer": lambda path: path.write_bytes(b"SPADEVEC9\n" + path.read_bytes()),
}


@pytest.mark.parametrize("damage", CACHE_DAMAGES)
@pytest.mark.parametrize("place", ["embedder.json", "*/*.vec"])
def test_a_memory_that_is_damaged_is_made_anew(store, damage, place):
    before = open_memory(store, "hashed")
    before.refresh()
    expected = before.search("find the way out", 5)
    (path,) = (store.root / ".cache" / "memory").glob(place)
    CACHE_DAMAGES[damage](path)
    again = open_memory(store, "hashed")
    again.refresh()
    assert again.search("find the way out", 5) == expected
    assert len(expected) == 2


def test_a_file_system_without_folders_is_told_in_one_sentence():
    with pytest.raises(StorageError, match=r"/proc/x cannot be made: .*name another folder"):
        open_store("/proc/x", create=True)


def test_a_stale_index_is_told_once(store, caplog):
    shutil.rmtree(store.root / "envs" / "maze")
    for _ in range(3):
        store.records()
    assert [record.message.rpartition("; ")[2] for record in caplog.records] == ["reindex mends it"]
    assert [each.path for each in store.verify()] == ["index.jsonl"]
    store.reindex()
    assert store.verify() == []


@pytest.mark.parametrize("how", ["file", "link"])
def test_envs_that_are_no_folder_leave_the_index(store, how, tmp_path):
    before = (store.root / "index.jsonl").read_bytes()
    (store.root / "envs").rename(tmp_path / "moved")
    if how == "file":
        (store.root / "envs").touch()
    else:
        (store.root / "envs").symlink_to(tmp_path / "moved")
    with pytest.raises(Corrupt, match=r"envs is no folder, so no version can be read; put the"):
        store.reindex()
    assert (store.root / "index.jsonl").read_bytes() == before


@pytest.mark.parametrize("kind", ["file", "link"])
def test_versions_that_lie_in_no_folder_are_called_so_by_list_and_verify(kind, tmp_path):
    store = open_store(tmp_path / "store", create=True)
    add(store, 1, name="maze")
    place, moved = store.root / "envs", tmp_path / "moved"
    place.rename(moved)
    place.touch() if kind == "file" else place.symlink_to(moved)
    said = "is no folder, so no version can be read; put the folder back"
    for act in (store.records, store.reindex):
        with pytest.raises(Corrupt) as caught:
            act()
        assert str(caught.value) == f"{place} {said}"
    found = [(each.kind, each.path, each.message, each.severity) for each in store.verify()]
    assert found == [("unknown", "envs", said, "error")]
    done = CliRunner().invoke(cli, ["list", "--store", str(store.root)])
    assert (str(done.exception), exit_code(done.exception)) == (f"{place} {said}", 1)
    place.unlink()
    moved.rename(place)
    assert (len(store.records()), store.verify()) == (1, [])


def test_a_digest_that_only_the_index_gives_is_not_believed(tmp_path):
    store = open_store(tmp_path / "store", create=True)
    first, second = add(store, 1, name="maze"), add(store, 2, name="chess")
    index_file = store.root / "index.jsonl"
    text = index_file.read_text().replace(first.digest, "#").replace(second.digest, first.digest)
    index_file.write_text(text.replace("#", second.digest))
    for act in (lambda: store.get(first.digest), lambda: make_lock(store)):
        with pytest.raises(Corrupt, match="and its manifest another one; mend it with: spade-envs"):
            act()
    store.reindex()
    assert store.get(first.digest).id == "spade/maze-v0"
    assert {each.digest for each in make_lock(store).environments} == {first.digest, second.digest}
