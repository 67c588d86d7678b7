"""Environments in text that ask once a turn: a count, a walk, a row in which things are swapped."""

# ruff: noqa: E501  lines of the programs, which must come out as they stand

from __future__ import annotations

from spade_envs.types import Skill
from spade_train.nano.families.chains import LETTERS
from spade_train.nano.families.form import Draw, Family, Theme, rounds


def _tally(draw: Draw, theme: Theme) -> str:
    size = theme.size(draw, 3)
    signs = draw.pick(('["plus", "minus"]', '["plus"]', '["minus"]'))
    text = draw.pick(
        (
            f"Count {theme.many} modulo 10, from {{t}}. Answer each change with the count. {{self.asks[0]}}",
            f"The {theme.word} counts modulo 10 and shows {{t}}. Say the count after each change. {{self.asks[0]}}",
        )
    )
    reset = f"""
        t = x = self.draw_int(0, 9)
        self.asks, self.path = [], []
        for _ in range(n):
            c, k = self.draw({signs}), self.draw_int(1, {draw.int(2, 3)})
            x = (x + k if c == "plus" else x - k) % 10
            self.asks.append(f"{{c}} {{k}}")
            self.path.append(str(x))
        return f"{text}", {{}}
    """
    return rounds(
        draw,
        name=theme.Word + draw.pick(("Tally", "Count", "Meter", "Register")),
        doc=f"Count while each {theme.word} arrives.",
        reset=reset,
        size=size,
    )


_MOVES = (
    (
        '{"N": (0, 1), "E": (1, 0), "S": (0, -1), "W": (-1, 0)}',
        "N and S change y, E and W change x",
    ),
    (
        '{"U": (0, 1), "R": (1, 0), "D": (0, -1), "L": (-1, 0)}',
        "U and D change y, R and L change x",
    ),
)


def _walk(draw: Draw, theme: Theme) -> str:
    size = theme.size(draw, 2)
    table, words = draw.pick(_MOVES)
    text = draw.pick(
        (
            f"{theme.One} is at {{x}}{{y}}, x before y, modulo 10; {words}. Answer each move with the place. {{self.asks[0]}}",
            f"Move the {theme.word} from {{x}}{{y}}, that is x and y, modulo 10; {words}. Say each new place. {{self.asks[0]}}",
        )
    )
    reset = f"""
        moves = {table}
        x, y = a, b = self.draw_int(0, 9), self.draw_int(0, 9)
        self.asks, self.path = [], []
        for _ in range(n):
            c, k = self.draw(list(moves)), self.draw_int(1, {draw.int(1, 2)})
            a = (a + k * moves[c][0]) % 10
            b = (b + k * moves[c][1]) % 10
            self.asks.append(f"{{c}}{{k}}")
            self.path.append(f"{{a}}{{b}}")
        return f"{text}", {{}}
    """
    return rounds(
        draw,
        name=theme.Word + draw.pick(("Walk", "Path", "Robot", "Map")),
        doc=f"Move {theme.one} over a grid.",
        reset=reset,
        size=size,
    )


def _fronts(draw: Draw, theme: Theme) -> str:
    size = theme.size(draw, 2)
    text = draw.pick(
        (
            f"{theme.Many} stand in a row: {{row}}. In each turn one moves to the front; write the row. {{self.asks[0]}}",
            f"The {theme.word} row is {{row}}. Bring each letter you get to the front and write the row. {{self.asks[0]}}",
        )
    )
    reset = f"""
        row = word = "".join(self.draw_many("{draw.pick(LETTERS)}", {draw.int(4, 5)}))
        self.asks, self.path = [], []
        for _ in range(n):
            a = self.draw(word[1:])
            word = a + word.replace(a, "")
            self.asks.append(a)
            self.path.append(word)
        return f"{text}", {{}}
    """
    return rounds(
        draw,
        name=theme.Word + draw.pick(("Front", "Row", "Places", "Shelf")),
        doc=f"Bring {theme.many} to the front of a row.",
        reset=reset,
        size=size,
    )


TURNS = (
    Family("tally", "text", (Skill.MATHEMATICAL_REASONING,), ("control", "errors"), _tally, 3),
    Family("walk", "text", (Skill.SPATIAL_REASONING,), ("control", "functions", "files"), _walk, 2),
    Family(
        "fronts",
        "text",
        (Skill.SPATIAL_REASONING, Skill.CAUSAL_INFERENCE),
        ("lists", "strings", "types"),
        _fronts,
        2,
    ),
)
