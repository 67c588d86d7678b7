"""Real writers, really killed, whatever they are doing: nothing acknowledged is lost.

Three processes at a time work on one store and are killed at a moment of chance: they publish,
withdraw, correct texts, sweep, rebuild the index and pull from another store. Every second one
treats the store as a large one. Sweeping is as reckless as it can be: it takes every staging
folder, those of its rivals at work included.
"""

import os
import signal
import time

import numpy as np
import pytest

from envs.store.kit import add, report_of, source_of
from spade_envs.errors import StoreError
from spade_envs.sharing.names import Renaming
from spade_envs.sharing.pull import PullOptions, pull
from spade_envs.store import insertion, open_store
from spade_envs.store.gc import Policy, collect

WRITERS = 3
FAR = 3
"""Environments in the store that is pulled from."""
RECKLESS = Policy(staging_s=0.0)


class Writer:
    """What one process does, and what it says it has done: one line for each thing."""

    def __init__(self, root, far, start, pipe):
        self.store, self.far, self.number, self.pipe = open_store(root), far, start, pipe
        self.rng = np.random.default_rng(start)

    def work(self):
        steps = (self.publish, self.publish, self.publish, self.withdraw, self.renew)
        steps = (*steps, self.sweep, self.reindex, self.pull)
        while True:
            step = steps[int(self.rng.integers(len(steps)))]
            try:
                step()
            except StoreError as error:
                # Another one withdrew it, or swept it away three times running.
                if type(error).__name__ not in ("Withdrawn", "StorageError"):
                    self.say("wrong", type(error).__name__, error)

    def say(self, *words):
        os.write(self.pipe, (" ".join(map(str, words)) + "\n").encode())

    def publish(self):
        self.number += 1
        record = add(self.store, self.number, name=f"maze-{self.number % 3}")
        self.say("published", record.id, self.number)

    def _any(self):
        records = [each for each in self.store.records() if each.withdrawn is None]
        return records[int(self.rng.integers(len(records)))] if len(records) > 4 else None

    def withdraw(self):
        if (record := self._any()) is not None:
            self.store.withdraw(record.id, "for a reason")
            self.say("withdrew", record.id)

    def renew(self):
        if (record := self._any()) is not None:
            source = self.store.source(record)
            self.store.renew(record, report_of(source), title=f"Title {self.number}")

    def sweep(self):
        collect(self.store.root, RECKLESS)

    def reindex(self):
        self.store.reindex()

    def pull(self):
        self.number += 1
        options = PullOptions(renaming=Renaming(namespace=f"team{self.number}"), jobs=1)
        for outcome in pull(str(self.far), self.store, options).of("new"):
            number = outcome.id.removeprefix("spade/far-").removesuffix("-v0")
            self.say("published", outcome.placed, -1 - int(number))


def spawn(root, far, start):
    """Start a writer; give its process id and the stream of what it has finished."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            insertion.LEAST_BYTES = 0 if start // 10_000 % 2 else insertion.LEAST_BYTES
            Writer(root, far, start, writing).work()
        finally:
            os._exit(1)
    os.close(writing)
    return pid, os.fdopen(reading)


def campaign(tmp_path, kills):
    """Kill so many writers; give the store and all that they had acknowledged."""
    far = open_store(tmp_path / "far", create=True)
    for number in range(FAR):
        add(far, -1 - number, name=f"far-{number}")
    store = open_store(tmp_path / "store", create=True)
    rng = np.random.default_rng(0)
    said = []
    killed = 0
    while killed < kills:
        start = (1 + killed) * 10_000
        writers = [
            spawn(store.root, far.root, start + 100_000_000 * place) for place in range(WRITERS)
        ]
        for pid, stream in writers:
            said += [stream.readline() for _ in range(rng.integers(4))]
            time.sleep(float(rng.uniform(0.0, 0.02)))
            os.kill(pid, signal.SIGKILL)
            killed += 1
        for pid, stream in writers:
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
            with stream:
                said += stream.readlines()
        wrong = [each for each in store.verify_quick()[1] if each.severity == "error"]
        assert {each.kind for each in wrong} <= {"index"}, wrong
    return store, [tuple(line.split()) for line in said]


def all_is_there(store, said):
    assert [words for words in said if words[0] == "wrong"] == []
    collect(store.root, RECKLESS)  # puts back what a killed renewal had taken away
    withdrawn = {words[1] for words in said if words[0] == "withdrew"}
    published = {words[1]: int(words[2]) for words in said if words[0] == "published"}
    for env_id in withdrawn:
        assert store.get(env_id, withdrawn=True).withdrawn.startswith("for a reason")
    for env_id, number in published.items():
        record = store.get(env_id, withdrawn=True)
        if record.withdrawn is None:
            assert store.source(record).code == source_of(number).code
    assert store.reindex() == len(store.records())
    assert store.verify(deep=True) == []
    names = [(record.id.rsplit("-v", 1)[0], record.digest) for record in store.records()]
    assert len(set(names)) == len(names)
    return published, withdrawn


@pytest.fixture
def _own_folders(tmp_path, monkeypatch):
    for name in ("STATE", "CONFIG", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / "home" / name.lower()))


@pytest.mark.usefixtures("_own_folders")
def test_a_dozen_kills_lose_nothing(tmp_path):
    store, said = campaign(tmp_path, 12)
    published, _ = all_is_there(store, said)
    assert len(published) >= 3


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.usefixtures("_own_folders")
def test_two_hundred_kills_lose_nothing(tmp_path):
    store, said = campaign(tmp_path, 200)
    published, withdrawn = all_is_there(store, said)
    assert len(published) >= 40
    assert len(withdrawn) >= 5
    assert any(env_id.startswith("spade/team") for env_id in published)
