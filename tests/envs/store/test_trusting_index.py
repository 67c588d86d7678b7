"""The fast reading at import: the index is believed about folders that are older than it."""

import os
import time

import pytest

from envs.store.kit import add
from spade_envs.store import index, open_store


@pytest.fixture
def store(tmp_path):
    opened = open_store(tmp_path / "store", create=True)
    add(opened, 0, name="maze")
    add(opened, 1, name="tower")
    hour_ago = time.time() - 3600
    for folder in (opened.root / "envs").iterdir():
        os.utime(folder, (hour_ago, hour_ago))
    return opened


def ids(store):
    return [line.id for line in index.load(store.root, trusting=True)]


def test_an_index_that_is_true_is_believed(store):
    assert ids(store) == ["spade/maze-v0", "spade/tower-v0"]


def test_what_a_killed_writer_published_after_the_index_is_seen(store):
    add(store, 2, name="maze", refresh=False)
    add(store, 3, name="river", refresh=False)
    assert ids(store) == ["spade/maze-v0", "spade/maze-v1", "spade/river-v0", "spade/tower-v0"]


def test_what_was_published_while_the_index_was_being_made_is_seen(store):
    begun_ns = time.time_ns()
    lines = index.load(store.root)
    add(store, 2, name="maze", refresh=False)
    index.write_index(store.root, lines, scanned_at_ns=begun_ns)
    assert ids(store) == ["spade/maze-v0", "spade/maze-v1", "spade/tower-v0"]


def test_a_line_without_a_folder_is_passed_over(store):
    (store.root / "envs" / "maze").rename(store.root / "away")
    assert ids(store) == ["spade/tower-v0"]


def test_a_withdrawal_reaches_the_index(store):
    store.withdraw("spade/maze-v0", "wrong")
    (line, _) = index.load(store.root, trusting=True)
    assert line.withdrawn.startswith("wrong")


def test_without_an_index_the_folders_are_read(store):
    (store.root / "index.jsonl").unlink()
    assert ids(store) == ["spade/maze-v0", "spade/tower-v0"]
