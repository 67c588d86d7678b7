import copy
import pickle

import gymnasium as gym
import pytest

from spade_envs.spaces import AnyText


@pytest.mark.parametrize("text", ["", "a b", "a\nb", "🙂", "漢字", "\x00", "\ud800", "x" * 100_000])
def test_every_str_is_inside(text):
    assert text in AnyText()


@pytest.mark.parametrize("value", [None, 3, b"bytes", ["a"], "x" * 11])
def test_everything_else_and_what_is_too_long_is_outside(value):
    assert value not in AnyText(10)


def test_samples_are_inside_and_follow_the_seed():
    one, two = AnyText(8, seed=3), AnyText(8, seed=3)
    samples = [one.sample() for _ in range(20)]
    assert samples == [two.sample() for _ in range(20)]
    assert all(sample in one for sample in samples)
    assert len(set(samples)) > 1


def test_copies_are_equal():
    space = AnyText(7)
    assert pickle.loads(pickle.dumps(space)) == space == copy.deepcopy(space)
    assert space != AnyText(8)
    assert hash(space) == hash(AnyText(7))


def test_batching_gives_tuples_of_text():
    batch = gym.vector.utils.batch_space(AnyText(), 3)
    assert ("a b", "", "é") in batch


def test_json_round_trip():
    space = AnyText()
    assert space.from_jsonable(space.to_jsonable(["a", "é"])) == ["a", "é"]


@pytest.mark.parametrize("arguments", [{"mask": 1}, {"probability": 1}])
def test_masks_are_refused(arguments):
    with pytest.raises(ValueError, match="neither mask nor probability"):
        AnyText().sample(**arguments)


def test_a_negative_length_is_refused():
    with pytest.raises(ValueError, match=">= 0"):
        AnyText(-1)
