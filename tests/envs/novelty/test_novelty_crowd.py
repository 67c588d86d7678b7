"""Crowds: so many of one mould and level come in, and no more, whoever counts."""

import pytest

from envs.novelty.kit_novelty import SIX, SUM, publish
from spade_envs.novelty.crowd import Crowds
from spade_envs.store import open_store
from spade_envs.types import EnvSource


@pytest.fixture
def store(tmp_path):
    return open_store(tmp_path / "store", create=True)


def sums(count, level="10**self.level"):
    return [
        EnvSource(code=SUM.code.replace("= 2, 1", f"= 2, {n}").replace("10**self.level", level))
        for n in range(1, 1 + count)
    ]


def taken(crowds, sources):
    found = []
    for source in sources:
        if crowds.full(source) is None:
            crowds.add(publish(crowds.store, source), source)
            found.append(source)
    return found


def test_a_crowd_takes_so_many(store):
    ten = sums(10)
    assert taken(Crowds(store, 3), ten) == ten[:3]


def test_each_level_and_each_mould_has_its_own_crowd(store):
    crowds = Crowds(store, 1)
    one, other = sums(1), sums(1, "20**self.level")
    mould = [EnvSource(code=SUM.code.replace("self.miss", "self.lose") + TOLD)]
    assert taken(crowds, one + other + mould) == one + other + mould
    assert taken(crowds, sums(2)[1:]) == []


TOLD = """
    def told(self):
        for x in range(3):
            while x:
                x -= 1
        try:
            assert self.a
        finally:
            del self.b
        return [y for y in self.want]
"""


def test_the_next_process_counts_the_same(store):
    ten = sums(10)
    taken(Crowds(store, 4), ten[:3])
    again = Crowds(store, 4)
    again.take(store.records())
    assert taken(again, ten[3:]) == ten[3:4]


def test_what_another_put_there_is_learnt_from_its_source(store):
    ten = sums(3)
    records = [publish(store, source) for source in ten[:2]]
    crowds = Crowds(store, 2)
    crowds.take(records)
    crowds.take(records)  # nothing counts twice
    found = crowds.full(ten[2])
    assert (found.size, found.distance, found.most) == (2, 0, 2)
    assert found.nearest in records
    assert found.nearest.id in found.reason
    assert "--crowd" in found.reason


def test_a_torn_or_foreign_cache_changes_nothing(store):
    ten = sums(3)
    taken(Crowds(store, 2), ten[:2])
    (path,) = (store.root / ".cache").glob("moulds-*")
    path.write_bytes(b'x ["sha256:1",null]\n' + path.read_bytes()[:-20])
    again = Crowds(store, 2)
    again.take(store.records())
    assert again.full(ten[2]).size == 2


def test_what_cannot_be_read_joins_no_crowd(store):
    crowds = Crowds(store, 1)
    crowds.take([publish(store, source) for source in SIX])
    assert crowds.full(EnvSource(code="class")) is None
