"""How much of a store is read to take what is new in it."""

import pytest

from envs.sharing.places import PLACES
from envs.store.kit import PROVENANCE, report_of, source_of
from spade_envs.sharing import pull, push

COUNT, NEW = 100, 1


def fill(store, numbers):
    for number in numbers:
        source = source_of(number)
        store.add(source, report_of(source), PROVENANCE, refresh=False)
    store.reindex()


@pytest.mark.parametrize(
    "kind", ["memory", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("folder", "git"))]
)
def test_one_percent_of_new_versions_is_one_percent_of_the_bytes(kind, stores, tmp_path):
    alice, bob, _ = stores
    with PLACES[kind](tmp_path) as place:
        fill(alice, range(COUNT))
        push(place, alice)
        whole = pull(place, bob)
        assert len(whole.of("new")) == COUNT
        fill(alice, range(COUNT, COUNT + NEW))
        given = push(place, alice)
        taken = pull(place, bob)
    assert (len(given.of("new")), len(taken.of("new"))) == (NEW, NEW)
    assert len(taken.of("same")) == COUNT
    assert 0.009 < taken.bytes_moved / whole.bytes_moved < 0.011
    assert 0.009 < given.bytes_moved / whole.bytes_moved < 0.011
