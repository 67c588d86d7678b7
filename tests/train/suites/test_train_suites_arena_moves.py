"""References and random moves of games, on states of our own making."""

import random
from types import SimpleNamespace

import pytest

from spade_train.suites.arena_moves import (
    ARENA_BEST,
    ARENA_RANDOM,
    first,
    hanoi,
    presses,
    safe_cell,
    way,
)
from spade_train.suites.games import TEXTARENA

MOVES = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}


@pytest.mark.parametrize("disks", [1, 3, 5])
def test_towers_are_moved_the_shortest_way(disks):
    board = {"A": list(range(disks, 0, -1)), "B": [], "C": []}
    moves = 0
    while len(board["C"]) < disks:
        source, target = hanoi(board)
        disk = board[source].pop()
        assert not board[target] or board[target][-1] > disk
        board[target].append(disk)
        moves += 1
    assert moves == 2**disks - 1


def toggled(lights, row, column):
    for r, c in (
        (row, column),
        (row - 1, column),
        (row + 1, column),
        (row, column - 1),
        (row, column + 1),
    ):
        if 0 <= r < len(lights) and 0 <= c < len(lights):
            lights[r][c] = not lights[r][c]


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_presses_turn_every_light_off(size):
    rng = random.Random(size)
    for _ in range(5):
        lights = [[False] * size for _ in range(size)]
        for _ in range(8):
            toggled(lights, rng.randrange(size), rng.randrange(size))
        found = presses(lights)
        assert len(set(found)) == len(found)
        for cell in found:
            toggled(lights, *cell)
        assert not any(map(any, lights))


def test_lights_that_nothing_turns_off_have_no_presses():
    """On five by five some patterns cannot be reached; a single lit corner is one."""
    lights = [[False] * 5 for _ in range(5)]
    lights[0][0] = True
    assert presses(lights) == []


def test_the_way_goes_around_holes():
    lake = ["  H", "H  ", "  G"]
    assert way(lake, (0, 0), (2, 2), MOVES) == "right"
    assert way(lake, (1, 1), (2, 2), MOVES) in ("down", "right")
    assert way([" H", "HG"], (0, 0), (1, 1), MOVES) is None
    assert way(lake, (2, 2), (2, 2), MOVES) is None


def test_cells():
    assert first([[0, 1], [2, 3]], lambda r, c: r + c == 1) == (0, 1)
    assert first([[0]], lambda r, c: False) == (0, 0)
    mines = SimpleNamespace(grid=[[-1, 0], [1, 1]], revealed=[[False, True], [False, False]])
    assert safe_cell(mines) == (1, 0)


def env(**state):
    return SimpleNamespace(
        state=SimpleNamespace(game_state=state),
        game_number=7, min_number=3, max_number=9, rows=2, size=3, actions=MOVES,
        grid=[[-1, 0]], revealed=[[False, False]],
    )  # fmt: skip


def test_every_game_of_the_suite_has_both_and_they_have_the_form_of_the_game():
    kinds = {name.partition("-")[0] for name in TEXTARENA}
    assert set(ARENA_BEST) == set(ARENA_RANDOM) == kinds
    states = {
        "TowerOfHanoi": {"towers": {"A": [2, 1], "B": [], "C": []}},
        "Mastermind": {"secret_code": [3, 1], "num_numbers": 4, "code_length": 2},
        "FrozenLake": {"grid": ["  ", " G"], "player_pos": (0, 0), "goal_pos": (1, 1)},
        "LightsOut": {"grid": [[True, True, False], [True, False, False], [False] * 3]},
    }
    best = {kind: rule(env(**states.get(kind, {}))) for kind, rule in ARENA_BEST.items()}
    assert best == {
        "GuessTheNumber": "7", "TowerOfHanoi": "A B", "Minesweeper": "0 1", "Mastermind": "3 1",
        "FrozenLake": "down", "LightsOut": "0 0",
    }  # fmt: skip
    rng = random.Random(0)
    for kind, rule in ARENA_RANDOM.items():
        said = {rule(env(**states.get(kind, {})), rng) for _ in range(50)}
        assert len(said) > 1, kind
    numbers = {int(ARENA_RANDOM["GuessTheNumber"](env(), rng)) for _ in range(99)}
    assert numbers == set(range(3, 10))
