"""Vectors on disk: whole blocks or none, whoever writes, whatever is written over them."""

import json
import os
import shutil
import signal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.memory.kit_memory import digest
from spade_envs.errors import ConfigError, Corrupt, StoreError
from spade_envs.memory.embedders import Fingerprint
from spade_envs.memory.vectors import (
    VectorReader,
    VectorWriter,
    drop_others,
    place_of,
    read_current,
    write_current,
)

FOUR = Fingerprint(name="four", revision="1", dimension=4, text=1)


def unit_rows(count, dimension=4, seed=0):
    rows = np.random.default_rng(seed).standard_normal((count, dimension)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def read(root, fingerprint=FOUR):
    return {
        name: row.tolist()
        for block in VectorReader(root, fingerprint).new()
        for name, row in zip(block.digests, block.rows, strict=True)
    }


def the_file(root):
    (path,) = (root / place_of(FOUR)).iterdir()
    return path


def test_what_was_written_is_read_and_each_block_once(tmp_path):
    rows = unit_rows(5)
    first, second = VectorWriter(tmp_path, FOUR), VectorWriter(tmp_path, FOUR)
    first.append([digest(0), digest(1)], rows[:2])
    second.append([digest(2)], rows[2:3])
    reader = VectorReader(tmp_path, FOUR)
    assert sum(len(block.digests) for block in reader.new()) == 3
    assert list(reader.new()) == []
    first.append([digest(3), digest(4)], rows[3:])
    (block,) = reader.new()
    assert block.digests == (digest(3), digest(4))
    assert (block.rows == rows[3:]).all()
    assert read(tmp_path) == {digest(n): rows[n].tolist() for n in range(5)}


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=5), st.data())
def test_any_cut_and_any_flipped_bit_leaves_whole_true_blocks(tmp_path_factory, sizes, data):
    root = tmp_path_factory.mktemp("cut")
    rows = unit_rows(sum(sizes))
    truth = {digest(n): row.tolist() for n, row in enumerate(rows)}
    writer, at, ends = VectorWriter(root, FOUR), 0, []
    for size in sizes:
        writer.append([digest(at + n) for n in range(size)], rows[at : at + size])
        at += size
        ends.append(the_file(root).stat().st_size)
    path = the_file(root)
    whole = path.read_bytes()

    cut = data.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:cut])
    blocks = sum(end <= cut for end in ends)
    assert read(root) == dict(list(truth.items())[: sum(sizes[:blocks])])

    place = data.draw(st.integers(0, len(whole) - 1))
    flipped = bytearray(whole)
    flipped[place] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(bytes(flipped))
    found = read(root)
    assert found.items() <= truth.items()
    first_bad = sum(end <= place for end in ends)
    # a block whose padding was hit is still true
    assert len(found) in (sum(sizes[:first_bad]), sum(sizes))


def test_a_file_of_another_embedder_gives_nothing(tmp_path, caplog):
    other = Fingerprint(name="four", revision="2", dimension=4, text=1)
    VectorWriter(tmp_path, other).append([digest(0)], unit_rows(1))
    shutil.copytree(tmp_path / place_of(other), tmp_path / place_of(FOUR))
    assert read(tmp_path) == {}
    assert "not of this embedder" in caplog.text
    assert read(tmp_path, other).keys() == {digest(0)}


@pytest.mark.parametrize(
    "rows",
    [
        np.array([[np.nan, 0, 0, 0]]),
        np.array([[np.inf, 0, 0, 0]]),
        np.array([[3.0, 0, 0, 0]]),
        np.array([[1e30, 1e30, 0, 0]]),
        np.zeros((1, 5)),
        np.zeros(4),
    ],
)
def test_what_is_no_unit_vector_is_neither_written_nor_read(tmp_path, rows, monkeypatch):
    with pytest.raises(ConfigError):
        VectorWriter(tmp_path, FOUR).append([digest(0)], rows)
    assert not (tmp_path / ".cache").exists()

    if rows.shape == (1, 4):  # a poisoned file whose checksums are right
        monkeypatch.setattr("spade_envs.memory.vectors._sound", lambda rows: True)
        VectorWriter(tmp_path, FOUR).append([digest(0)], rows)
        monkeypatch.undo()
        assert read(tmp_path) == {}


def test_digests_and_rows_must_belong_together(tmp_path):
    writer = VectorWriter(tmp_path, FOUR)
    with pytest.raises(ConfigError, match="2 digests for 1"):
        writer.append([digest(0), digest(1)], unit_rows(1))
    with pytest.raises(ConfigError, match="not a digest"):
        writer.append(["maze"], unit_rows(1))
    writer.append([], np.zeros((0, 4)))
    assert not (tmp_path / ".cache").exists()


@pytest.mark.parametrize("junk", [b"", b"x", b"SPADEVEC1\n", os.urandom(5000)])
def test_junk_is_passed_over(tmp_path, junk):
    VectorWriter(tmp_path, FOUR).append([digest(1)], unit_rows(1))
    (tmp_path / place_of(FOUR) / "v-000000000000.vec").write_bytes(junk)
    (tmp_path / place_of(FOUR) / "notes.txt").write_bytes(junk)
    os.mkfifo(tmp_path / place_of(FOUR) / "v-000000000001.vec")
    (tmp_path / place_of(FOUR) / "v-000000000002.vec").symlink_to("/dev/zero")
    assert read(tmp_path).keys() == {digest(1)}


def test_no_link_leads_out_of_the_store(tmp_path):
    (tmp_path / "store" / ".cache").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    (tmp_path / "store" / ".cache" / "memory").symlink_to(tmp_path / "out")
    with pytest.raises(Corrupt, match="link"):
        VectorWriter(tmp_path / "store", FOUR).append([digest(0)], unit_rows(1))
    assert list((tmp_path / "out").iterdir()) == []
    assert read(tmp_path / "store") == {}


def test_a_writer_whose_folder_is_no_folder_says_so(tmp_path):
    (tmp_path / ".cache").write_bytes(b"")
    with pytest.raises(StoreError, match="cannot be written"):
        VectorWriter(tmp_path, FOUR).append([digest(0)], unit_rows(1))


def test_what_comes_after_a_failed_write_is_read(tmp_path, monkeypatch):
    writer = VectorWriter(tmp_path, FOUR)
    writer.append([digest(0)], unit_rows(1))

    def full(file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match="No space left"):
        writer.append([digest(1)], unit_rows(1))
    monkeypatch.undo()
    for path in (tmp_path / place_of(FOUR)).iterdir():
        os.truncate(path, path.stat().st_size - 3)  # half of it came down
    writer.append([digest(2)], unit_rows(1))
    assert read(tmp_path).keys() == {digest(0), digest(2)}


@pytest.mark.parametrize(
    "name", ["", "sha256:", "sha256:" + "A" * 64, "sha256:" + "a" * 62, "sha256: " + "a" * 64]
)
def test_what_is_no_digest_is_refused(tmp_path, name):
    with pytest.raises(ConfigError, match="not a digest"):
        VectorWriter(tmp_path, FOUR).append([name], unit_rows(1))


def test_the_current_embedder_is_noted_and_others_are_dropped(tmp_path):
    other = Fingerprint(name="Five ../..", revision="2", dimension=4, text=1)
    assert read_current(tmp_path) is None
    VectorWriter(tmp_path, other).append([digest(0)], unit_rows(1))
    VectorWriter(tmp_path, FOUR).append([digest(1)], unit_rows(1))
    write_current(tmp_path, FOUR)
    drop_others(tmp_path, FOUR)
    assert read_current(tmp_path) == FOUR
    assert read(tmp_path).keys() == {digest(1)}
    assert read(tmp_path, other) == {}
    assert "/" not in other.folder
    assert ".." not in other.folder


@pytest.mark.parametrize(
    "note",
    [
        b"",
        b"[]",
        b"{}",
        b"\xff",
        json.dumps({"name": "\x1b[2J", "revision": "1", "dimension": 4, "text": 1}).encode(),
        json.dumps({"name": 3, "revision": "1", "dimension": 4, "text": 1}).encode(),
        json.dumps({"name": "a", "revision": "1", "dimension": "4", "text": 1}).encode(),
        json.dumps({"name": "a", "revision": "1", "dimension": 4, "text": 1, "x": 1}).encode(),
        json.dumps({"name": "hashed", "revision": "1", "dimension": 0, "text": 1}).encode(),
        json.dumps({"name": "hashed", "revision": "1", "dimension": 16_385, "text": 1}).encode(),
    ],
)
def test_a_note_that_cannot_be_read_is_none(tmp_path, note):
    write_current(tmp_path, FOUR)
    (tmp_path / ".cache/memory/embedder.json").write_bytes(note)
    assert read_current(tmp_path) is None


ALL = unit_rows(10_000, seed=7)


def _write_for_ever(root, start, pipe):
    writer = VectorWriter(root, FOUR)
    for at in range(start, 10_000, 7):
        names = [digest(n) for n in range(at, min(at + 7, 10_000))]
        writer.append(names, ALL[at : at + 7])
        os.write(pipe, f"{at}\n".encode())
    os.kill(os.getpid(), signal.SIGSTOP)


def test_killed_writers_never_give_a_wrong_vector(tmp_path):
    rng = np.random.default_rng(0)
    acknowledged = []
    for round_ in range(8):
        writers = []
        for rival in range(2):
            reading, writing = os.pipe()
            pid = os.fork()
            if pid == 0:
                try:
                    _write_for_ever(tmp_path, 500 * round_ + rival, writing)
                finally:
                    os._exit(1)
            os.close(writing)
            writers.append((pid, os.fdopen(reading)))
        for pid, stream in writers:
            acknowledged += [int(stream.readline()) for _ in range(rng.integers(1, 6))]
            os.kill(pid, signal.SIGKILL)
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
            with stream:
                acknowledged += [int(line) for line in stream.readlines()]

    found = read(tmp_path)
    for name, row in found.items():
        assert row == ALL[int(name[7:], 16)].tolist()
    assert len(acknowledged) >= 16
    assert {digest(at + n) for at in acknowledged for n in range(7)} <= found.keys()


def test_a_reader_beside_a_writer_sees_true_vectors_only(tmp_path):
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            writer = VectorWriter(tmp_path, FOUR)
            for at in range(0, 10_000, 50):
                writer.append([digest(n) for n in range(at, at + 50)], ALL[at : at + 50])
        finally:
            os._exit(0)
    os.close(writing)
    reader, seen = VectorReader(tmp_path, FOUR), []
    while len(seen) < 10_000:
        ended = os.waitpid(pid, os.WNOHANG)[0] == pid
        for block in reader.new():
            for name, row in zip(block.digests, block.rows, strict=True):
                seen.append(int(name[7:], 16))
                assert (row == ALL[seen[-1]]).all()
        if ended:
            break
    os.close(reading)
    assert seen == list(range(10_000))
