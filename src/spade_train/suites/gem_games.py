r"""Games of GEM (`gem-llm`), whose actions are `\boxed{...}`; loaded in a killable process.

A game ends with a return of 1 if it was won; what was reached of it is the value.
"""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from spade_envs.errors import ConfigError
from spade_train.suites.arena_moves import first, hanoi, safe_cell
from spade_train.suites.base import Said
from spade_train.suites.games import Games, named
from spade_train.suites.standins import standing_in

GEM = (
    "GuessTheNumber-v0-hard",
    "Mastermind-v0-hard",
    "Minesweeper-v0-easy",
    "Sudoku-v0-easy",
    "TowerofHanoi-v0-easy",
    "Sokoban-v0-easy",
    "Crosswords-v0-easy",
    "Game2048-v0-easy",
)
_MAX_TURNS = 100
_WON = 1.0 - 1e-6
"""Returns are sums of parts, such as sixteen sixteenths."""


def gem(*, games: Sequence[str] | str = GEM, episodes: int = 20) -> Games:
    """Return games of GEM; the return, cut to [0, 1], is the value, and 1 a success.

    Raises:
        ConfigError: a game is not one of GEM's, or no number of episodes.
    """
    with standing_in("reasoning_gym", factory=SimpleNamespace(DATASETS={})):
        # The package registers those datasets too, which are a suite of their own here.
        library = importlib.import_module("gem")
    known = importlib.import_module("gem.envs.registration").ENV_REGISTRY
    chosen = named(games)
    if unknown := [each for each in chosen if f"game:{each}" not in known]:
        there = ", ".join(each.removeprefix("game:") for each in known if each.startswith("game:"))
        raise ConfigError(f"GEM has no game {unknown[0]!r}; known are {there}")
    return Games("gem", "gem-llm", chosen, episodes, Gem(library), _MAX_TURNS)


class Gem:
    """The library, as what begins games."""

    def __init__(self, library: Any) -> None:
        self._library = library

    def begin(self, name: str, seed: int) -> tuple[GemGame, str]:
        """Start a game; return it and what is seen."""
        seed_all(seed)  # the constructor draws, too
        env = self._library.make(f"game:{name}")
        seen, info = env.reset(seed=seed)
        return GemGame(env, name.partition("-")[0]), _shown(seen, info)


class GemGame:
    """One game under way.

    Its games draw from the process's two generators, which they seed at the start. Each finds them
    here as it left them, so that games under way at once do not disturb each other.
    """

    def __init__(self, env: Any, kind: str) -> None:
        self._env, self._kind, self._drawn = env, kind, drawn()
        self._return = 0.0
        self.over, self.won = False, False

    @property
    def value(self) -> float:
        """The return so far, in [0, 1]."""
        return min(1.0, max(0.0, self._return))

    def act(self, said: Said) -> str:
        """Hand the reply to the game as it is."""
        put_back(self._drawn)
        seen, reward, terminated, truncated, info = self._env.step(said)
        self._drawn = drawn()
        self._return += float(reward)
        self.over = bool(terminated or truncated)
        self.won = bool(terminated) and self._return >= _WON
        return _shown(seen, info)

    def reference(self) -> Said | None:
        """Return the action of one who sees the hidden state; None for games that take search."""
        known = _REFERENCES.get(self._kind)
        return None if known is None else f"\\boxed{{{known(self._env)}}}"

    def random(self, rng: random.Random) -> Said:
        """Return a random action, as the game itself makes them if it does."""
        if (own := _RANDOM.get(self._kind)) is not None:
            return f"\\boxed{{{own(self._env, rng)}}}"
        before = drawn()
        seed_all(rng.getrandbits(31))
        said = str(self._env.sample_random_action())
        put_back(before)
        inside = said.removeprefix("\\boxed{").removesuffix("}").strip("[]")
        return f"\\boxed{{{inside}}}"


def seed_all(seed: int) -> None:
    """Seed both generators of the process."""
    random.seed(seed)
    importlib.import_module("numpy").random.seed(seed)


def drawn() -> tuple[Any, Any]:
    """Return the state of both generators."""
    return random.getstate(), importlib.import_module("numpy").random.get_state()


def put_back(state: tuple[Any, Any]) -> None:
    """Set both generators."""
    random.setstate(state[0])
    importlib.import_module("numpy").random.set_state(state[1])


def _hanoi(env: Any) -> str:
    return " ".join(hanoi(env.board))


def _sudoku(env: Any) -> str:
    row, column = first(env.board, lambda r, c: env.board[r][c] == 0)
    return f"{row + 1} {column + 1} {env.full_grid[row][column]}"


def _minesweeper(env: Any) -> str:
    row, column = safe_cell(env)
    return f"reveal {row} {column}"


def _crosswords(env: Any) -> str:
    row, column = first(env.board, lambda r, c: env.board[r][c] == "_")
    return f"{row} {column} {str(env.solution[row][column]).upper()}"


_REFERENCES: Mapping[str, Callable[[Any], str]] = {
    "GuessTheNumber": lambda env: str(env.game_number),
    "Mastermind": lambda env: " ".join(map(str, env.game_code)),
    "TowerofHanoi": _hanoi,
    "Sudoku": _sudoku,
    "Minesweeper": _minesweeper,
    "Crosswords": _crosswords,
}

_RANDOM: Mapping[str, Callable[[Any, random.Random], str]] = {
    "Sudoku": lambda env, rng: " ".join(str(rng.randint(1, env.scale)) for _ in range(3)),
    "TowerofHanoi": lambda env, rng: " ".join(rng.sample("ABC", 2)),
}


def _shown(seen: Any, info: Mapping[str, Any]) -> str:
    suffix = info.get("suffix")
    return f"{seen}\n{suffix}" if suffix else str(seen)
