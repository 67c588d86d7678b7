"""Mathematical reasoning: folds over numbers, and number theory."""

# ruff: noqa: E501  lines of the programs, which must come out as they stand

from __future__ import annotations

from spade_envs.types import Skill
from spade_train.nano.families.form import PRIMES, Draw, Family, Theme, single

# Expression in the program, and the same as the agent reads it (inside an f-string).
_RULES = (
    ("(t + x * a) % m", "(t + x * {a}) mod {m}"),
    ("(t * a + x) % m", "(t * {a} + x) mod {m}"),
    ("(t * x + a) % m", "(t * x + {a}) mod {m}"),
    ("(t + x * x + a) % m", "(t + x * x + {a}) mod {m}"),
    ("(a * t - x) % m", "({a} * t - x) mod {m}"),
    ("abs(a * x - t) % m", "|{a} * x - t| mod {m}"),
    ("(t + x) * a % m", "(t + x) * {a} mod {m}"),
    ("(t - x) * a % m", "(t - x) * {a} mod {m}"),
)


def _fold(draw: Draw, theme: Theme) -> str:
    code, words = draw.pick(_RULES)
    low, span = draw.int(2, 19), draw.int(20, 79)
    text = draw.pick(
        (
            f"{theme.Many}: {{xs}}. Start with t = {{t}}. For each x in turn, t becomes {words}. "
            "What is t at the end?",
            f"Let t = {{t}}. Go through the {theme.many} {{xs}} and set t to {words} for each x. "
            "Give the last t.",
            f"Each of the {theme.many} {{xs}} is an x that turns t into {words}. "
            "t starts at {t}. Which number is it at last?",
        )
    )
    reset = f"""
        n = {theme.size(draw, 2)}
        xs = [self.draw_int({low}, {low + span}) for _ in range(n)]
        a, m, t = {draw.int(2, 9)}, {draw.pick(PRIMES)}, self.draw_int(1, {draw.int(9, 99)})
        text = f"{text}"
        self.seen = []
        for x in xs:
            t = {code}
            self.seen.append(t)
        self.want = str(t)
        return text, {{}}
    """
    hint = """
        k = len(self.seen) // 2
        return f"After the first {k}, t is {self.seen[k - 1]}."
    """
    suffix = draw.pick(("Fold", "Run", "Total", "Chain"))
    doc = f"Carry a number through some {theme.many}."
    return single(draw, name=theme.Word + suffix, doc=doc, reset=reset, hint=hint)


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
        n = {theme.size(draw, 3)}
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


def _base(draw: Draw, theme: Theme) -> str:
    base = draw.int(3, 9)
    text = draw.pick(
        (
            f"Write the {theme.word} {{a}} in base {{b}}.",
            f"Convert the {theme.word} {{a}} from base ten to base {{b}}. Give the digits.",
            f"What are the digits of the {theme.word} {{a}} in base {{b}}?",
        )
    )
    reset = f"""
        n = {theme.size(draw, 2)}
        b = {base}
        a = self.draw_int(b ** n, b ** (n + 1) - 1) + {draw.int(0, 99)}
        self.first = f"The last digit is {{a % b}}, and {{a // b}} is left."
        digits = ""
        while a{draw.pick(("", " > 0"))}:
            digits = str(a % b) + digits
            a = a // b
        self.want = digits
        return text, {{}}
    """
    reset = reset.replace("        self.first", f'        text = f"{text}"\n        self.first', 1)
    suffix = draw.pick(("Base", "Digits", "Radix"))
    doc = f"Write {theme.one} in another base."
    return single(draw, name=theme.Word + suffix, doc=doc, reset=reset, hint="return self.first")


_MATH = (Skill.MATHEMATICAL_REASONING,)
NUMBERS = (
    Family("fold", "text", _MATH, ("numbers", "lists", "control"), _fold),
    Family("power", "text", _MATH, ("numbers", "types"), _power),
    Family("base", "text", _MATH, ("numbers", "strings"), _base),
)
