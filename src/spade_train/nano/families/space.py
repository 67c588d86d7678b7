"""Spatial reasoning: walks on a grid, and grids that are turned."""

from __future__ import annotations

from spade_envs.types import Skill
from spade_train.nano.families.form import Draw, Family, Theme, single

_MOVES = (
    ('{"N": (0, 1), "E": (1, 0), "S": (0, -1), "W": (-1, 0)}', "N adds to y and E adds to x"),
    ('{"U": (0, 1), "R": (1, 0), "D": (0, -1), "L": (-1, 0)}', "U adds to y and R adds to x"),
    (
        '{"N": (0, 1), "E": (1, 1), "S": (0, -1), "W": (-1, -1)}',
        "N adds to y; E adds to both x and y",
    ),
    ('{"U": (0, 2), "R": (1, 0), "D": (0, -2), "L": (-1, 0)}', "U adds twice to y and R adds to x"),
)


def _walk(draw: Draw, theme: Theme) -> str:
    table, words = draw.pick(_MOVES)
    wrap = draw.pick((0, 0, draw.int(13, 40)))
    rest = f" % {wrap}" if wrap else ""
    note = f" Both count modulo {wrap}." if wrap else ""
    text = draw.pick(
        (
            f"{theme.One} stands at ({{x}}, {{y}}) and moves {{path}}, where {words}.{note} "
            "Where does it end? Answer as x,y.",
            f"Move the {theme.word} from ({{x}}, {{y}}) by {{path}}; {words}.{note} "
            "Give the last place as x,y.",
        )
    )
    reset = f"""
        n = {theme.size(draw, 3)}
        moves = {table}
        path = [(self.draw(list(moves)), self.draw_int(1, {draw.int(6, 12)})) for _ in range(n)]
        x, y = self.draw_int(0, {draw.int(5, 12)}), self.draw_int(0, {draw.int(5, 12)})
        start, self.seen = (x, y), []
        for c, k in path:
            x = (x + k * moves[c][0]){rest}
            y = (y + k * moves[c][1]){rest}
            self.seen.append((x, y))
        self.want = f"{{x}},{{y}}"
        path = " ".join(f"{{c}}{{k}}" for c, k in path)
        x, y = start
        return f"{text}", {{}}
    """
    hint = """
        k = len(self.seen) // 2
        return f"After {k} moves it is at {self.seen[k - 1]}."
    """
    suffix = draw.pick(("Walk", "Path", "Robot", "Map"))
    doc = f"Follow {theme.one} over a grid."
    return single(draw, name=theme.Word + suffix, doc=doc, reset=reset, hint=hint, test="pair")


_FLIPS = (
    ("turn it upside down", "g[::-1]"),
    ("mirror each row", "[r[::-1] for r in g]"),
    ("move the top row to the bottom", "g[1:] + g[:1]"),
    ("move the first column to the right", "[r[1:] + r[:1] for r in g]"),
)
_TURNS = (
    ("turn it a quarter clockwise", "list(zip(*g[::-1]))"),
    ("turn it a quarter anticlockwise", "list(zip(*g))[::-1]"),
    ("swap rows and columns", "list(zip(*g))"),
)


def _grid(draw: Draw, theme: Theme) -> str:
    (say1, do1), (say2, do2) = draw.pick(_FLIPS), draw.pick(_TURNS)
    letters = draw.pick(("abcdefghijklmnop", "bcdfghklmnprst", "ghijklmnopqrstu", "abcdexyz"))
    row, rows = draw.int(0, 2), draw.pick(("n", "n + 1"))
    place = ("first", "second", "third")[row]
    text = draw.pick(
        (
            f"{theme.One} is drawn as this grid:\\n{{show}}\\nFirst {say1}, then {say2}. "
            f"What is the {place} row?",
            f"Grid of {theme.many}:\\n{{show}}\\nNow {say1} and after that {say2}. "
            f"Write the {place} row.",
        )
    )
    reset = f"""
        n = {theme.size(draw, 3)}
        g = ["".join(self.draw("{letters}") for _ in range(n)) for _ in range({rows})]
        show = "\\n".join(g)
        g = {do1}
        self.middle = "\\n".join(g)
        g = {do2}
        self.want = "".join(g[{row}])
        return f"{text}", {{}}
    """
    suffix = draw.pick(("Grid", "Board", "Turn", "Matrix"))
    doc = f"Turn a grid of {theme.many} and read a row."
    hint = 'return f"After the first step:\\n{self.middle}"'
    return single(draw, name=theme.Word + suffix, doc=doc, reset=reset, hint=hint, test="lower")


_SPACE = (Skill.SPATIAL_REASONING,)
SPACE = (
    Family("walk", "text", _SPACE, ("control", "functions", "files"), _walk),
    Family("grid", "text", _SPACE, ("lists", "strings", "types"), _grid),
)
