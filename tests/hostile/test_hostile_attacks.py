"""Every attack, as the user who runs the tests (usually root in containers)."""

import sys

import pytest

from hostile.arena import Arena, Attack, missed
from hostile.attacks_inside import INSIDE
from hostile.attacks_outside import OUTSIDE
from hostile.attacks_resources import RESOURCES

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox needs Linux")

ATTACKS = OUTSIDE + RESOURCES + INSIDE


@pytest.fixture(scope="module")
def arena():
    arena = Arena()
    yield arena
    arena.close()


def test_there_are_enough_attacks_with_different_names():
    names = [attack.name for attack in ATTACKS]
    assert len(names) == len(set(names))
    assert len(names) >= 80


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name.replace(" ", "-"))
def test_nothing_gets_out_and_a_fresh_reset_works(arena: Arena, attack: Attack):
    faults = arena.run(attack)
    kinds = [fault.kind for fault in faults if fault is not None]
    assert not missed(attack, kinds), faults
