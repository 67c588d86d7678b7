"""What others would have said about the same sources.

Both run in the sandboxed worker. The published validator is written anew from a description of its
rules; its rule about the class name is left out, since it would refuse three quarters of the sound
environments for their base class.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from benchmarks.defects.bench import Side

FIXED_ACTIONS = ("test", "1", "\\boxed{42}")
"""Three actions that stand for the fixed ones of the published validator."""
REWARDS = (-10.0, 10.0)
GUESSES = 20
MAX_GUESSED = 0.15


@dataclass(frozen=True)
class Baselines:
    """Whether each baseline refuses a source."""

    published: bool
    published_guess: bool
    """The same with its optional random-guess test."""
    check_env: bool


def judge(side: Side) -> Baselines:
    """Return what the baselines say about a loaded source."""
    refused = _published(side)
    return Baselines(refused, refused or _guessed(side), _check_env(side))


def _published(side: Side) -> bool:
    """Two resets, three fixed actions, shapes and types, rewards in [-10, 10]."""
    with side.open((0, 42)) as live:
        for _ in range(2):
            if live.start.fault is not None or not live.start.observation:
                return True
            for action in FIXED_ACTIONS:
                step = live.step(action)
                if step.fault is not None:
                    return not step.fault.message.startswith("ResetNeeded")
                if not REWARDS[0] <= step.reward <= REWARDS[1]:
                    return True
                if step.done:
                    break
            live.reset(43)
    return False


def _guessed(side: Side) -> bool:
    """Whether random guesses win more than fifteen in a hundred episodes."""
    rng = random.Random(0)
    won = 0
    for seed in range(GUESSES):
        words = side.play((0, seed), []).start.observation.split() or ["1"]
        guess = rng.choice([str(rng.randint(0, 100)), rng.choice(words), rng.choice("ABCD")])
        won += side.play((0, seed), [f"\\boxed{{{guess}}}"]).won
    return won > MAX_GUESSED * GUESSES


def _check_env(side: Side) -> bool:
    answer = side.probe((0, 42), "check_env")
    return not isinstance(answer, dict) or answer.get("error") is not None
