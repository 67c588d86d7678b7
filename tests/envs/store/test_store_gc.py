"""`gc` removes what nothing can reach, and nothing else, whatever the clocks say."""

import json
import os
import shutil
import time

import pytest
from click.testing import CliRunner

from envs.store.kit import add, report_of, source_of
from spade_envs.cli.main import cli
from spade_envs.errors import StoreError, Withdrawn
from spade_envs.store import files, open_store
from spade_envs.store.cache import append_line
from spade_envs.store.gc import DAY_S, Policy, collect, find_waste
from spade_envs.types import Rejection

ALL = Policy(staging_s=0.0, caches=frozenset(), rejected_s=0.0, quarantine_s=0.0)


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    opened = open_store(tmp_path / "store", create=True)
    add(opened, 0, name="maze")
    add(opened, 1, name="maze")
    opened.withdraw("spade/maze-v0", "too easy")
    return opened


def left_behind(store, name="old", age_s=2 * DAY_S):
    folder = store.root / ".staging" / name / "new"
    folder.mkdir(parents=True)
    (folder / "env.py").write_text("half")
    aged(folder.parent, age_s)
    return folder.parent


def aged(path, age_s):
    then = time.time() - age_s
    for each in [path, *path.rglob("*")]:
        os.utime(each, (then, then))


def paths(found):
    return [waste.path for waste in found]


def test_only_what_is_old_goes_from_staging(store):
    left_behind(store, "young", 10.0)
    left_behind(store, "old")
    grows = left_behind(store, "grows")
    (grows / "new" / "report.json").write_text("just now")
    aged_root = grows / "new"
    os.utime(aged_root, (0, 0))
    assert paths(collect(store.root, Policy())) == [".staging/old"]
    assert sorted(os.listdir(store.root / ".staging")) == ["grows", "young"]


def test_what_comes_from_the_future_stays(store):
    left_behind(store, "ahead", -3600.0)
    assert find_waste(store.root, ALL) == []


def test_ages_are_by_the_clock_of_the_file_system(store, monkeypatch):
    """The clock of this machine is a week ahead of the one that stamps the files."""
    left_behind(store, "young", 10.0)
    ahead_s = time.time() + 7 * DAY_S
    monkeypatch.setattr(time, "time", lambda: ahead_s)
    monkeypatch.setattr(time, "time_ns", lambda: int(ahead_s * 1e9))
    assert find_waste(store.root, Policy()) == []


def test_no_version_tombstone_or_ledger_goes_even_if_everything_may(store):
    (store.root / "ledger").mkdir()
    (store.root / "ledger" / "plays-a.jsonl").write_text("{}\n")
    (store.root / "envs" / "stopped").mkdir()
    (store.root / "envs" / "stray.txt").write_text("somebody's")
    store.reject(Rejection(stage="parse", reason="no code", attempt=0))
    append_line(store.root, "old-1.jsonl", b"one")
    kept = store.root / "quarantine" / "0123456789ab"
    kept.mkdir(parents=True)
    (kept / "0.data").write_bytes(b"x" * 5000)
    aged(store.root, 9 * DAY_S)
    before = {path for path in store.root.rglob("*") if path.is_file()}
    found = collect(store.root, ALL)
    assert [waste.kind for waste in found] == ["empty", "cache", "rejected", "quarantine"]
    assert found[-1].size == 5000
    gone = before - {path for path in store.root.rglob("*") if path.is_file()}
    assert {path.relative_to(store.root).parts[0] for path in gone} == {
        ".cache",
        "rejected",
        "quarantine",
    }
    assert [record.id for record in store.records()] == ["spade/maze-v0", "spade/maze-v1"]
    with pytest.raises(Withdrawn, match="too easy"):
        store.get("spade/maze-v0")


def test_refusals_and_quarantine_go_by_age_and_only_on_request(store):
    for age_days in (1, 40):
        for place in ("rejected", "quarantine"):
            folder = store.root / place / f"{age_days:012d}"
            folder.mkdir(parents=True)
            aged(folder, age_days * DAY_S)
    assert find_waste(store.root, Policy()) == []
    month = Policy(rejected_s=30 * DAY_S, quarantine_s=30 * DAY_S)
    assert paths(find_waste(store.root, month)) == [
        "rejected/000000000040",
        "quarantine/000000000040",
    ]


def test_caches_in_use_stay(store):
    cache = store.root / ".cache"
    for path in ("memory/hashed-1/a.vec", "memory/other-2/b.vec", "memory/embedder.json"):
        (cache / path).parent.mkdir(parents=True, exist_ok=True)
        (cache / path).write_text("x")
    (cache / "programs-1.jsonl").write_text("old")
    (cache / "programs-3.jsonl").write_text("used")
    used = frozenset({"programs-3.jsonl", "memory/embedder.json", "memory/hashed-1"})
    found = collect(store.root, Policy(staging_s=0.0, caches=used))
    assert paths(found) == [".cache/memory/other-2", ".cache/programs-1.jsonl"]
    assert (cache / "memory" / "hashed-1" / "a.vec").exists()


def test_links_are_removed_and_never_followed(store, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter").write_text("dear")
    (store.root / ".staging" / "link").symlink_to(tmp_path / "mine")
    assert paths(collect(store.root, ALL)) == [".staging/link"]
    (store.root / "rejected").symlink_to(tmp_path / "mine")
    assert collect(store.root, ALL) == []
    assert (tmp_path / "mine" / "letter").read_text() == "dear"


def test_a_tombstone_that_a_killed_renewal_took_away_is_put_back(store, monkeypatch):
    """The worst moment: withdrawn while it is renewed, and the renewing writer then dies."""
    record = store.get("spade/maze-v1")
    real = files.exchange

    def withdrawn_then_killed(one, other):
        store.withdraw(record.id, "found wrong")
        real(one, other)
        raise KeyboardInterrupt

    monkeypatch.setattr(files, "exchange", withdrawn_then_killed)
    monkeypatch.setattr(files.shutil, "rmtree", lambda path, ignore_errors=False: None)
    with pytest.raises(KeyboardInterrupt):
        store.renew(record, report_of(source_of(1)), title="Another")
    monkeypatch.undo()
    assert store.get(record.id).withdrawn is None
    assert len(collect(store.root, Policy(staging_s=0.0))) >= 1
    with pytest.raises(Withdrawn, match="found wrong"):
        store.get(record.id)


def test_two_sweepers_at_once_remove_each_thing_once(store, monkeypatch):
    left_behind(store, "one")
    left_behind(store, "two")
    found = find_waste(store.root, Policy())
    rivals = collect(store.root, Policy())
    monkeypatch.setattr("spade_envs.store.gc.find_waste", lambda root, policy: found)
    assert (len(rivals), collect(store.root, Policy())) == (2, [])


def test_a_full_disk_can_be_swept(store, monkeypatch):
    from envs.store.faults import FAULTS, FailingDisk, on

    left_behind(store, "old")
    with on(FailingDisk(FAULTS["disk full"], 0)):
        assert paths(collect(store.root, Policy())) == [".staging/old"]


def run(*arguments):
    return CliRunner().invoke(cli, ["gc", *map(str, arguments)])


def test_the_command_says_what_would_go_and_then_removes_it(store):
    left_behind(store, "old")
    dry = run("--store", store.root, "--dry-run", "--json")
    document = json.loads(dry.stdout)
    assert dry.exit_code == 0
    assert (document["removed"], document["bytes"]) == (False, 4)
    assert [item["path"] for item in document["items"]] == [".staging/old"]
    assert (store.root / ".staging" / "old").exists()
    done = run("--store", store.root)
    assert "1 thing removed, 0.0 MiB" in done.stderr
    assert not (store.root / ".staging" / "old").exists()
    assert json.loads(run("--store", store.root, "--json").stdout)["items"] == []


def test_the_command_keeps_the_caches_that_are_read(store):
    from spade_envs.memory import open_memory

    open_memory(store, "hashed").refresh()
    shutil.copytree(
        store.root / ".cache" / "memory", store.root / ".cache" / "memory" / "another-00"
    )
    append_line(store.root, "programs-1.jsonl", b"old")
    append_line(store.root, "programs-3.jsonl", b"used")
    document = json.loads(
        run("--store", store.root, "--caches", "--older-than", "0", "--json").stdout
    )
    assert [item["path"] for item in document["items"]] == [
        ".cache/memory/another-00",
        ".cache/programs-1.jsonl",
    ]


def test_a_read_only_store_can_only_be_looked_at(store, monkeypatch):
    left_behind(store, "old")
    monkeypatch.setattr(type(store), "read_only", property(lambda self: True))
    assert json.loads(run("--store", store.root, "--dry-run", "--json").stdout)["bytes"] == 4
    refused = run("--store", store.root)
    assert isinstance(refused.exception, StoreError)
    assert "read-only" in str(refused.exception)


@pytest.mark.parametrize("option", ["--older-than", "--rejected", "--quarantine"])
@pytest.mark.parametrize("value", ["-1", "nan", "soon"])
def test_ages_that_are_none_are_refused(store, option, value):
    assert run("--store", store.root, option, value).exit_code == 2
