"""Real writers, really killed: 50 SIGKILLs while publishing leave nothing half-written."""

import os
import signal
import time

import numpy as np

from envs.store.kit import add, source_of
from spade_envs.store import open_store

KILLS = 50


def _write_for_ever(root, start, pipe):
    """Publish until killed; each finished version is acknowledged in one line."""
    store = open_store(root)
    for number in range(start, start + 10_000):
        record = add(store, number, name=f"maze-{number % 3}")
        os.write(pipe, f"{record.id} {number}\n".encode())


def _spawn(root, start):
    """Start a writer; give its process id and the stream of what it has finished."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            _write_for_ever(root, start, writing)
        finally:
            os._exit(1)
    os.close(writing)
    return pid, os.fdopen(reading)


def test_fifty_kills_corrupt_nothing(tmp_path):
    root = tmp_path / "store"
    store = open_store(root, create=True)
    add(store, 0)
    rng = np.random.default_rng(0)
    acknowledged = []
    # The two rivals of a round write the same contents under the same names.
    for start in range(0, KILLS // 2 * 10_000, 10_000):
        writers = [_spawn(root, start) for _ in range(2)]
        for pid, stream in writers:
            acknowledged += [stream.readline() for _ in range(rng.integers(3))]
            time.sleep(float(rng.uniform(0.0, 0.02)))
            os.kill(pid, signal.SIGKILL)
        for pid, stream in writers:
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
            with stream:
                acknowledged += stream.readlines()

    records = {record.id: record for record in store.records()}
    for env_id, number in map(str.split, acknowledged):
        assert store.source(records[env_id]).code == source_of(int(number)).code
    assert len(acknowledged) >= KILLS // 5
    names = [(record.id.rsplit("-v", 1)[0], record.digest) for record in records.values()]
    assert len(set(names)) == len(names)
    errors = [p for p in store.verify(deep=True) if p.severity == "error"]
    assert {problem.kind for problem in errors} <= {"index"}
    assert store.reindex() == len(records)
    assert [p for p in store.verify(deep=True) if p.severity == "error"] == []
