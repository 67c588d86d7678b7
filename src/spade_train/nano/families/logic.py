"""Logical deduction: forward chaining, orders from comparisons, and truth tables."""

# ruff: noqa: E501  lines of the programs, which must come out as they stand

from __future__ import annotations

from spade_envs.types import Skill
from spade_train.nano.families.form import Draw, Family, Theme, single

_LETTERS = ("ABCDEFGHIJKLMNOP", "ABCDEFGHKLMNPRST", "BCDFGHJKLMNPQRSTVW", "KLMNOPQRSTUVWXYZ")


def _rules(draw: Draw, theme: Theme) -> str:
    letters = draw.pick(_LETTERS)
    join = draw.pick((" and ", " with ", " + "))
    gives = draw.pick((" give ", " make ", " prove "))
    text = draw.pick(
        (
            "{facts} hold. Rules: {rules}. Which letters hold in the end? "
            "Write all, in alphabetical order, as one word.",
            f"Known {theme.many}: {{facts}}. {{rules}}. Write every {theme.word} that follows or is "
            "known, in alphabetical order, as one word.",
        )
    )
    reset = f"""
        n = {theme.size(draw, 2, steep=False)}
        names = self.draw_many("{letters}", {draw.int(5, 6)} + n)
        held, spare = names[:3], names[3 + n :]
        facts = ", ".join(held)
        rules = []
        for c in names[3 : 3 + n]:
            a, b = self.draw_many(held, 2)
            rules.append(f"{{a}}{join}{{b}}{gives}{{c}}")
            held.append(c)
        for c in spare:
            rules.append(f"{{held[-1]}}{join}{{c}}{gives}{{spare[0]}}")
        self.first = held[3]
        rules = "; ".join(self.shuffled(rules))
        self.want = "".join(sorted(held))
        return f"{text}", {{}}
    """
    suffix = draw.pick(("Rules", "Proof", "Chain", "Closure"))
    doc = f"Find all that follows from some {theme.many}."
    hint = 'return f"{self.first} follows from the facts at once."'
    return single(draw, name=theme.Word + suffix, doc=doc, reset=reset, hint=hint, test="upper")


_PAIRS = (
    ("is before", "from first to last", "{a} {r} {b}"),
    ("comes right before", "from first to last", "{a} {r} {b}"),
    ("is less than", "from the least to the greatest", "{a} {r} {b}"),
    ("is after", "from first to last", "{b} {r} {a}"),
    ("is greater than", "from the least to the greatest", "{b} {r} {a}"),
    ("is called by", "from the innermost to the outermost", "{a} {r} {b}"),
)


def _order(draw: Draw, theme: Theme) -> str:
    relation, how, clue = draw.pick(_PAIRS)
    clue = clue.replace("{r}", relation)
    letters = draw.pick(_LETTERS)
    text = draw.pick(
        (
            f"{theme.Many}: {{clues}}. Write their letters {how}, as one word.",
            f"Of some {theme.many} you know: {{clues}}. Put them in order {how}; answer in one word.",
        )
    )
    reset = f"""
        n = {theme.size(draw, 4, steep=False)}
        row = self.draw_many("{letters}", n)
        clues = [f"{clue}" for a, b in zip(row, row[1:])]
        clues = ", ".join(self.shuffled(clues))
        self.ends = f"{{row[0]}} stands first and {{row[-1]}} last."
        self.want = "".join(row)
        return f"{text}", {{}}
    """
    suffix = draw.pick(("Order", "Ranks", "Queue", "Row"))
    doc = f"Put some {theme.many} in order from pairwise clues."
    hint = "return self.ends"
    return single(draw, name=theme.Word + suffix, doc=doc, reset=reset, hint=hint, test="upper")


_TESTS = (
    ("x % {a} == {b}", "divided by {a} leaves {b}", (3, 4, 5), (0, 1, 2)),
    ("x > {a}", "is greater than {a}", tuple(range(25, 70)), (0,)),
    ("x < {a}", "is less than {a}", tuple(range(30, 75)), (0,)),
    ("x % 10 < {a}", "has a last digit below {a}", (4, 5, 6, 7), (0,)),
    ("x // 10 % 2 == {b}", "has tens that leave {b} after division by 2", (2,), (0, 1)),
)
_GLUE = (("and", "and"), ("or", "or"), ("and not", "and not"), ("or not", "or not"))


def _sieve(draw: Draw, theme: Theme) -> str:
    tests = []
    for code, words, firsts, seconds in draw.many(_TESTS, 2):
        a, b = str(draw.pick(firsts)), str(draw.pick(seconds))
        tests.append([part.replace("{a}", a).replace("{b}", b) for part in (code, words)])
    glue, said = draw.pick(_GLUE)
    code = f"{tests[0][0]} {glue} {tests[1][0]}"
    words = f"{tests[0][1]} {said} {tests[1][1]}"
    text = draw.pick(
        (
            f"{theme.Many}: {{xs}}. Each that {words} counts {{k}} times, the others once. "
            "What is the total?",
            f"Add up the {theme.many} {{xs}}, but count one {{k}} times if it {words}.",
        )
    )
    reset = f"""
        n = {theme.size(draw, 4)}
        k = {draw.int(2, 6)}
        xs = [self.draw_int({draw.int(1, 9)}, {draw.int(90, 99)}) for _ in range(n)]
        kept = [x for x in xs if {code}]
        self.count = len(kept)
        self.want = str(sum(xs) + sum(kept) * (k - 1))
        return f"{text}", {{}}
    """
    suffix = draw.pick(("Sieve", "Filter", "Logic", "Test"))
    doc = f"Count the {theme.many} that pass a test more than once."
    hint = 'return f"{self.count} of them count more than once."'
    return single(draw, name=theme.Word + suffix, doc=doc, reset=reset, hint=hint)


_LOGIC = (Skill.LOGICAL_DEDUCTION,)
LOGIC = (
    Family("rules", "text", _LOGIC, ("types", "names", "errors"), _rules),
    Family("order", "text", _LOGIC, ("functions", "classes", "names"), _order),
    Family("sieve", "text", _LOGIC, ("control", "numbers"), _sieve),
)
