"""Vectors of texts that were asked for lately: made once, right in any order, few."""

import numpy as np
import pytest

from envs.memory.kit_memory import Axes
from spade_envs.errors import ClientError
from spade_envs.memory.recent import RecentVectors


def test_what_is_held_is_not_made_anew_and_every_text_gets_its_own_row():
    axes = Axes("ferry train")
    recent = RecentVectors(axes)
    assert recent.of(["ferry", "train", "ferry"]).tolist() == [[1, 0], [0, 1], [1, 0]]
    assert recent.of(["train", "ferry train", "ferry"]).tolist() == [
        [0, 1],
        [pytest.approx(0.5**0.5)] * 2,
        [1, 0],
    ]
    assert axes.asked == ["ferry", "train", "ferry train"]
    assert recent.of([]).shape == (0, 2)


def test_what_was_not_asked_for_longest_goes_first():
    axes = Axes("a b c")
    recent = RecentVectors(axes, most=2)
    recent.of(["a"])
    recent.of(["b"])
    recent.of(["a"])
    assert recent.of(["a", "b", "c"]).tolist() == np.eye(3).tolist()  # more than are held
    axes.asked.clear()
    recent.of(["b", "c"])
    assert axes.asked == []
    recent.of(["a"])
    assert axes.asked == ["a"]


class Wide(Axes):
    """Vectors of a length that is told."""

    def __init__(self, dimension):
        super().__init__("")
        self._length = dimension

    @property
    def dimension(self):
        return self._length

    def embed(self, texts):
        self.asked += texts
        rows = np.zeros((len(texts), self._length), dtype=np.float32)
        rows[:, 0] = 1
        return rows


@pytest.mark.parametrize(
    ("dimension", "held"), [(384, 4096), (1024, 4096), (4096, 1024), (16384, 256)]
)
def test_long_vectors_are_held_in_as_many_bytes_as_short_ones(dimension, held):
    wide = Wide(dimension)
    recent = RecentVectors(wide)
    texts = [str(number) for number in range(held + 50)]
    for start in range(0, len(texts), 256):
        assert recent.of(texts[start : start + 256]).shape[1] == dimension
    wide.asked.clear()
    recent.of(texts[-held:])
    assert wide.asked == []
    recent.of(texts[:1])
    assert wide.asked == texts[:1]


def test_a_vector_that_is_longer_than_the_room_is_made_and_not_held():
    wide = Wide(8)
    recent = RecentVectors(wide, most_bytes=31)
    for _ in range(2):
        assert recent.of(["a", "a"]).tolist() == [[1] + [0] * 7] * 2
    assert wide.asked == ["a", "a"]


def test_a_failing_embedder_leaves_nothing_behind():
    class Failing(Axes):
        def embed(self, texts):
            if "b" in texts:
                raise ClientError("the server is away")
            return super().embed(texts)

    axes = Failing("a b")
    recent = RecentVectors(axes)
    with pytest.raises(ClientError, match="away"):
        recent.of(["a", "b"])
    assert recent.of(["a"]).tolist() == [[1, 0]]
    assert axes.asked == ["a"]


def test_what_the_caller_does_to_its_rows_changes_nothing_held():
    recent = RecentVectors(Axes("a b"))
    recent.of(["a"])[0] = 7
    assert recent.of(["a"]).tolist() == [[1, 0]]


def test_texts_that_are_no_unicode_are_told_apart():
    axes = Axes("a b")
    RecentVectors(axes).of(["a \ud800", "a \ud801"])
    assert len(axes.asked) == 2
