"""Certifying a version anew and correcting its texts, in place."""

import contextlib
import dataclasses

import pytest

from envs.store.kit import Killed, add, interrupted, report_of, source_of
from spade_envs.errors import Corrupt, NotCertified, Withdrawn
from spade_envs.gates import GATES_VERSION
from spade_envs.store import files, open_store

NEW = {GATES_VERSION: lambda report: ()}


@pytest.fixture
def store(tmp_path):
    return open_store(tmp_path / "store", create=True)


@pytest.fixture
def record(store):
    return add(store, 1, name="maze", skills=["optimization"], title="A maze", licence="MIT")


def newer(number=1, **changes):
    return report_of(source_of(number), gates_version=GATES_VERSION, **changes)


def test_a_version_of_older_gates_is_noted_until_it_is_renewed(store, record):
    (noted,) = store.verify(deep=True, gates=NEW)
    assert (noted.severity, noted.kind) == ("note", "report")
    assert f"version 1 of the gates, not by {GATES_VERSION}" in noted.message
    assert "import spade/maze-v0 --store" in noted.message
    before = store.manifest(record)
    again = store.renew(record, newer())
    assert again == record
    assert store.report(again) == newer()
    after = store.manifest(again)
    assert after.report.gates_version == GATES_VERSION
    assert (after.provenance, after.title, after.skills) == (
        before.provenance,
        "A maze",
        ("optimization",),
    )
    assert store.verify(deep=True, gates=NEW) == []


def test_what_was_withdrawn_needs_no_certificate(store, record):
    store.withdraw(record.id, "too easy")
    assert store.verify(deep=True, gates=NEW) == []
    with pytest.raises(Withdrawn, match="too easy"):
        store.renew(record, newer())


def test_texts_are_corrected_and_the_report_of_the_same_gates_stays(store, record):
    (store.root / "envs" / "maze" / "v0" / "CARD.md").write_text("mine")
    slower = report_of(source_of(1), elapsed_s=9.0)
    again = store.renew(record, slower, licence="CC0-1.0", skills=["classification"])
    assert (again.licence, again.skills, again.title) == ("CC0-1.0", ("classification",), "A maze")
    assert (again.id, again.digest) == (record.id, record.digest)
    assert store.report(again).elapsed_s == 0.0
    assert store.records() == [again]
    assert (store.root / "envs" / "maze" / "v0" / "CARD.md").read_text() == "mine"
    assert store.verify(deep=True) == []


def test_nothing_is_written_if_nothing_changes(store, record):
    manifest = store.root / "envs" / "maze" / "v0" / "manifest.json"
    before = manifest.stat().st_ino
    assert store.renew(record, report_of(source_of(1)), licence="MIT") == record
    assert manifest.stat().st_ino == before


def test_only_the_same_content_is_renewed(store, record):
    with pytest.raises(NotCertified, match="another source"):
        store.renew(record, newer(2))
    report = newer()
    deeper = dataclasses.replace(report.interface, levels=5)
    with pytest.raises(NotCertified, match="another interface"):
        store.renew(record, dataclasses.replace(report, interface=deeper))
    (store.root / "envs" / "maze" / "v0" / "env.py").write_text("x = 1\n")
    with pytest.raises(Corrupt):
        store.renew(record, newer())


def test_a_withdrawal_meanwhile_is_not_lost(store, record, monkeypatch):
    exchange = files.exchange

    def first_withdrawn(one, other):
        (other / "WITHDRAWN.json").write_text('{"at": "2026-01-02T03:04:05Z", "reason": "leaks"}')
        exchange(one, other)

    monkeypatch.setattr(files, "exchange", first_withdrawn)
    with pytest.raises(Withdrawn, match="leaks"):
        store.renew(record, newer())
    assert [line.withdrawn is not None for line in store.records()] == [True]


def test_a_writer_that_is_killed_leaves_the_old_or_the_new(store, record):
    old, new = report_of(source_of(1)), newer()
    for survive in range(60):
        with interrupted(survive) as dying, contextlib.suppress(Killed):
            store.renew(record, new)
        assert store.report(record) in (old, new)
        assert [p for p in store.verify(deep=True) if p.severity == "error"] == []
        if not dying.dead:
            break
    assert not dying.dead
    assert store.report(record) == new


def test_the_versions_with_a_content_are_found(store, record):
    other = add(store, 1, name="labyrinth")
    add(store, 2, name="maze")
    store.withdraw(other.id, "twice")
    interface = report_of(source_of(1)).interface
    found = store.holding(source_of(1), interface)
    assert [one.id for one in found] == ["spade/labyrinth-v0", "spade/maze-v0"]
    assert store.holding(source_of(3), interface) == []
    assert store.holding(source_of(1), dataclasses.replace(interface, levels=5)) == []
