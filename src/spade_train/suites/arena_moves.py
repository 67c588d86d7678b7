"""What one who sees the hidden state does in games of TextArena and GEM, and random moves there.

The ceiling and the floor of these games; none of it is part of what a policy is shown.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

Cell: TypeAlias = tuple[int, int]


def first(board: Sequence[Sequence[Any]], fits: Callable[[int, int], bool]) -> Cell:
    """Return the first cell, by rows, that fits; the corner if none does."""
    cells = ((r, c) for r, row in enumerate(board) for c in range(len(row)))
    return next((cell for cell in cells if fits(*cell)), (0, 0))


def safe_cell(env: Any) -> Cell:
    """Return a cell of a minefield that is neither known nor mined."""
    return first(env.grid, lambda r, c: env.grid[r][c] != -1 and not env.revealed[r][c])


def hanoi(towers: Mapping[str, Sequence[int]], target: str = "C") -> tuple[str, str]:
    """Return the next move, from and to, of the shortest way to bring all disks to one tower."""
    place = {disk: tower for tower, disks in towers.items() for disk in disks}
    move = (target, target)
    for disk in sorted(place, reverse=True):
        if place[disk] != target:
            move = (place[disk], target)
            (target,) = set("ABC") - set(move)
    return move


def way(
    grid: Sequence[Sequence[str]], start: Cell, goal: Cell, moves: Mapping[str, Cell]
) -> str | None:
    """Return the first move of a shortest way that enters no `H`; None if there is no way."""
    waiting, seen = deque([(start, "")]), {start}
    while waiting:
        (row, column), begun = waiting.popleft()
        if (row, column) == goal:
            return begun or None
        for name, (down, right) in moves.items():
            place = (row + down, column + right)
            inside = 0 <= place[0] < len(grid) and 0 <= place[1] < len(grid)
            if inside and place not in seen and grid[place[0]][place[1]] != "H":
                seen.add(place)
                waiting.append((place, begun or name))
    return None


def presses(lights: Sequence[Sequence[bool]]) -> list[Cell]:
    """Return cells whose pressing, in any order, turns all lights off; none if nothing does.

    A press turns over a cell and its neighbours, so this solves linear equations modulo 2, a cell's
    as the bits of the presses that reach it and one bit more for whether it is lit.
    """
    size = len(lights)
    count = size * size
    rows = []
    for row in range(size):
        for column in range(size):
            near = ((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1))
            reach = ((row + down, column + right) for down, right in near)
            bits = sum(1 << (r * size + c) for r, c in reach if 0 <= r < size and 0 <= c < size)
            rows.append(bits | int(lights[row][column]) << count)
    done: dict[int, int] = {}
    for place in range(count):
        pivot = next((each for each in rows if each >> place & 1), None)
        if pivot is None:
            continue
        rows.remove(pivot)
        rows = [each ^ pivot if each >> place & 1 else each for each in rows]
        done = {key: each ^ pivot if each >> place & 1 else each for key, each in done.items()}
        done[place] = pivot
    if any(each >> count for each in rows):
        return []
    return [divmod(place, size) for place, each in sorted(done.items()) if each >> count & 1]


def _state(env: Any) -> Any:
    return env.state.game_state


def _press(env: Any) -> str | None:
    found = presses(_state(env)["grid"])
    return _pair(found[0]) if found else None


def _pair(cell: Sequence[object]) -> str:
    return " ".join(map(str, cell))


def _lake(env: Any) -> str | None:
    state = _state(env)
    return way(state["grid"], state["player_pos"], state["goal_pos"], env.actions)


def _code(env: Any, rng: random.Random) -> str:
    digits = range(1, _state(env)["num_numbers"] + 1)
    return _pair(rng.sample(digits, _state(env)["code_length"]))


def _square(size: int, rng: random.Random) -> str:
    return f"{rng.randrange(size)} {rng.randrange(size)}"


ARENA_BEST: Mapping[str, Callable[[Any], str | None]] = MappingProxyType(
    {
        "GuessTheNumber": lambda env: str(env.game_number),
        "TowerOfHanoi": lambda env: _pair(hanoi(_state(env)["towers"])),
        "Minesweeper": lambda env: _pair(safe_cell(env)),
        "Mastermind": lambda env: _pair(_state(env)["secret_code"]),
        "FrozenLake": _lake,
        "LightsOut": _press,
    }
)
"""By game, what stands in brackets; None where nothing helps any more."""

ARENA_RANDOM: Mapping[str, Callable[[Any, random.Random], str]] = MappingProxyType(
    {
        "GuessTheNumber": lambda env, rng: str(rng.randint(env.min_number, env.max_number)),
        "TowerOfHanoi": lambda env, rng: _pair(rng.sample("ABC", 2)),
        "Minesweeper": lambda env, rng: _square(env.rows, rng),
        "Mastermind": _code,
        "FrozenLake": lambda env, rng: rng.choice(list(env.actions)),
        "LightsOut": lambda env, rng: _square(env.size, rng),
    }
)
"""By game, a random move of the form that it takes."""
