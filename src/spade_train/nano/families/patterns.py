"""Pattern recognition: lists and words that are changed step by step, and series."""

# ruff: noqa: E501  lines of the programs, which must come out as they stand

from __future__ import annotations

from spade_envs.types import Skill
from spade_train.nano.families.form import Draw, Family, Theme, single

# What the agent reads (inside an f-string) and the program's expression over `v`: steps that sort,
# steps that move, and steps that change what is there. Two steps of one kind might cancel out.
_LIST_STEPS = (
    (("sort it upwards", "sorted(v)"), ("sort it downwards", "sorted(v, reverse=True)")),
    (
        ("reverse the list", "v[::-1]"),
        ("move the first {k} to the end", "v[k:] + v[:k]"),
        ("move the last {k} to the front", "v[-k:] + v[:-k]"),
        ("take every second one, then the others", "v[::2] + v[1::2]"),
    ),
    (
        ("add {k} to each", "[x + k for x in v]"),
        ("multiply each by {k}", "[x * k for x in v]"),
        ("square each modulo {m}", "[x * x % m for x in v]"),
        ("replace each by its rest modulo {m}", "[x % m for x in v]"),
        ("subtract each from {m}", "[m - x for x in v]"),
    ),
)
_WORD_STEPS = (
    (
        ("sort its letters", '"".join(sorted(v))'),
        ("sort its letters backwards", '"".join(sorted(v))[::-1]'),
    ),
    (
        ("reverse it", "v[::-1]"),
        ("move the first {k} letters to the end", "v[k:] + v[:k]"),
        ("move the last {k} letters to the front", "v[-k:] + v[:-k]"),
        ("take every second letter, then the others", "v[::2] + v[1::2]"),
        ("write the second half before the first", "v[len(v) // 2 :] + v[: len(v) // 2]"),
    ),
    (
        (
            "shift each letter {m} places on, with a after z",
            '"".join(chr((ord(c) - 97 + m) % 26 + 97) for c in v)',
        ),
        ("swap a with z, b with y and so on", '"".join(chr(219 - ord(c)) for c in v)'),
        ("write each letter twice", '"".join(c + c for c in v)'),
    ),
)
_Step = tuple[str, str]


def _steps(draw: Draw, table: tuple[tuple[_Step, ...], ...]) -> tuple[_Step, _Step]:
    """Return two steps of different kinds, never moving first what is then sorted."""
    first, second = draw.pick(((0, 1), (0, 2), (1, 2), (2, 0), (2, 1)))
    return draw.pick(table[first]), draw.pick(table[second])


def _lists(draw: Draw, theme: Theme) -> str:
    (say1, do1), (say2, do2) = _steps(draw, _LIST_STEPS)
    low = draw.int(1, 19)
    end = draw.pick(("Give the list, separated by spaces.", "Answer with the numbers in order."))
    text = draw.pick(
        (
            f"{theme.Many}: {{v}}. First {say1}, then {say2}. {end}",
            f"Start from the {theme.many} {{v}}. Now {say1}; after that {say2}. {end}",
            f"Take {{v}} as {theme.many}: {say1} and then {say2}. {end}",
        )
    )
    reset = f"""
        n = {theme.size(draw, 4)}
        k, m = {draw.int(2, 3)}, {draw.int(11, 29)}
        v = [self.draw_int({low}, {low + draw.int(40, 90)}) for _ in range(n)]
        text = f"{text}"
        v = {do1}
        self.middle = v
        v = {do2}
        self.want = " ".join(map(str, v))
        return text, {{}}
    """
    suffix = draw.pick(("List", "Shuffle", "Pipeline", "Slices"))
    doc = f"Change a list of {theme.many} in two steps."
    hint = 'return f"After the first step: {self.middle}."'
    return single(draw, name=theme.Word + suffix, doc=doc, reset=reset, hint=hint, test="list")


def _words(draw: Draw, theme: Theme) -> str:
    (say1, do1), (say2, do2) = _steps(draw, _WORD_STEPS)
    letters = draw.pick(("abcdefghijklmnop", "bcdfghklmnprst", "aeioubcdlmnrst", "ghijklmnopqrstu"))
    text = draw.pick(
        (
            f"The {theme.word} is {{v}}. First {say1}, then {say2}. What do you get?",
            f"Take the {theme.word} {{v}}: {say1}, and after that {say2}. Give the result.",
            f"{theme.One} reads {{v}}. Now {say1}; then {say2}. What does it read?",
        )
    )
    reset = f"""
        n = {theme.size(draw, 4)}
        k, m = {draw.int(2, 3)}, {draw.int(2, 12)}
        v = "".join(self.draw("{letters}") for _ in range(n))
        text = f"{text}"
        v = {do1}
        self.middle = v
        v = {do2}
        self.want = v
        return text, {{}}
    """
    suffix = draw.pick(("Word", "Letters", "Cipher", "Text"))
    doc = f"Change the letters of {theme.one} in two steps."
    hint = 'return f"After the first step: {self.middle}."'
    return single(draw, name=theme.Word + suffix, doc=doc, reset=reset, hint=hint, test="lower")


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


_PATTERN = (Skill.PATTERN_RECOGNITION,)
PATTERNS = (
    Family("lists", "text", _PATTERN, ("lists", "control"), _lists),
    Family("words", "text", _PATTERN, ("strings", "names"), _words),
    Family("series", "text", _PATTERN, ("numbers", "functions", "control"), _series),
)
