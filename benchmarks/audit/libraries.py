"""The libraries as their own users call them; nothing of spade_envs is used here."""

from __future__ import annotations

import importlib
import os
import random
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

MISSING = {
    "reasoning-gym": "pip install reasoning-gym",
    "textarena": "pip install textarena",
    "gem": "pip install gem-llm",
    "rlve": "set RLVE_CHECKOUT to a checkout of RLVE and install torch and networkx",
}
RLVE_LIMIT_S = 9.5
"""A little less than the time after which RLVE gives a generator up."""
RLVE_STEPS = 4
"""Steps of RLVE's own controller that make up one level of the report."""


class Unavailable(Exception):
    """A library is not installed; the message says what to do."""


@dataclass(frozen=True)
class Item:
    """One question of one turn."""

    question: str
    answer: str | None
    score: Callable[[str], float]
    """From an answer to what the library pays for it; 1.0 is everything."""


class Game(Protocol):
    """One episode of many turns."""

    first: str

    def say(self, text: str) -> tuple[str, float, bool]:
        """Return reply, reward and whether the game is over."""


def items(library: str, name: str, count: int, seed: int, level: int = 0) -> list[Item]:
    """Return `count` questions with consecutive seeds."""
    module(library)
    make = {"reasoning-gym": _reasoning_gym, "rlve": _rlve}[library]
    return make(name, count, seed, level)


def game(library: str, name: str, seed: int) -> Game:
    """Return a game that has just begun."""
    module(library)
    return {"textarena": _TextArena, "gem": _Gem}[library](name, seed)


def single_turn(library: str) -> bool:
    """Whether the library asks questions of one turn."""
    return library in ("reasoning-gym", "rlve")


def module(library: str) -> Any:
    """Return the library's module.

    Raises:
        Unavailable: it is not installed.
    """
    name = {
        "reasoning-gym": "reasoning_gym",
        "textarena": "textarena",
        "gem": "gem",
        "rlve": "Gym.environments",
    }[library]
    root = os.environ.get("RLVE_CHECKOUT")
    if library == "rlve" and root and root not in sys.path:
        sys.path.insert(0, root)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(name)
    except ImportError as error:
        raise Unavailable(f"{library}: {error}; {MISSING[library]}") from None


def _reasoning_gym(name: str, count: int, seed: int, level: int) -> list[Item]:
    data = module("reasoning-gym").create_dataset(name, seed=seed, size=count)
    found = []
    for index in range(count):
        entry = data[index]

        def score(text: str, entry: Any = entry) -> float:
            return float(data.score_answer(text, entry=entry))

        answer = entry["answer"]
        found.append(Item(entry["question"], None if answer is None else str(answer), score))
    return found


def _rlve(name: str, count: int, seed: int, level: int, *, attempts: int = 5) -> list[Item]:
    made = module("rlve").identifier2environment
    controllers = importlib.import_module("Gym.parameter_controllers").identifier2controller
    controller = controllers[name]()
    for _ in range(RLVE_STEPS * level):
        controller.update()
    parameters = controller.get_parameter_list()
    found = []
    for number in range(seed, seed + attempts * count):
        if len(found) == count:
            break
        task = made[name]()
        if not task.generator(number, random.Random(number).choice(parameters)):
            continue

        def score(text: str, task: Any = task) -> float:
            verdict = task.verifier(f"<answer>{text}</answer>")
            return 1.0 if verdict["accuracy"] else max(0.0, min(float(verdict["reward"]), 0.999))

        answer = task.parameter.get("reference_answer")
        found.append(Item(task.prompt_generator(), None if answer is None else str(answer), score))
    return found


def rlve_timeouts(name: str, level: int, seeds: Sequence[int], most: int = 3) -> int:
    """Make problems until `most` generators ran into RLVE's own time limit; gives how many did."""
    found = 0
    for seed in seeds:
        begun = time.monotonic()
        _rlve(name, 1, seed, level, attempts=1)
        found += time.monotonic() - begun > RLVE_LIMIT_S
        if found == most:
            break
    return found


class _TextArena:
    def __init__(self, name: str, seed: int) -> None:
        self._game = module("textarena").make(name)
        self._game.reset(num_players=1, seed=seed)
        self.first = str(self._game.get_observation()[1])

    def say(self, text: str) -> tuple[str, float, bool]:
        done, _ = self._game.step(text)
        if not done:
            return str(self._game.get_observation()[1]), 0.0, False
        rewards, facts = self._game.close()
        return str(facts[0].get("reason", "")), float(rewards[0]), True


class _Gem:
    def __init__(self, name: str, seed: int) -> None:
        self._game = module("gem").make(name)
        self.first = str(self._game.reset(seed=seed)[0])

    def say(self, text: str) -> tuple[str, float, bool]:
        reply, reward, terminated, truncated, _ = self._game.step(text)
        return str(reply), float(reward), bool(terminated or truncated)
