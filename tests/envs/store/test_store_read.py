import json
import logging
import os
import shutil

import pytest

from envs.store.kit import add
from spade_envs.errors import (
    ConfigError,
    Corrupt,
    FormatTooNew,
    IdError,
    NotFound,
    SpadeError,
    StoreError,
    Withdrawn,
)
from spade_envs.manifest import canonical_json, stamp
from spade_envs.store import default_path, discover, locate, open_store


@pytest.fixture
def store(tmp_path):
    return open_store(tmp_path / "store", create=True)


def test_open_store_says_what_is_missing(tmp_path):
    with pytest.raises(NotFound, match="not an envstore"):
        open_store(tmp_path / "nothing")
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ConfigError, match="not empty"):
        open_store(tmp_path, create=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes.txt"]


@pytest.mark.parametrize(
    ("marker", "error"),
    [
        (b'{"format": 2, "namespace": "spade"}', FormatTooNew),
        (b'{"format": 99, "anything": []}', FormatTooNew),
        (b'{"format": "1", "namespace": "spade"}', Corrupt),
        (b'{"format": true, "namespace": "spade"}', Corrupt),
        (b'{"format": 1, "namespace": "other"}', Corrupt),
        (b'{"format": 1, "namespace": "spade", "run": "x"}', Corrupt),
        (b'{"format": 1, "format": 1, "namespace": "spade"}', Corrupt),
        (b"[1]", Corrupt),
        (b"\xff\xfe", Corrupt),
        (b"[" * 100_000, Corrupt),
    ],
)
def test_odd_markers_are_refused(store, marker, error):
    (store.root / "ENVSTORE.json").write_bytes(marker)
    with pytest.raises(error, match=r"ENVSTORE\.json"):
        open_store(store.root)


def test_get_by_id_name_digest_and_prefix(store):
    record = add(store, 1, name="maze")
    add(store, 2, name="alice.maze")
    for ref in ("spade/maze-v0", "maze-v0", "spade/maze", "maze", record.digest):
        assert store.get(ref) == record
    assert store.get(record.digest[7:19]) == record
    assert store.get(record.digest[:30]) == record
    assert store.get("alice.maze").id == "spade/alice.maze-v0"


def test_get_helps_after_a_slip(store):
    add(store, 1, name="graph-colouring")
    made = add(store, 2)
    add(store, 3, name="graph-colouring")
    with pytest.raises(NotFound, match="did you mean 'graph-colouring'"):
        store.get("graph-coloring")
    with pytest.raises(NotFound, match=f"did you mean '{made.id[6:-3]}'"):
        store.get("spade/maez")
    with pytest.raises(NotFound, match=r"has no v5 in .*; it has v0, v1"):
        store.get("graph-colouring-v5")
    with pytest.raises(NotFound, match="digest"):
        store.get("0123456789ab")
    with pytest.raises(IdError, match="not an environment id"):
        store.get("../../etc/passwd")


def test_a_name_of_hexadecimal_digits_is_a_name(store):
    assert add(store, 1, name="abcdefabcdef").id == store.get("abcdefabcdef").id


def test_newest_version_skips_withdrawn_ones(store):
    for number in range(3):
        add(store, number, name="maze")
    store.withdraw("maze-v2", "bad")
    assert store.get("maze").id == "spade/maze-v1"
    store.withdraw("maze-v0", "bad")
    store.withdraw("maze-v1", "worse")
    with pytest.raises(Withdrawn, match="every version of maze was withdrawn"):
        store.get("maze")
    assert store.get("maze-v1", withdrawn=True).withdrawn.startswith("worse")


def test_changed_source_is_refused(store):
    record = add(store, 1, name="maze")
    path = store.root / "envs/maze/v0/env.py"
    path.write_text(path.read_text() + "# harmless?\n")
    with pytest.raises(Corrupt, match="differs from its manifest"):
        store.source(record)
    assert [(p.kind, p.severity) for p in store.verify()] == [("source", "error")]
    path.unlink()
    with pytest.raises(Corrupt, match="missing"):
        store.source(record)


def test_changed_report_is_refused(store):
    record = add(store, 1, name="maze")
    path = store.root / "envs/maze/v0/report.json"
    path.write_text(path.read_text().replace("40 of 40", "41 of 41"))
    with pytest.raises(Corrupt, match="differs from its manifest"):
        store.report(record)
    assert [p.kind for p in store.verify()] == ["report"]


def test_another_content_in_the_place_of_a_record_is_refused(store):
    record = add(store, 1, name="maze")
    shutil.rmtree(store.root / "envs/maze/v0")
    add(store, 2, name="maze")
    with pytest.raises(Corrupt, match="was asked for"):
        store.source(record)


def _edit(path, change):
    manifest = json.loads(path.read_text("utf-8"))
    manifest.pop("seal", None)  # whoever edits on purpose drops it; the schema has to hold
    change(manifest)
    path.write_bytes(canonical_json(manifest))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.update(surprise=1), "surprise"),
        (lambda m: m["interface"].update(levels=9), "digest"),
        (lambda m: m["interface"].update(levels="4"), "levels"),
        (lambda m: m["interface"].update(levels=0), "levels"),
        (lambda m: m["interface"].update(extra=1), "extra"),
        (lambda m: m["interface"].pop("tools"), "tools"),
        (lambda m: m["files"].update({"../../x.py": {"sha256": "0" * 64, "size": 1}}), "env.py"),
        (lambda m: m.update(files={}), "env.py"),
        (lambda m: m["files"]["env.py"].update(size=-1), "size|digest"),
        (lambda m: m.update(id="spade/other-v0"), "other"),
        (lambda m: m.update(id="spade/Maze-v0"), "Maze"),
        (lambda m: m.update(digest="sha256:" + "0" * 64), "digest"),
        (lambda m: m.update(digest=m["digest"].upper()), "digest"),
        (lambda m: m.pop("licence"), "licence"),
        (lambda m: m.pop("provenance"), "provenance"),
        (lambda m: m["provenance"].update(created="now"), "created"),
        (lambda m: m.update(title="two\nlines"), "title"),
        (lambda m: m.update(format=0), "format"),
        (lambda m: m.update(skills="optimization"), "skills"),
    ],
)
def test_hostile_manifests_are_refused(store, change, message):
    record = add(store, 1, name="maze")
    _edit(store.root / "envs/maze/v0/manifest.json", change)
    with pytest.raises(SpadeError, match=message):
        store.manifest(record)
    problems = [p for p in store.verify() if p.kind == "manifest"]
    assert len(problems) == 1
    assert "envs/maze/v0/manifest.json" in problems[0].path


def test_newer_manifests_ask_for_an_upgrade(store):
    record = add(store, 1, name="maze")
    _edit(store.root / "envs/maze/v0/manifest.json", lambda m: m.update(format=2, new=[]))
    for read in (lambda: store.get("maze"), lambda: store.manifest(record)):
        with pytest.raises(FormatTooNew, match=r"format 2.*pip install -U"):
            read()


@pytest.mark.parametrize(
    "data",
    [b"", b"null", b"[]", b'{"id": 1, "id": 2}', b'{"format": NaN}', b"\xff", b"[" * 99_999,
     b'{"format": ' + b"9" * 5000 + b"}", b'{"format": 1e999}', b" " * (2 << 20)],
    ids=["empty", "null", "list", "twice", "nan", "utf8", "deep", "digits", "inf", "huge"],
)  # fmt: skip
def test_broken_manifests_never_crash_a_reader(store, data, caplog):
    good = add(store, 2, name="good")
    record = add(store, 1, name="maze")
    (store.root / "envs/maze/v0/manifest.json").write_bytes(data)
    (store.root / "index.jsonl").unlink()
    with pytest.raises(SpadeError):
        store.get("maze")
    with pytest.raises(SpadeError):
        store.source(record)
    with caplog.at_level(logging.WARNING):
        assert store.records() == [good]
    assert "spade/maze-v0 is left out" in caplog.text


def test_links_are_never_followed(store, tmp_path):
    record = add(store, 1, name="maze")
    folder = store.root / "envs/maze/v0"
    for name in ("env.py", "manifest.json", "report.json"):
        outside = tmp_path / name
        shutil.move(folder / name, outside)
        (folder / name).symlink_to(outside)
        with pytest.raises(Corrupt, match="link"):
            store.source(record) if name == "env.py" else store.report(record)
        assert "unknown" in {problem.kind for problem in store.verify()}
        (folder / name).unlink()
        shutil.move(outside, folder / name)
    assert store.verify() == []
    shutil.move(folder, tmp_path / "v0")
    folder.symlink_to(tmp_path / "v0")
    assert store.records() == []
    with pytest.raises(NotFound):
        store.get("maze")


def test_pipes_in_the_place_of_files_do_not_hang(store):
    record = add(store, 1, name="maze")
    path = store.root / "envs/maze/v0/env.py"
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(Corrupt, match="not a regular file"):
        store.source(record)


def test_a_tombstone_that_cannot_be_read_still_withdraws(store):
    add(store, 1, name="maze")
    path = store.root / "envs/maze/v0/WITHDRAWN.json"
    for content in (b"", b"[]", b'{"reason": 3}'):
        path.write_bytes(content)
        with pytest.raises(Withdrawn, match="no readable reason"):
            store.get("maze-v0")
    path.unlink()
    path.symlink_to("/nowhere")
    with pytest.raises(Withdrawn):
        store.get("maze-v0")
    assert [record.withdrawn for record in store.records()] == ["no readable reason given"]
    assert "tombstone" in {problem.kind for problem in store.verify()}


def test_unknown_files_are_flagged(store):
    add(store, 1, name="maze")
    for path in ("notes.txt", "envs/stray.py", "envs/maze/v0/extra.py", "envs/maze/v01/x"):
        (store.root / path).parent.mkdir(exist_ok=True)
        (store.root / path).write_text("x")
    (store.root / "envs/Maze").mkdir()
    flagged = {problem.path for problem in store.verify() if problem.kind == "unknown"}
    assert flagged == {
        "notes.txt", "envs/stray.py", "envs/maze/v0/extra.py", "envs/maze/v01", "envs/Maze",
    }  # fmt: skip


def test_a_read_only_store_works_without_writes(store, monkeypatch):
    record = add(store, 1, name="maze")
    (store.root / "index.jsonl").unlink()
    before = sorted(store.root.rglob("*"))
    monkeypatch.setattr("os.access", lambda *_, **__: False)
    assert store.read_only
    assert store.records() == [record]
    assert store.source(store.get("maze")).code
    for write in (
        lambda: add(store, 2),
        lambda: store.withdraw("maze", "bad"),
        store.reindex,
    ):
        with pytest.raises(StoreError, match="read-only"):
            write()
    assert sorted(store.root.rglob("*")) == before


def test_default_store_is_found_in_order(tmp_path, monkeypatch):
    monkeypatch.delenv("SPADE_ENVSTORE", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    assert default_path().name == "envstore"
    assert default_path() != work / "envstore"
    open_store("envstore", create=True)
    assert default_path() == work / "envstore"
    assert discover()[0] == work / "envstore"
    monkeypatch.setenv("SPADE_ENVSTORE", str(tmp_path / "mine"))
    assert default_path() == tmp_path / "mine"
    monkeypatch.setenv("SPADE_ENVSTORE", "")
    assert discover() == ()


def test_locate_looks_into_every_discovered_store(tmp_path, monkeypatch):
    store = open_store(tmp_path / "mine", create=True)
    record = add(store, 1, name="maze")
    monkeypatch.setenv("SPADE_ENVSTORE", str(store.root))
    assert locate("maze") == record
    assert locate(record.digest).store == store.root
    with pytest.raises(NotFound, match="did you mean 'maze'"):
        locate("mazee")
    monkeypatch.setenv("SPADE_ENVSTORE", "")
    with pytest.raises(NotFound, match="no envstore"):
        locate("maze")


def test_size_and_hash_are_both_vouched_for():
    assert stamp(b"abc").size == 3
    assert stamp(b"abc").sha256.startswith("ba7816bf")
