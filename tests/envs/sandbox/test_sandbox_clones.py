"""Clones are deep copies, only quicker; what cannot be pickled is copied the slow way."""

import copy
import pickle
import threading

import numpy as np
import pytest

from spade_envs.sandbox.clones import clones


class Game:
    def __init__(self):
        self.rng = np.random.default_rng(7)
        self.again = self.rng
        self.state = {"cards": [3, 1, 2], "seen": {"a"}}
        self.met = lambda state: state["cards"] == []
        self.kind = Game
        self.self_state = self.state


def test_clones_share_functions_and_classes_and_nothing_else():
    game = Game()
    one, two = clones(game, 2)
    one.state["cards"].append(9)
    assert (game.state["cards"], two.state["cards"]) == ([3, 1, 2], [3, 1, 2])
    assert one.self_state is one.state
    assert one.met is game.met
    assert one.kind is Game


def test_a_clone_draws_what_a_deep_copy_draws():
    game = Game()
    game.rng.integers(9, size=3)
    slow, (quick,) = copy.deepcopy(game), clones(game, 1)
    assert quick.rng is quick.again
    drawn = [list(one.rng.integers(1_000_000, size=5)) for one in (game, slow, quick)]
    assert drawn[0] == drawn[1] == drawn[2]


def test_a_clone_can_be_copied_pickled_and_spawn_generators():
    (quick,) = clones(Game(), 1)
    slow, stored = copy.deepcopy(quick.rng), pickle.loads(pickle.dumps(quick.rng))
    drawn = {one.integers(1_000_000) for one in (Game().rng, quick.rng, slow, stored)}
    assert len(drawn) == 1
    (child,) = quick.rng.spawn(1)
    assert child.integers(1_000_000) != drawn.pop()


def test_what_cannot_be_pickled_is_copied_and_what_cannot_be_copied_raises():
    class Shy:
        def __reduce_ex__(self, protocol):
            raise TypeError("not pickled")

        def __deepcopy__(self, memo):
            return Shy()

    game = Game()
    game.shy = Shy()
    (twin,) = clones(game, 1)
    assert twin.shy is not game.shy
    game.lock = threading.Lock()
    with pytest.raises(TypeError):
        clones(game, 1)
