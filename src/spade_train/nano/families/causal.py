"""Causal inference: what follows when one variable is set by hand."""

# ruff: noqa: E501  lines of the programs, which must come out as they stand

from __future__ import annotations

from spade_envs.types import Skill
from spade_train.nano.families.form import Draw, Family, Theme, single

_LETTERS = ("ABCDEFGHIJKLMN", "KLMNOPQRSTUVW", "PQRSTUVWXYZABC", "EFGHIJKLMNOPQ")


def _intervene(draw: Draw, theme: Theme) -> str:
    sign = draw.pick(("+", "-"))
    text = draw.pick(
        (
            f"Each {theme.word} is set by the ones before it: {{laws}}. Someone sets {{c}} to "
            "{v} by hand. What is {last} then?",
            f"{theme.Many} obey {{laws}}. Suppose {{c}} is forced to be {{v}}, whatever its law "
            "says. Give {last}.",
        )
    )
    reset = f"""
        n = {theme.size(draw, 3, steep=False)}
        names = "{draw.pick(_LETTERS)}"[: n + 1]
        xs = [self.draw_int(1, {draw.int(9, 30)}), self.draw_int(2, {draw.int(9, 30)})]
        laws = [f"{{names[0]}} = {{xs[0]}}", f"{{names[1]}} = {{xs[1]}}"]
        hit, v = self.draw_int(1, n - 2), self.draw_int({draw.int(31, 40)}, {draw.int(60, 99)})
        if hit == 1:
            xs[1] = v
        for i in range(2, n + 1):
            p, q = self.draw_int(1, {draw.int(2, 3)}), self.draw_int(1, {draw.int(2, 4)})
            laws.append(f"{{names[i]}} = {{p}} * {{names[i - 1]}} {sign} {{q}} * {{names[i - 2]}}")
            xs.append(v if i == hit else p * xs[-1] {sign} q * xs[-2])
        c, last, laws = names[hit], names[n], ", ".join(laws)
        self.near = f"Then {{names[n - 1]}} is {{xs[-2]}}."
        self.want = str(xs[-1])
        return f"{text}", {{}}
    """
    suffix = draw.pick(("Cause", "Effect", "Control", "Lever"))
    doc = f"Tell what happens when one {theme.word} is set by hand."
    return single(draw, name=theme.Word + suffix, doc=doc, reset=reset, hint="return self.near")


def _contrast(draw: Draw, theme: Theme) -> str:
    low = draw.int(2, 4)
    text = draw.pick(
        (
            f"A change of 1 in {theme.one} changes the ones it drives: {{laws}}. The first, {{a}}, "
            "is raised by {v}. By how much does {b} change?",
            f"Effects between {theme.many}, per unit: {{laws}}. If {{a}} goes up by {{v}}, how much "
            "does {b} go up?",
        )
    )
    skip = draw.pick((1, 2))
    reset = f"""
        n = {theme.size(draw, 3, steep=False)}
        names = self.draw_many("{draw.pick(_LETTERS)}", n + 1)
        k, v = {skip}, self.draw_int({draw.int(2, 5)}, {draw.int(12, 25)})
        xs, laws = [v], []
        for i in range(1, n + 1):
            p, q = self.draw_int(1, {low}), self.draw_int(1, {draw.int(2, 5)})
            laws.append(f"{{names[i - 1]}} adds {{p}} to {{names[i]}}")
            x = p * xs[-1]
            if i > k:
                laws.append(f"{{names[i - 1 - k]}} adds {{q}} to {{names[i]}}")
                x = x + q * xs[-1 - k]
            xs.append(x)
        a, b, laws = names[0], names[n], ", ".join(self.shuffled(laws))
        self.near = f"{{names[n - 1]}} changes by {{xs[-2]}}."
        self.want = str(xs[-1])
        return f"{text}", {{}}
    """
    suffix = draw.pick(("Effect", "Ripple", "Paths", "Shock"))
    doc = f"Trace a change through {theme.many} that drive each other."
    return single(draw, name=theme.Word + suffix, doc=doc, reset=reset, hint="return self.near")


_CAUSAL = (Skill.CAUSAL_INFERENCE,)
CAUSAL = (
    Family("intervene", "text", _CAUSAL, ("names", "control", "functions"), _intervene),
    Family("ripple", "text", _CAUSAL, ("classes", "errors", "types"), _contrast),
)
