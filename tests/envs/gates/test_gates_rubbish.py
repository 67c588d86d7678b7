"""Garbage is collected less often during a check, and as before once the last one is over."""

import gc

import pytest

from spade_envs.gates.rubbish import rarely_collected


@pytest.fixture(autouse=True)
def _restored():
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_the_thresholds_hold_again_after_the_last_of_several():
    gc.set_threshold(701, 11, 12)
    with rarely_collected():
        with rarely_collected():
            assert gc.get_threshold() == (50_000, 11, 12)
        assert gc.get_threshold()[0] == 50_000
    assert gc.get_threshold() == (701, 11, 12)


def test_an_error_restores_them_too():
    gc.set_threshold(702, 10, 10)
    with pytest.raises(KeyError), rarely_collected():
        raise KeyError
    assert gc.get_threshold()[0] == 702


@pytest.mark.parametrize("first", [0, 90_000])
def test_who_collects_never_or_more_rarely_is_left_alone(first):
    gc.set_threshold(first, 10, 10)
    with rarely_collected():
        assert gc.get_threshold()[0] == first
