"""Chains of look-ups: links, orders from comparisons, and laws that set one letter by another."""

# ruff: noqa: E501  lines of the programs, which must come out as they stand

from __future__ import annotations

from spade_envs.types import Skill
from spade_train.nano.families.form import Draw, Family, Theme, first_part, single

LETTERS = ("ABCDEFGHIJKLMNOPQRST", "BCDFGHJKLMNPQRSTVWXZ", "ACEFHIKLMNORSTUVWXYZ")


def _hops(draw: Draw, theme: Theme) -> str:
    size = theme.size(draw, 2)
    text = draw.pick(
        (
            f"Links of {theme.many}: {{links}}. Go from {{a}} to {{z}}. Write each letter after {{a}}.",
            f"In each pair one {theme.word} leads to the next: {{links}}. Write those after {{a}}, up to {{z}}.",
        )
    )
    reset = f"""
        n = {size} + self.level
        row = self.draw_many("{draw.pick(LETTERS)}", n + {draw.int(2, 4)})
        links = self.shuffled([a + b for a, b in zip(row, row[1:])])
        links = "{draw.pick((",", " "))}".join(links)
        a, z = row[0], row[n]
        self.want = "".join(row[1 : n + 1])
        return f"{text}", {{}}
    """
    return single(
        draw,
        name=theme.Word + draw.pick(("Hops", "Links", "Trail", "Refs")),
        doc=f"Follow links from {theme.word} to {theme.word}.",
        reset=reset,
        hint=first_part(draw, size),
        test="upper",
    )


def _ranks(draw: Draw, theme: Theme) -> str:
    size = theme.size(draw, 3)
    how, why = draw.pick((("before", "first"), ("above", "top"), ("outside", "outermost")))
    text = draw.pick(
        (
            f"Of each pair of {theme.many} the first is {how} the other: {{clues}}. Write all from the {why} on, which is {{a}}.",
            f"{theme.Many}: {{clues}}. In each pair the left one is {how} the right one. Put all in order; {{a}} is {why}.",
        )
    )
    reset = f"""
        n = {size} + self.level
        row = self.draw_many("{draw.pick(LETTERS)}", n)
        a = row[0]
        clues = self.shuffled([x + y for x, y in zip(row, row[1:])])
        clues = "{draw.pick((",", " "))}".join(clues)
        self.want = "".join(row)
        return f"{text}", {{}}
    """
    return single(
        draw,
        name=theme.Word + draw.pick(("Order", "Ranks", "Queue", "Row")),
        doc=f"Put some {theme.many} in order from pairwise clues.",
        reset=reset,
        hint=first_part(draw, size),
        test="upper",
    )


def _ripple(draw: Draw, theme: Theme) -> str:
    size = theme.size(draw, 2)
    sign, word = draw.pick((("+", "plus"), ("-", "minus")))
    text = draw.pick(
        (
            f"Laws of {theme.many}, modulo 10: {{laws}}. XY1 makes Y equal to X {word} 1. {{a}} is {{t}}, but {{c}} is set to {{v}}. Write each letter after {{a}} with its value.",
            f"Each {theme.word} sets the next, modulo 10: {{laws}}. By XY1, Y is X {word} 1. Now {{a}} is {{t}}, and {{c}} is forced to {{v}}. Write each later letter with its value.",
        )
    )
    reset = f"""
        n = {size} + self.level
        row = self.draw_many("{draw.pick(LETTERS)}", n + 1)
        a, c = row[0], self.draw(row[1:])
        t = x = self.draw_int(0, 9)
        v, laws, self.want = self.draw_int(0, 9), [], ""
        for p, q in zip(row, row[1:]):
            k = self.draw_int(1, {draw.int(2, 3)})
            laws.append(f"{{p}}{{q}}{{k}}")
            x = v if q == c else (x {sign} k) % 10
            self.want += f"{{q}}{{x}}"
        laws = "{draw.pick((",", " "))}".join(self.shuffled(laws))
        return f"{text}", {{}}
    """
    return single(
        draw,
        name=theme.Word + draw.pick(("Cause", "Effect", "Ripple", "Lever")),
        doc=f"Trace what setting one {theme.word} does to others.",
        reset=reset,
        hint=first_part(draw, size, 2),
        test="upper",
    )


_LOGIC = (Skill.LOGICAL_DEDUCTION,)
CHAINS = (
    Family("hops", "text", (*_LOGIC, Skill.CAUSAL_INFERENCE), ("names", "files"), _hops, 2),
    Family("ranks", "text", _LOGIC, ("functions", "classes", "types"), _ranks, 3),
    Family("ripple", "text", (Skill.CAUSAL_INFERENCE,), ("errors", "control"), _ripple, 2),
)
