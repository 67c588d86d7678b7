"""`verify --quick` finds what `verify` finds of hashes, names and the index."""

import json
import shutil
import signal

import pytest
from click.testing import CliRunner

from envs.store.kit import add
from spade_envs.cli.main import cli
from spade_envs.store import open_store, quick, starter_path


@pytest.fixture
def store(tmp_path):
    opened = open_store(tmp_path / "store", create=True)
    add(opened, 0, name="maze", title='A \\ "maze" ünder\u2028 files')
    add(opened, 1, name="maze")
    add(opened, 2, name="alice.tower")
    opened.withdraw("spade/maze-v1", "too easy")
    return opened


def place(store, name=""):
    return store.root / "envs" / "maze" / "v0" / name


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


def stale_index(store):
    add(store, 5, name="river", refresh=False)


def swap(store):
    place(store).rename(store.root / "aside")
    (store.root / "envs" / "alice.tower" / "v0").rename(place(store))
    (store.root / "aside").rename(store.root / "envs" / "alice.tower" / "v0")


def linked(store):
    place(store, "env.py").rename(store.root / "envs" / "elsewhere.py")
    place(store, "env.py").symlink_to(store.root / "envs" / "elsewhere.py")


def newer(store):
    path = place(store, "manifest.json")
    path.write_text(path.read_text().replace('"format": 1', '"format": 2'))


DAMAGES = {
    "manifest flipped": lambda s: flip(place(s, "manifest.json")),
    "source flipped": lambda s: flip(place(s, "env.py")),
    "report flipped": lambda s: flip(place(s, "report.json")),
    "manifest gone": lambda s: place(s, "manifest.json").unlink(),
    "source gone": lambda s: place(s, "env.py").unlink(),
    "report gone": lambda s: place(s, "report.json").unlink(),
    "source longer": lambda s: place(s, "env.py").open("a").write("#"),
    "report empty": lambda s: place(s, "report.json").write_bytes(b""),
    "stranger in a version": lambda s: place(s, "notes.txt").write_text("x"),
    "stranger beside versions": lambda s: (s.root / "envs" / "maze" / "w0").mkdir(),
    "stranger beside names": lambda s: (s.root / "envs" / "UPPER").mkdir(),
    "stranger at the top": lambda s: (s.root / "notes.txt").write_text("x"),
    "two versions swapped": swap,
    "source is a link": linked,
    "of a newer format": newer,
    "index stale": stale_index,
    "index flipped": lambda s: flip(s.root / "index.jsonl"),
    "withdrawal unknown to the index": lambda s: place(s, "WITHDRAWN.json").write_text("{"),
}


def errors(problems):
    return {(p.kind, p.path.split("/")[0]) for p in problems if p.severity == "error"}


def test_what_is_whole_is_found_whole(store):
    assert store.verify_quick() == (3, [])
    count, problems = open_store(starter_path()).verify_quick()
    assert (count > 0, [p for p in problems if p.severity == "error"]) == (True, [])


def test_the_short_way_is_taken_for_every_sealed_manifest(store, monkeypatch):
    monkeypatch.setattr(quick, "parse_version", None)
    assert store.verify_quick()[0] == 3
    assert open_store(starter_path()).verify_quick()[0] > 0


@pytest.mark.parametrize("damage", DAMAGES)
def test_every_damage_that_verify_finds_is_found(store, damage):
    DAMAGES[damage](store)
    found = errors(store.verify_quick()[1])
    whole = errors(store.verify(deep=True))
    assert found
    assert found - {("index", "index.jsonl")} <= whole
    # What a tombstone says is the business of the other; that it is there is not.
    assert whole - {("index", "index.jsonl"), ("tombstone", "envs")} <= found


@pytest.fixture
def shared_out(monkeypatch):
    """Let two processes share the smallest store; gives those that were started."""
    started = []

    class Started(quick.Helper):
        def __init__(self, root, names):
            super().__init__(root, names)
            started.append(self)
            self.found = None

        def result(self):
            self.found = super().result()
            return self.found

    monkeypatch.setattr(quick, "MANY", 1)
    monkeypatch.setattr(quick, "processors", lambda: 2)
    monkeypatch.setattr(quick, "Helper", Started)
    return started


@pytest.mark.parametrize("damage", ["source flipped", "report gone", "manifest flipped", "swap"])
def test_processes_find_what_one_finds(store, damage, shared_out, monkeypatch):
    assert store.verify_quick() == (3, [])
    assert [(each.found.count, each.found.problems) for each in shared_out] == [(2, [])]
    (swap if damage == "swap" else DAMAGES[damage])(store)
    (store.root / "envs" / "odd\udcff").mkdir()
    together = store.verify_quick()
    monkeypatch.setattr(quick, "MANY", 100)
    assert (together, len(together[1]) > 1) == (store.verify_quick(), True)
    assert len(shared_out) == 2


@pytest.mark.parametrize("how", ["not started", "killed", "no Python", "nonsense"])
def test_what_a_helper_does_not_do_is_done_all_the_same(store, shared_out, monkeypatch, how):
    if how == "not started":
        monkeypatch.setattr("subprocess.Popen", _no_process)
    elif how == "no Python":
        monkeypatch.setattr("sys.executable", "/bin/false")
    elif how == "nonsense":
        monkeypatch.setattr("spade_envs.store.helper._START", "print('a module says hello')")
    else:
        look = quick.look

        def look_when_it_is_dead(root, names):
            for each in shared_out:
                each._process.kill()
            return look(root, names)

        monkeypatch.setattr(quick, "look", look_when_it_is_dead)
    assert store.verify_quick() == (3, [])
    assert [each.found for each in shared_out] == [None]


def _no_process(*_, **__):
    raise BlockingIOError(11, "Resource temporarily unavailable")


def test_an_interrupt_leaves_no_helper(store, shared_out, monkeypatch):
    def stop(root, names):
        raise KeyboardInterrupt

    monkeypatch.setattr(quick, "look", stop)
    with pytest.raises(KeyboardInterrupt):
        store.verify_quick()
    assert [each._process.returncode for each in shared_out] == [-signal.SIGKILL]


def test_a_withdrawn_version_may_lack_its_source(store):
    (store.root / "envs" / "maze" / "v1" / "env.py").unlink()
    count, (note,) = store.verify_quick()
    assert (count, note.kind, note.severity) == (3, "source", "note")


def test_a_manifest_without_a_seal_is_read_the_long_way_and_noted(store):
    path = place(store, "manifest.json")
    raw = json.loads(path.read_bytes())
    del raw["seal"]
    path.write_text(json.dumps(raw, indent=2, sort_keys=True) + "\n")
    count, (note,) = store.verify_quick()
    assert (count, note.severity) == (3, "note")
    assert "has no seal" in note.message


def test_versions_in_no_folder_are_not_called_a_stale_index(store):
    (store.root / "envs").rename(store.root.parent / "moved")
    (store.root / "envs").symlink_to(store.root.parent / "moved")
    count, problems = store.verify_quick()
    assert (count, [each.path for each in problems if each.kind == "index"]) == (0, [])
    assert [each.path for each in problems if each.path == "envs"]


def test_a_store_without_environments_is_whole(tmp_path):
    store = open_store(tmp_path / "empty", create=True)
    assert store.verify_quick() == (0, [])
    (store.root / "envs" / "stopped").mkdir(parents=True)
    (note,) = store.verify_quick()[1]
    assert (note.kind, note.severity) == ("staging", "note")
    shutil.rmtree(store.root / "envs")
    (store.root / "envs").symlink_to(tmp_path)
    assert errors(store.verify_quick()[1]) == {("unknown", "envs")}


def test_the_command_counts_and_fails(store):
    run = CliRunner().invoke(cli, ["verify", "--quick", "--store", str(store.root)])
    assert (run.exit_code, run.stdout) == (0, "")
    assert "3 versions checked, 0 errors, 0 notes" in run.stderr
    flip(place(store, "report.json"))
    run = CliRunner().invoke(cli, ["verify", "--quick", "--json", "--store", str(store.root)])
    (problem,) = json.loads(run.stdout)
    assert (run.exit_code, problem["path"]) == (1, "envs/maze/v0/report.json")
