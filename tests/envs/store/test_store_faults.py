"""Disks that fail at every step of every writer: nothing is lost, and the error names the mend."""

import contextlib
import errno
import os
import shutil

import numpy as np
import pytest

from envs.store.faults import FAULTS, FailingDisk, Fault, ShortWrites, on
from envs.store.kit import add, report_of, source_of
from envs.store.test_store_strategies import hint
from spade_envs.cli.main import MACHINERY, exit_code
from spade_envs.errors import StorageError, Withdrawn
from spade_envs.ids import EnvId
from spade_envs.memory.embedders import Fingerprint
from spade_envs.memory.vectors import VectorReader, VectorWriter, read_current, write_current
from spade_envs.pipeline.ledger import Ledger, Line
from spade_envs.store import cache, files, insertion, open_store, strategies
from spade_envs.store.gc import Policy, collect
from spade_envs.store.plays import PlayReader, Plays, PlayWriter
from spade_envs.trust.origin import note_origin, origins_of
from spade_envs.trust.seen import Offer, note_offers, seen_digests
from spade_envs.types import Rejection

DIGEST, OTHER = f"sha256:{1:064x}", f"sha256:{2:064x}"
FOUR = Fingerprint(name="four", revision="1", dimension=4, text=1)
BASE = {"spade/maze-v0": 0, "spade/tower-v0": 2}
MOST_STEPS = 200
COMMON = ("disk full", "sync fails", "read fails")


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A store with two environments, plays, a run, and what a killed writer left behind."""
    root = tmp_path_factory.mktemp("base") / "store"
    store = open_store(root, create=True)
    for env_id, number in BASE.items():
        add(store, number, name=env_id.split("/")[1].removesuffix("-v0"))
    PlayWriter(root, "run", fresh=False).append([Plays(digest=DIGEST, plays=1)])
    Ledger(store, "generate-a").append(Line(attempt=0, digest=DIGEST))
    (root / ".staging" / "old" / "new").mkdir(parents=True)
    (root / ".staging" / "old" / "new" / "env.py").write_text("half")
    return root


def publish(store):
    assert store.source(add(store, 5, name="river")).code == source_of(5).code


def publish_next(store):
    assert add(store, 6, name="maze").id == "spade/maze-v1"


def publish_again(store):
    assert add(store, 0, name="maze").id == "spade/maze-v0"


def publish_in_a_large_store(store):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(insertion, "LEAST_BYTES", 0)
        publish(store)


def withdraw(store):
    assert store.withdraw("spade/maze-v0", "too easy").withdrawn.startswith("too easy")


def renew(store):
    record = store.get("spade/tower-v0")
    again = store.renew(record, report_of(source_of(2)), title="A tower", licence="CC0-1.0")
    assert (again.title, again.licence) == ("A tower", "CC0-1.0")


def reindex(store):
    assert store.reindex() == len(BASE)
    assert [line.split(b'"id":"')[1].split(b'"')[0].decode() for line in index_of(store)] == [*BASE]


def index_of(store):
    return (store.root / "index.jsonl").read_bytes().splitlines()


def note_plays(store):
    """Two lines without keys: one that came through twice, or half, shows in the sum."""
    writer = PlayWriter(store.root, "run", fresh=False)
    writer.append([Plays(digest=DIGEST, plays=10), Plays(digest=DIGEST, plays=100)])
    with on(os):
        reader = PlayReader(store.root)
        assert (reader.figures()[DIGEST].plays, reader.passed_over) == (111, 0)


def note_hint(store):
    strategies.add(store.root, hint("Go left."))
    assert [each.text for each in strategies.strategies(store.root)] == ["Go left."]


def note_attempt(store):
    Ledger(store, "generate-a").append(Line(attempt=1, stage="parse", reason="no code"))
    assert [line.attempt for line in Ledger(store, "generate-a").lines()] == [0, 1]


def keep_refused(store):
    kept = store.reject(Rejection(stage="gates", reason="L1.1: no", attempt=0, source=source_of(9)))
    assert (kept / "env.py").read_text() == source_of(9).code


def sweep(store):
    collect(store.root, Policy(staging_s=0.0))
    assert os.listdir(store.root / ".staging") == []


def keep_vectors(store):
    """Whatever a failing disk gives of what was kept is true, and nothing is kept by half."""
    rows = {DIGEST: np.eye(4, dtype=np.float32)[:1], OTHER: np.eye(4, dtype=np.float32)[1:2]}
    write_current(store.root, FOUR)
    writer = VectorWriter(store.root, FOUR)
    for digest, row in rows.items():
        writer.append([digest], row)
        true_ones(VectorReader(store.root, FOUR).new(), rows)
    with on(os):
        assert true_ones(VectorReader(store.root, FOUR).new(), rows) == rows.keys()
        assert read_current(store.root) == FOUR


def true_ones(blocks, rows):
    found = {}
    for block in blocks:
        found |= dict(zip(block.digests, block.rows.tolist(), strict=True))
    assert found.items() <= {digest: row[0].tolist() for digest, row in rows.items()}.items()
    return found.keys()


def note_where_from(store):
    """Notes of other stores that are there already, or torn, stay as they are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", f"{store.root}-state")
        for digest in (OTHER, DIGEST):
            note_origin(store.root, EnvId("maze", 0), digest, "elsewhere")
        note_offers("elsewhere", [Offer(EnvId("maze", 0), DIGEST)])
        with on(os):
            assert [len(origins_of(digest)) for digest in (OTHER, DIGEST)] == [1, 1]
            assert seen_digests("elsewhere") == {"spade/maze-v0": DIGEST}


OPERATIONS = (
    publish,
    publish_next,
    publish_again,
    publish_in_a_large_store,
    withdraw,
    renew,
    reindex,
    note_plays,
    note_hint,
    note_attempt,
    keep_refused,
    sweep,
    keep_vectors,
    note_where_from,
)


def nothing_is_lost(store):
    for env_id, number in BASE.items():
        record = store.get(env_id, withdrawn=True)
        if record.withdrawn is None:
            assert store.source(record).code == source_of(number).code
    errors = [p for p in store.verify(deep=True) if p.severity == "error"]
    assert {problem.kind for problem in errors} <= {"index"}, errors
    assert sum(each.plays for each in PlayReader(store.root).figures().values()) in (1, 111)
    assert Ledger(store, "generate-a").get(0) is not None


def told(error):
    assert type(error) is StorageError
    assert "\n" not in str(error)
    assert " cannot be " in str(error)
    assert "do the same again" in str(error)
    assert exit_code(error) == MACHINERY


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in COMMON else pytest.mark.slow, id=name)
        for name in FAULTS
    ],
)
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.__name__)
def test_a_failure_at_any_step_loses_nothing_and_names_the_mend(base, tmp_path, operation, name):
    failed = 0
    for step in range(MOST_STEPS):
        root = tmp_path / str(step)
        shutil.copytree(base, root)
        store = open_store(root)
        refused = False
        with on(FailingDisk(FAULTS[name], step)) as disk:
            try:
                operation(store)
            except StorageError as error:
                told(error)
                refused = True
        nothing_is_lost(store)
        if refused:
            failed += 1
            operation(store)
            nothing_is_lost(store)
        if not disk.fired:
            break
    else:
        pytest.fail(f"{operation.__name__} takes more than {MOST_STEPS} such calls")
    if name == "disk full" and operation not in (publish_again, sweep):
        assert failed > 0


@pytest.mark.parametrize("name", ["disk full", "full for a moment", "rename fails"])
def test_a_withdrawal_during_a_renewal_outlives_any_failure(base, tmp_path, monkeypatch, name):
    """The tombstone lands in the folder that the renewal is about to replace."""
    exchange = files.exchange
    for step in range(MOST_STEPS):
        root = tmp_path / str(step)
        shutil.copytree(base, root)
        store = open_store(root)
        begun = []

        def withdrawn_then_exchanged(one, other, store=store, begun=begun):
            if not begun:
                begun.append(True)
                with on(os):
                    store.withdraw("spade/tower-v0", "found wrong")
                files.os = disk
            exchange(one, other)

        monkeypatch.setattr(files, "exchange", withdrawn_then_exchanged)
        failing, refused = on(FailingDisk(FAULTS[name], step)), (StorageError, Withdrawn)
        with failing as disk, contextlib.suppress(*refused):
            renew(store)
        if begun:
            assert store.get("spade/tower-v0", withdrawn=True).withdrawn.startswith("found wrong")
        nothing_is_lost(store)
        if not disk.fired:
            break
    assert not disk.fired


def test_what_is_derived_does_not_hold_up_what_is_published(tmp_path, caplog):
    store = open_store(tmp_path / "store", create=True)
    fault = Fault(frozenset({"replace"}), errno.ENOSPC)
    with on(FailingDisk(fault, 0)) as disk:
        record = add(store, 1, name="maze")
    assert disk.fired
    assert "index.jsonl cannot be written: No space left on device; free some space" in caplog.text
    assert open_store(store.root).records() == [record]


def test_a_manifest_that_the_disk_does_not_give_is_not_dropped_from_the_index(base, tmp_path):
    shutil.copytree(base, tmp_path / "store")
    store = open_store(tmp_path / "store")
    before = index_of(store)
    with (
        on(FailingDisk(Fault(frozenset({"pread"}), errno.EIO, lasting=True), 0)),
        pytest.raises(StorageError, match=r"manifest.json cannot be read: Input/output error"),
    ):
        store.reindex()
    assert index_of(store) == before


def test_short_writes_and_reads_change_no_byte(base, tmp_path):
    for place in ("whole", "short"):
        shutil.copytree(base, tmp_path / place)
        with on(ShortWrites() if place == "short" else os):
            store = open_store(tmp_path / place)
            for operation in (publish, publish_next, renew, note_plays, note_attempt):
                operation(store)
    whole, short = (
        {
            path.relative_to(root).as_posix(): path.read_bytes()
            for path in root.rglob("*")
            if path.is_file() and ".staging" not in path.parts
        }
        for root in (tmp_path / "whole", tmp_path / "short")
    )
    assert whole == short


def test_a_line_after_a_torn_one_is_read(base, tmp_path):
    shutil.copytree(base, tmp_path / "store")
    store = open_store(tmp_path / "store")
    ledger = store.root / "ledger" / "generate-a.jsonl"
    with ledger.open("ab") as file:
        file.write(b'{"attempt": 7, "dig')
    Ledger(store, "generate-a").append(Line(attempt=1, digest=DIGEST))
    assert [line.attempt for line in Ledger(store, "generate-a").lines()] == [0, 1]


def test_a_cache_that_cannot_be_kept_stops_nobody(base, tmp_path, caplog, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    shutil.copytree(base, tmp_path / "store")
    root = tmp_path / "store"
    with on(FailingDisk(FAULTS["disk full"], 0)):
        cache.append_line(root, "things-1.jsonl", b"one")
    assert "is not kept" in caplog.text
    cache.append_line(root, "things-1.jsonl", b"two")
    assert cache.read_lines(root, "things-1.jsonl") == [b"two"]


@pytest.mark.parametrize(
    ("number", "mend"),
    [
        (errno.ENOSPC, "free some space there"),
        (errno.EDQUOT, "free some space there"),
        (errno.EROFS, "name a store of your own"),
        (errno.EACCES, "name a store of your own"),
        (errno.ESTALE, "is mounted"),
        (errno.EMFILE, "ulimit -n"),
        (errno.EIO, "copy the store to another disk and run: spade-envs verify"),
    ],
)
def test_every_failure_has_its_mend(base, tmp_path, number, mend):
    with (
        on(FailingDisk(Fault(frozenset({"mkdir"}), number, lasting=True), 0)),
        pytest.raises(StorageError, match=mend) as caught,
    ):
        files.now_ns(base)
    assert caught.value.errno == number


def test_folders_that_cannot_be_synced_are_no_failure(tmp_path):
    """Some shared and some FUSE file systems refuse to sync a folder."""
    store = open_store(tmp_path / "store", create=True)

    class NoFolderSync:
        def __getattr__(self, name):
            return self.fsync if name == "fsync" else getattr(os, name)

        def fsync(self, handle):
            if os.path.isdir(f"/proc/self/fd/{handle}"):
                raise OSError(errno.EINVAL, "Invalid argument")

    with on(NoFolderSync()):
        publish(store)


def test_a_rename_that_a_server_answers_twice_publishes_once(tmp_path):
    """NFS may do what was asked, lose its answer, and then say that there is nothing to rename."""
    store = open_store(tmp_path / "store", create=True)

    class Forgetful:
        def __getattr__(self, name):
            return self.rename if name == "rename" else getattr(os, name)

        def rename(self, old, new):
            os.rename(old, new)
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(old))

    with on(Forgetful()):
        record = add(store, 1, name="maze")
    assert record.id == "spade/maze-v0"
    assert [each.id for each in store.records()] == ["spade/maze-v0"]


def test_a_staging_folder_that_is_swept_under_a_writer_is_made_anew(tmp_path, monkeypatch):
    store = open_store(tmp_path / "store", create=True)
    swept = []
    real = files.write_new

    def swept_once(path, data, *, sync=True):
        if not swept and path.name == "report.json":
            swept.append(len(collect(store.root, Policy(staging_s=0.0))))
        real(path, data, sync=sync)

    monkeypatch.setattr(files, "write_new", swept_once)
    record = add(store, 1, name="maze")
    assert swept == [1]
    assert store.source(record).code == source_of(1).code
