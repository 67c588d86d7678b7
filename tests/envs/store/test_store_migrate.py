"""The mechanism of migrations, with an invented format 0 before format 1."""

import json
import os
import shutil

import pytest

from envs.store.kit import add, source_of
from spade_envs.errors import Corrupt, NotFound
from spade_envs.manifest.canonical import canonical_json, sealed
from spade_envs.store import migrate as module
from spade_envs.store import open_store
from spade_envs.store.migrate import format_of, migrate


class Killed(BaseException):
    """Stands for SIGKILL."""


def to_format_1(files):
    """Read `license` and `source.py` of format 0 as `licence` and `env.py` of format 1."""
    manifest = json.loads(files["manifest.json"])
    if manifest.get("format") != 0:
        raise Corrupt("manifest.json is not of format 0")
    manifest |= {"format": 1, "licence": manifest.pop("license"), "seal": "0" * 64}
    rest = {
        name: data for name, data in files.items() if name not in ("manifest.json", "source.py")
    }
    if "source.py" in files:
        rest["env.py"] = files["source.py"]
    return {**rest, "manifest.json": sealed(canonical_json(manifest))}


STEPS = {0: to_format_1}


def write_old(root, number):
    """Put a version of format 0 into the store, as a release of that time would have."""
    place = root / "envs" / f"maze-{number}" / "v0"
    place.mkdir(parents=True)
    new = open_store(root.parent / "template", create=True)
    record = add(new, number, name=f"maze-{number}")
    made = new.root / "envs" / f"maze-{number}" / "v0"
    manifest = json.loads((made / "manifest.json").read_bytes())
    manifest |= {"format": 0, "license": manifest.pop("licence")}
    del manifest["seal"]
    (place / "source.py").write_bytes((made / "env.py").read_bytes())
    (place / "report.json").write_bytes((made / "report.json").read_bytes())
    (place / "manifest.json").write_bytes(canonical_json(manifest))
    return record.digest


@pytest.fixture
def old(tmp_path):
    root = tmp_path / "place" / "store"
    digests = [write_old(root, number) for number in range(3)]
    tombstone = {"at": "2026-01-02T03:04:05Z", "reason": "too easy"}
    (root / "envs" / "maze-2" / "v0" / "WITHDRAWN.json").write_bytes(canonical_json(tombstone))
    (root / "ENVSTORE.json").write_bytes(b'{"format": 0}\n')
    (root / "ledger").mkdir()
    (root / "ledger" / "plays-a.jsonl").write_bytes(b"{}\n")
    (root / "README.md").write_text("mine")
    (root / "index.jsonl").write_text("of another format")
    return root, digests


def names(root):
    return sorted(path.name for path in root.parent.iterdir() if path.name != "template")


def check(root, digests, done):
    """See that the new store is whole, and the old one is beside it as it was."""
    store = open_store(root)
    assert [record.digest for record in store.records()] == digests
    assert [record.withdrawn is None for record in store.records()] == [True, True, False]
    assert store.verify(deep=True) == []
    assert store.source(store.get("maze-1")).code == source_of(1).code
    assert (root / "README.md").read_text() == "mine"
    assert (root / "ledger" / "plays-a.jsonl").read_bytes() == b"{}\n"
    kept = root.parent / "store.format-0"
    assert names(root) == ["store", "store.format-0"]
    assert (format_of(kept), (kept / "index.jsonl").read_text()) == (0, "of another format")
    assert (kept / "envs" / "maze-0" / "v0" / "source.py").read_text() == source_of(0).code
    assert (done.before, done.after, done.versions, done.kept, done.left) == (0, 1, 3, kept, ())


def test_a_store_gets_the_next_format_and_the_old_one_stays(old):
    root, digests = old
    done = migrate(root, steps=STEPS)
    check(root, digests, done)
    again = migrate(root, steps=STEPS)
    assert (again.before, again.kept, names(root)) == (1, None, ["store", "store.format-0"])


def test_a_folder_that_only_looks_like_a_migration_is_left_alone(old):
    root, _ = old
    migrate(root, steps=STEPS)
    other = root.parent / f".store.format-0-to-1-{module.__version__}"
    other.mkdir()
    (other / "ENVSTORE.json").write_text('{"format": 0}')
    assert migrate(root).kept is None
    (other / "ENVSTORE.json").write_text("not ours")
    assert migrate(root, steps=STEPS).kept is None
    assert names(root) == [other.name, "store", "store.format-0"]


def test_a_dry_run_changes_nothing(old):
    root, _ = old
    done = migrate(root, steps=STEPS, dry_run=True)
    assert (done.before, done.after, done.versions, done.kept) == (0, 1, 3, None)
    assert (names(root), format_of(root)) == (["store"], 0)


def test_without_a_step_nothing_is_touched(old, tmp_path):
    root, _ = old
    with pytest.raises(Corrupt, match="no step leads on from 0"):
        migrate(root)
    assert names(root) == ["store"]
    with pytest.raises(NotFound, match="is not an envstore"):
        migrate(tmp_path / "nowhere", steps=STEPS)


def calls(monkeypatch, survive):
    """Let the writing calls of a migration die after so many; gives the counter of those left."""
    left = [survive]

    def watch(owner, name):
        real = getattr(owner, name)

        def call(*args, **kwargs):
            if left[0] == 0:
                raise Killed
            left[0] -= 1
            return real(*args, **kwargs)

        monkeypatch.setattr(owner, name, call)

    for name in ("publish_folder", "publish_file", "replace_file"):
        watch(module.files, name)
    watch(module, "exchange")
    watch(module.os, "rename")
    watch(module.shutil, "copytree")
    return left


@pytest.mark.parametrize("survive", range(12))
@pytest.mark.parametrize("exchanging", [True, False])
def test_a_killed_migration_is_taken_up_and_loses_nothing(old, monkeypatch, survive, exchanging):
    root, digests = old
    if not exchanging:

        def refuse(*_):
            raise module.StoreError("not here")

        monkeypatch.setattr(module, "exchange", refuse)
    with monkeypatch.context() as patch:
        left = calls(patch, survive)
        try:
            migrate(root, steps=STEPS)
        except Killed:
            assert left == [0]
    whole = [path for path in root.parent.iterdir() if (path / "envs" / "maze-2").is_dir()]
    assert whole, "no folder holds everything"
    done = migrate(root, steps=STEPS)
    if done.kept is None:  # it had come to its end, or so near that nothing was left to do
        done = module.Migrated(root=root, before=0, after=1, versions=3,
                               kept=root.parent / "store.format-0")  # fmt: skip
    check(root, digests, done)


def test_what_is_published_and_noted_meanwhile_comes_along(old, monkeypatch):
    root, digests = old
    real = module._take_place

    def take_place(*args):
        digests.append(write_old(root, 3))  # after the last look, before the exchange
        kept = real(*args)
        with (kept / "ledger" / "plays-a.jsonl").open("ab") as file:
            file.write(b"[]\n")
        tombstone = {"at": "2026-01-02T03:04:05Z", "reason": "late"}
        (kept / "envs" / "maze-0" / "v0" / "WITHDRAWN.json").write_bytes(canonical_json(tombstone))
        return kept

    monkeypatch.setattr(module, "_take_place", take_place)
    done = migrate(root, steps=STEPS)
    store = open_store(root)
    assert (done.versions, done.left) == (4, ())
    assert [record.digest for record in store.records()] == digests
    assert store.get("spade/maze-0-v0", withdrawn=True).withdrawn.startswith("late")
    assert (root / "ledger" / "plays-a.jsonl").read_bytes() == b"{}\n[]\n"
    assert store.verify(deep=True) == []


def test_what_cannot_be_read_is_told_and_stays_behind(old):
    root, digests = old
    path = root / "envs" / "maze-1" / "v0"
    (path / "source.py").write_text("changed")
    shutil.rmtree(root / "envs" / "maze-0" / "v0")
    (root / "envs" / "maze-0" / "v0").mkdir()
    os.symlink("/etc/passwd", root / "envs" / "maze-0" / "v0" / "manifest.json")
    done = migrate(root, steps=STEPS)
    assert [name for name, _ in done.left] == ["spade/maze-0-v0", "spade/maze-1-v0"]
    assert "is a link" in done.left[0][1]
    assert "differs from its manifest" in done.left[1][1]
    assert [record.digest for record in open_store(root).records()] == digests[2:]
    assert (done.kept / "envs" / "maze-1" / "v0" / "source.py").read_text() == "changed"


def test_steps_are_taken_in_order(old):
    root, _ = old
    seen = []

    def first(files):
        seen.append(1)
        return files

    def second(files):
        seen.append(2)
        return to_format_1(files)

    (root / "ENVSTORE.json").write_bytes(b'{"format": 0}\n')
    done = migrate(root, steps={0: first, 1: second, 2: to_format_1}, to=2)
    assert (seen, done.after, format_of(root)) == ([1, 2] * 3, 2, 2)
