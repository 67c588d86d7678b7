"""Environments without a reference are compared on the actions that they show."""

import pytest

from envs.gates.subjects import judge
from spade_envs.gates.determinism import reproducible, unmoved_by_neighbours
from spade_envs.gates.policies import commands

SLIDING = '''
import random

from spade_envs.api import TextEnv

SHARED = random.Random()


class Sliding(TextEnv):
    """Slide tiles; a new one appears after each move that is understood."""

    max_turns = 10

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.rng = GENERATOR
        self.rng.seed(self.draw_int(0, 2**31 - 1))
        return "Moves are [Up], [Down].", {}

    def step(self, action):
        if action not in ("[Up]", "[Down]"):
            return self.go_on("No such move.")
        return self.go_on(f"A tile appears at {self.rng.randint(1, 100000)}.")
'''
ALONE = SLIDING.replace("GENERATOR", "random.Random()")
TOGETHER = SLIDING.replace("GENERATOR", "SHARED")


@pytest.mark.parametrize(("code", "outcome"), [(ALONE, "pass"), (TOGETHER, "fail")])
def test_a_generator_that_only_moves_draw_from_is_seen(code, outcome):
    assert judge(code, unmoved_by_neighbours).outcome == outcome
    assert judge(code, reproducible).outcome == outcome


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[GAME] Moves: [Up], [Down], [Up].\n[0] 75", ("[Up]", "[Down]")),
        (
            "Say 'up' or 'down' in \\boxed{...}. For example: \\boxed{up}",
            ("\\boxed{up}", "\\boxed{down}"),
        ),
        ("Say `north`.", ("north",)),
        ("Find the number.", ()),
    ],
)
def test_shown_commands_are_picked(text, shown):
    assert commands(text) == shown
