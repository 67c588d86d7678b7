"""Optimization: the best subset and the cheapest path."""

# ruff: noqa: E501  lines of the programs, which must come out as they stand

from __future__ import annotations

from spade_envs.types import Skill
from spade_train.nano.families.form import Draw, Family, Theme, single


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
        n = {theme.size(draw, 4)}
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


def _grid_path(draw: Draw, theme: Theme) -> str:
    rows = draw.pick(("3", "4", "n"))
    word, pick = draw.pick((("cheapest", "min"), ("dearest", "max")))
    text = draw.pick(
        (
            f"Costs of {theme.many}:\\n{{show}}\\nGo from the top left to the bottom right, only "
            f"right or down. What does the {word} path cost, both ends included?",
            f"Each {theme.word} of this grid has a cost:\\n{{show}}\\nStep right or down from the "
            f"top left to the bottom right. Give the total of the {word} path.",
        )
    )
    reset = f"""
        n = {theme.size(draw, 2)}
        g = [[self.draw_int({draw.int(1, 5)}, {draw.int(50, 99)}) for _ in range(n)] for _ in range({rows})]
        show = "\\n".join(" ".join(map(str, row)) for row in g)
        best = []
        for row in g:
            old = best
            best = []
            for i, c in enumerate(row):
                ways = old[i : i + 1] + best[-1:]
                best.append(c + {pick}(ways or [0]))
        self.above = old[-1]
        self.want = str(best[-1])
        return f"{text}", {{}}
    """
    suffix = draw.pick(("Route", "Path", "Descent", "Cost"))
    doc = f"Find the {word} way through a grid of {theme.many}."
    hint = 'return f"The best path to the place above the last one costs {self.above}."'
    return single(draw, name=theme.Word + suffix, doc=doc, reset=reset, hint=hint)


_SCORES = (
    ("sum", "sum(c)"),
    ("product of the first and the last chosen", "c[0] * c[-1]"),
    ("sum plus the greatest chosen", "sum(c) + max(c)"),
    ("sum minus twice the least chosen", "sum(c) - 2 * min(c)"),
    ("sum times the least chosen", "sum(c) * min(c)"),
    ("product of the greatest and the least chosen", "max(c) * min(c)"),
    ("distance between the greatest and the least chosen", "max(c) - min(c)"),
)


def _triples(draw: Draw, theme: Theme) -> str:
    words, score = draw.pick(_SCORES)
    size = draw.int(2, 3)
    text = draw.pick(
        (
            f"From the {theme.many} {{xs}} choose {size}, keeping their order, so that their sum "
            f"leaves {{r}} when divided by {{k}}. What is the greatest {words}? Answer 0 if none.",
            f"{theme.Many}: {{xs}}. Take {size} of them, in this order, whose sum modulo {{k}} is "
            f"{{r}}. Give the greatest {words}, or 0 if there is none.",
        )
    )
    reset = f"""
        n = {theme.size(draw, 5)}
        xs = [self.draw_int({draw.int(2, 30)}, {draw.int(200, 600)}) for _ in range(n)]
        k = {draw.int(2, 3)}
        r = self.draw_int(0, k - 1)
        good = [c for c in combinations(xs, {size}) if sum(c) % k == r]
        scores = [{score} for c in good]
        self.count = len(good)
        self.want = str(max(scores or [0]))
        return f"{text}", {{}}
    """
    suffix = draw.pick(("Sum", "Team", "Group", "Best"))
    doc = f"Choose {size} {theme.many} as well as possible."
    hint = 'return f"There are {self.count} ways to choose them."'
    imports = "from itertools import combinations"
    return single(draw, name=theme.Word + suffix, doc=doc, reset=reset, hint=hint, imports=imports)


_OPT = (Skill.OPTIMIZATION,)
OPTIMUM = (
    Family("knapsack", "text", _OPT, ("mappings", "classes", "types"), _knapsack),
    Family("route", "text", _OPT, ("control", "functions", "files"), _grid_path),
    Family("best", "text", _OPT, ("numbers", "lists"), _triples),
)
