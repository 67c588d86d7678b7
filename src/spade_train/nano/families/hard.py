"""Families beyond the tiny agent: it can write them, and none of its size can play them."""

# ruff: noqa: E501  lines of the programs, which must come out as they stand

from __future__ import annotations

from spade_envs.types import Skill
from spade_train.nano.families.form import PRIMES, Draw, Family, Theme, single


def _power(draw: Draw, theme: Theme) -> str:
    low = draw.int(3, 29)
    text = draw.pick(
        (
            f"{theme.One} of {{a}} is multiplied by itself to the power {{n}}. "
            "What is the remainder after division by {m}?",
            f"The {theme.word} is {{a}} ** {{n}} % {{m}}. Give its value.",
            f"Take {{a}} to the power {{n}} modulo {{m}} to get the {theme.word}. Which number is it?",
        )
    )
    reset = f"""
        n = {theme.size(draw, 3)} + self.level
        m = {draw.pick(PRIMES)}
        a = self.draw_int({low}, {low + draw.int(90, 300)})
        self.half = f"{{a}} ** {{n // 2}} % {{m}} is {{pow(a, n // 2, m)}}."
        self.want = str(pow(a, n, m))
        return f"{text}", {{}}
    """
    suffix = draw.pick(("Power", "Residue", "Modulus"))
    doc = f"Raise {theme.one} to a power modulo a number."
    hint = "return self.half"
    return single(draw, name=theme.Word + suffix, doc=doc, reset=reset, hint=hint)


# The next term, and what a hint tells of it (inside an f-string).
_SERIES = (
    ("xs[-1] + p + q * len(xs)", "Each gap is {q} more than the one before."),
    ("xs[-1] * 2 + p - q", "Each term is twice the last one plus {p - q}."),
    ("xs[-1] * 3 - p - q", "Each term is three times the last one minus {p + q}."),
    ("xs[-1] + xs[-2] + p", "Each term is the sum of the last two plus {p}."),
    ("xs[-1] + xs[-2] * 2 - q", "Each term is the last plus twice the one before, minus {q}."),
    ("xs[-2] + p + q", "Every second term grows by {p + q}."),
    ("xs[-2] * 2 + p", "Each term is twice the one two places before, plus {p}."),
    ("xs[-1] + p * (len(xs) % 3) + q", "The gaps repeat with period three."),
)


def _series(draw: Draw, theme: Theme) -> str:
    term, told = draw.pick(_SERIES)
    shown = draw.int(5, 7)
    text = draw.pick(
        (
            f"The {theme.many} go {{xs[:s]}}. Which number has place {{n}}, if the first has place 1?",
            f"{theme.Many} follow a rule: {{xs[:s]}}. What is term number {{n}}?",
            f"Here are the first {{s}} {theme.many}: {{xs[:s]}}. Give number {{n}} of them.",
        )
    )
    reset = f"""
        s = {shown}
        n = s + 1 + {draw.pick(("", "2 * "))}self.level
        p, q = self.draw_int(1, {draw.int(15, 40)}), self.draw_int(1, {draw.int(7, 12)})
        xs = [self.draw_int(1, {draw.int(30, 90)}), self.draw_int(2, {draw.int(30, 90)})]
        while len(xs) < n:
            xs.append({term})
        self.rule = f"{told}"
        self.want = str(xs[-1])
        return f"{text}", {{}}
    """
    suffix = draw.pick(("Series", "Terms", "Sequence", "Rule"))
    doc = f"Find the rule of some {theme.many} and continue it."
    return single(draw, name=theme.Word + suffix, doc=doc, reset=reset, hint="return self.rule")


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
        n = {theme.size(draw, 3)} + self.level
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


def _knapsack(draw: Draw, theme: Theme) -> str:
    low, high = draw.int(1, 5), draw.int(9, 20)
    worth = draw.int(60, 250)
    cap = draw.pick(("sum(ws) // 2", "sum(ws) * 2 // 3", "sum(ws) // 2 + 1"))
    text = draw.pick(
        (
            f"Each {theme.word} has (weight, value): {{items}}. Choose some whose weights add up to "
            "at most {cap}. What is the greatest total value?",
            f"You may keep {theme.many} of total weight up to {{cap}}. Weight and value of each: "
            "{items}. Give the best total value.",
        )
    )
    reset = f"""
        n = {theme.size(draw, 4)} + self.level
        ws = [self.draw_int({low}, {high}) for _ in range(n)]
        vs = [self.draw_int({draw.int(5, 12)}, {worth}) for _ in range(n)]
        items, cap = list(zip(ws, vs)), {cap}
        best = [(0, 0)] * (cap + 1)
        for w, v in items:
            for c in range(cap, w - 1, -1):
                best[c] = max(best[c], (best[c - w][0] + v, v))
        self.part = best[cap][1]
        self.want = str(best[cap][0])
        return f"{text}", {{}}
    """
    suffix = draw.pick(("Load", "Choice", "Budget", "Pack"))
    doc = f"Choose the {theme.many} that are worth most."
    hint = 'return f"The one of value {self.part} belongs to a best choice."'
    return single(draw, name=theme.Word + suffix, doc=doc, reset=reset, hint=hint)


HARD = (
    Family("power", "text", (Skill.MATHEMATICAL_REASONING,), ("numbers", "types"), _power),
    Family("series", "text", (Skill.PATTERN_RECOGNITION,), ("functions", "control"), _series),
    Family("grid", "text", (Skill.SPATIAL_REASONING,), ("lists", "strings"), _grid),
    Family("knapsack", "text", (Skill.OPTIMIZATION,), ("mappings", "classes"), _knapsack),
)
