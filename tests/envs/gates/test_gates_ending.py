"""L1.4: what ends an episode, the game or who plays it."""

from types import SimpleNamespace

import pytest

from spade_envs.gates.interface import always_ends
from spade_envs.gates.trace import Trace
from spade_envs.types import Interface, ResetOutcome, StepOutcome

LIMIT = 3


def episode(turns, **end):
    steps = [("x", StepOutcome("and?")) for _ in range(turns - 1)]
    return Trace(0, 0, ResetOutcome(observation="Go."), (*steps, ("x", StepOutcome("so.", **end))))


def subject(traces, *, library=()):
    return SimpleNamespace(
        interface=Interface(entry="Game", kind="text", max_turns=LIMIT),
        edge_levels=[0],
        seeds=[1, 2],
        silent_episodes=lambda levels, seeds: traces[:1],
        plain=SimpleNamespace(run=lambda jobs, fresh: traces[1:]),
        trusted_imports=library,
    )


ENDLESS = [episode(LIMIT, truncated=True)] * 5
"""A silent agent, one that repeats itself, one that echoes, and two that act at random."""
MIXED = [
    episode(LIMIT, truncated=True),
    episode(LIMIT, terminated=True),
    episode(LIMIT, terminated=True, truncated=True),
    episode(2, truncated=True),
    episode(1, terminated=True),
]


@pytest.mark.parametrize(
    ("traces", "library", "message"),
    [
        (
            ENDLESS,
            ("game",),
            "within 3 turns; 5 of 5 only because the wrapper stops them there",
        ),
        (MIXED, ("game",), "within 3 turns; 1 of 5 only because the wrapper stops them there"),
        (MIXED[1:3] + MIXED[1:4], ("game",), "within 3 turns"),
        (ENDLESS, (), "within 3 turns"),  # the base class is the environment's own
    ],
)
def test_a_library_whose_game_never_ends_is_told_from_one_that_does(traces, library, message):
    found = always_ends(subject(traces, library=library))
    assert (found.outcome, found.message) == ("pass", f"every episode ends {message}")


def test_an_episode_that_goes_on_fails():
    found = always_ends(subject([episode(LIMIT + 1), *ENDLESS[1:]], library=("game",)))
    assert found.outcome == "fail"
    assert "after 4 turns the episode of an agent that says nothing has not ended" in found.message
