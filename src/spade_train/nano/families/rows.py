"""Rows of letters or digits that are changed item by item."""

# ruff: noqa: E501  lines of the programs, which must come out as they stand

from __future__ import annotations

from spade_envs.types import Skill
from spade_train.nano.families.chains import LETTERS
from spade_train.nano.families.form import Draw, Family, Theme, first_part, single


def _decode(draw: Draw, theme: Theme) -> str:
    size = theme.size(draw, 2)
    text = draw.pick(
        (
            f"Signs of {theme.one} and their values: {{table}}. Write each letter of {{word}} with its value.",
            f"{theme.Many} stand for digits: {{table}}. Copy {{word}}, each letter with its digit.",
        )
    )
    reset = f"""
        n = {size} + self.level
        keys = self.draw_many("{draw.pick(LETTERS)}", n + {draw.int(2, 4)})
        table = {{c: self.draw_int(0, 9) for c in keys}}
        word = self.draw_many(keys, n)
        self.want = "".join(f"{{c}}{{table[c]}}" for c in word)
        word = "".join(word)
        table = "{draw.pick((",", " "))}".join(f"{{c}}{{x}}" for c, x in table.items())
        return f"{text}", {{}}
    """
    return single(
        draw,
        name=theme.Word + draw.pick(("Code", "Cipher", "Key", "Signs")),
        doc=f"Replace signs by what {theme.one} says.",
        reset=reset,
        hint=first_part(draw, size, 2),
        test="upper",
    )


_SHIFTS = (
    ("Add {k} to each digit", "x + k"),
    ("Subtract {k} from each digit", "x - k"),
)


def _shift(draw: Draw, theme: Theme) -> str:
    size = theme.size(draw, 2)
    say, code = draw.pick(_SHIFTS)
    text = draw.pick(
        (
            f"{theme.Many}: {{items}}. {say}, modulo 10, and keep the letters.",
            f"{say}, modulo 10: {{items}}. Write each {theme.word} with its new digit.",
        )
    )
    reset = f"""
        n = {size} + self.level
        k = self.draw_int(1, {draw.int(2, 3)})
        row = [(c, self.draw_int(0, 9)) for c in self.draw_many("{draw.pick(LETTERS)}", n)]
        self.want = "".join(f"{{c}}{{({code}) % 10}}" for c, x in row)
        items = "{draw.pick((",", " "))}".join(f"{{c}}{{x}}" for c, x in row)
        return f"{text}", {{}}
    """
    return single(
        draw,
        name=theme.Word + draw.pick(("Shift", "Digits", "Offset")),
        doc=f"Change every digit of {theme.one}.",
        reset=reset,
        hint=first_part(draw, size, 2),
        test="upper",
    )


def _totals(draw: Draw, theme: Theme) -> str:
    size = theme.size(draw, 2)
    sign, what = draw.pick((("+", "adding"), ("+", "adding"), ("-", "subtracting")))
    text = draw.pick(
        (
            f"Start at {{t}}. Keep {what} the {theme.many} {{items}}, modulo 10. Write each letter with the total.",
            f"{theme.Many}: {{items}}. From {{t}} on, write each letter with the count modulo 10 after {what} it.",
        )
    )
    reset = f"""
        n = {size} + self.level
        t = x = self.draw_int(0, 9)
        row = [(c, self.draw_int(0, {draw.int(1, 2)})) for c in self.draw_many("{draw.pick(LETTERS)}", n)]
        items, self.want = "{draw.pick((",", " "))}".join(f"{{c}}{{k}}" for c, k in row), ""
        for c, k in row:
            x = (x {sign} k) % 10
            self.want += f"{{c}}{{x}}"
        return f"{text}", {{}}
    """
    return single(
        draw,
        name=theme.Word + draw.pick(("Totals", "Sum", "Meter", "Run")),
        doc=f"Keep totals of some {theme.many}.",
        reset=reset,
        hint=first_part(draw, size, 2),
        test="upper",
    )


_WORDS = (
    ("Write {word} backwards", "word[::-1]"),
    ("Write each letter of {word} twice", '"".join(c + c for c in word)'),
    ("Move the first letter of {word} to the end", "word[1:] + word[0]"),
)


def _words(draw: Draw, theme: Theme) -> str:
    size = theme.size(draw, 3)
    say, code = draw.pick(_WORDS)
    text = draw.pick((f"{theme.Many}: {say}.", f"{say}, to get the {theme.word}."))
    reset = f"""
        n = {size} + self.level
        word = "".join(self.draw_many("{draw.pick(LETTERS)}", n))
        self.want = {code}
        return f"{text}", {{}}
    """
    return single(
        draw,
        name=theme.Word + draw.pick(("Word", "Letters", "Text")),
        doc=f"Change the letters of {theme.one}.",
        reset=reset,
        hint=first_part(draw, size),
        test="upper",
    )


def _cheapest(draw: Draw, theme: Theme) -> str:
    size = theme.size(draw, 2, 5)
    back, how = draw.pick((("", "cheapest"), (", reverse=True", "dearest")))
    text = draw.pick(
        (
            f"Prices of {theme.many}: {{items}}. Write them with their letters, the {how} first.",
            f"You take {theme.many} in turn, each time the {how}: {{items}}. Write prices and letters.",
        )
    )
    reset = f"""
        n = {size} + self.level
        names = self.draw_many("{draw.pick(LETTERS)}", n)
        items = [f"{{x}}{{c}}" for x, c in zip(self.draw_many(range(10), n), names)]
        self.want = "".join(sorted(items{back}))
        items = "{draw.pick((",", " "))}".join(items)
        return f"{text}", {{}}
    """
    return single(
        draw,
        name=theme.Word + draw.pick(("Prices", "Market", "Choice", "Budget")),
        doc=f"Choose the {theme.many} by price.",
        reset=reset,
        hint=first_part(draw, size, 2),
        test="upper",
    )


def _picks(draw: Draw, theme: Theme) -> str:
    size = theme.size(draw, 2)
    pick, how = draw.pick((("max", "largest"), ("min", "smallest")))
    text = draw.pick(
        (
            f"Offers of {theme.many}: {{groups}}. Write each letter with its {how} digit.",
            f"Choose the {how} {theme.word} of each group: {{groups}}. Write the letters with these digits.",
        )
    )
    reset = f"""
        n = {size} + self.level
        names = self.draw_many("{draw.pick(LETTERS)}", n)
        row = [(c, self.draw_many(range(10), {draw.int(2, 3)})) for c in names]
        self.want = "".join(f"{{c}}{{{pick}(g)}}" for c, g in row)
        groups = "{draw.pick((",", " "))}".join(c + "".join(map(str, g)) for c, g in row)
        return f"{text}", {{}}
    """
    return single(
        draw,
        name=theme.Word + draw.pick(("Offers", "Best", "Picks", "Bids")),
        doc=f"Choose the best {theme.word} of each group.",
        reset=reset,
        hint=first_part(draw, size, 2),
        test="upper",
    )


_PATTERN = (Skill.PATTERN_RECOGNITION,)
_MATH = (Skill.MATHEMATICAL_REASONING,)
_OPT = (Skill.OPTIMIZATION,)
ROWS = (
    Family("decode", "text", _PATTERN, ("mappings", "names", "types"), _decode, 2),
    Family("words", "text", _PATTERN, ("strings", "lists"), _words, 3),
    Family("shift", "text", _MATH, ("numbers", "strings", "types"), _shift, 2),
    Family("totals", "text", _MATH, ("lists", "control", "numbers"), _totals, 2),
    Family("cheapest", "text", _OPT, ("mappings", "classes", "types"), _cheapest, 2),
    Family("picks", "text", _OPT, ("lists", "functions", "numbers"), _picks, 2),
)
