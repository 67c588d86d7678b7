"""Environments in text that take several steps."""

# ruff: noqa: E501  lines of the programs, which must come out as they stand

from __future__ import annotations

from spade_envs.types import Skill
from spade_train.nano.families.form import Draw, Family, Theme, stepwise

_LETTERS = ("ABCDEFGHIJKLMNOPQRST", "BCDFGHJKLMNPQRSTVWXZ", "KLMNOPQRSTUVWXYZABC")


def _hops(draw: Draw, theme: Theme) -> str:
    stride = draw.int(2, 3)
    arrow = draw.pick((" > ", " -> ", " to "))
    turns = draw.int(2, 4) if stride == 2 else draw.int(2, 3)
    text = draw.pick(
        (
            f"Links between {theme.many}: {{links}}. You are at {{a}}. Say where {{k}} links on "
            "you are; repeat until you are told to stop.",
            f"Each {theme.word} refers to one other: {{links}}. Start at {{a}} and name, in each "
            "message, the one {k} steps further.",
        )
    )
    reset = f"""
        n = {theme.size(draw, 10, steep=False)}
        row = self.draw_many("{draw.pick(_LETTERS)}", n)
        self.next = dict(zip(row, row[1:] + row[:1]))
        links = ", ".join(f"{{a}}{arrow}{{b}}" for a, b in self.shuffled(list(self.next.items())))
        k = self.k = {stride}
        a = self.at = row[0]
        return f"{text}", {{}}
    """
    step = f"""
        a = self.jump(self.at)
        if answer_of(action).upper() != a:
            return self.lose("{draw.pick(("Wrong.", "That is not it.", "You are lost."))}")
        self.at = a
        if self.turn == self.max_turns:
            return self.win("You may stop.")
        return self.go_on(f"You are at {{a}}. Go on.")
    """
    helper = """
        def jump(self, a):
            for _ in range(self.k):
                a = self.next[a]
            return a
    """
    hint = """
        return f"From {self.at} the next is {self.next[self.at]}."
    """
    solution = """
        path = [self.at]
        for _ in range(self.max_turns - self.turn):
            path.append(self.jump(path[-1]))
        return path[1:]
    """
    return stepwise(
        draw,
        name=theme.Word + draw.pick(("Hops", "Links", "Trail", "Refs")),
        doc=f"Follow links from {theme.word} to {theme.word}.",
        reset=reset,
        step=step,
        helper=helper,
        hint=hint,
        solution=solution,
        turns=turns,
    )


_RULES = (
    ("t + x", "t + x"),
    ("t * 2 - x", "2 * t - x"),
    ("t + x * {a}", "t + {a} * x"),
    ("abs(t - x * {a})", "|t - {a} * x|"),
    ("(t + x) % {m}", "(t + x) mod {m}"),
    ("(t * {a} + x) % {m}", "({a} * t + x) mod {m}"),
    ("(t + x * x) % {m}", "(t + x * x) mod {m}"),
)


def _tally(draw: Draw, theme: Theme) -> str:
    a, m, turns = str(draw.int(2, 7)), str(draw.int(101, 499)), draw.int(3, 5)
    code, words = (part.replace("{a}", a).replace("{m}", m) for part in draw.pick(_RULES))
    text = draw.pick(
        (
            f"t starts at {{self.t}}. Each {theme.word} x makes it {words}. Answer with the new t "
            "each time. x = {x}.",
            f"Keep a count t, now {{self.t}}. For every {theme.word} x that you are shown, set t to "
            f"{words} and say it. x = {{x}}.",
        )
    )
    reset = f"""
        self.t = self.draw_int({draw.int(1, 9)}, {draw.int(20, 99)})
        high = {draw.int(30, 60)} * (1 + self.level)
        self.xs = [self.draw_int({draw.int(2, 12)}, high) for _ in range(self.max_turns)]
        x = self.xs[0]
        return f"{text}", {{}}
    """
    step = f"""
        self.t = self.turned(self.t, self.xs[self.turn - 1])
        if answer_of(action) != str(self.t):
            return self.lose("{draw.pick(("Wrong.", "That is not t.", "You lost count."))}")
        if self.turn == self.max_turns:
            return self.win("{draw.pick(("Done.", "All right.", "That was the last."))}")
        return self.go_on(f"x = {{self.xs[self.turn]}}.")
    """
    helper = f"""
        def turned(self, t, x):
            return {code}
    """
    hint = """
        x = self.xs[self.turn]
        return f"t was {self.t}. With half of x, rounded down, it would be {self.turned(self.t, x // 2)}."
    """
    solution = """
        t, told = self.t, []
        for x in self.xs[self.turn :]:
            t = self.turned(t, x)
            told.append(str(t))
        return told
    """
    return stepwise(
        draw,
        name=theme.Word + draw.pick(("Tally", "Count", "Meter", "Register")),
        doc=f"Keep a count while each {theme.word} arrives.",
        reset=reset,
        step=step,
        helper=helper,
        hint=hint,
        solution=solution,
        turns=turns,
    )


def _reach(draw: Draw, theme: Theme) -> str:
    add, less, times = draw.int(3, 13), draw.int(1, 6), draw.int(2, 4)
    text = draw.pick(
        (
            f"The {theme.word} is {{self.t}}. One move per message: add, sub or mul; they add {{x}}, "
            "subtract {y} and multiply by {z}. Reach {self.goal} in {n} moves.",
            f"Bring the {theme.word} from {{self.t}} to {{self.goal}} in exactly {{n}} moves. A move "
            "is add (plus {x}), sub (minus {y}) or mul (times {z}), one per message.",
        )
    )
    turns = draw.int(10, 12)
    reset = f"""
        n = self.left = {theme.size(draw, 4, steep=False)}
        x, y, z = self.by = ({add}, {less}, {times})
        t = self.t = self.draw_int({draw.int(2, 5)}, {draw.int(12, 40)})
        self.plan = [self.draw(["add", "sub", "mul"]) for _ in range(n)]
        for a in self.plan:
            t = self.moved(t, a)
        self.goal = t
        return f"{text}", {{}}
    """
    helper = """
        def moved(self, t, a):
            x, y, z = self.by
            return {"add": t + x, "sub": t - y, "mul": t * z}[a]
    """
    step = f"""
        a = answer_of(action).lower()
        if a not in ("add", "sub", "mul"):
            return self.lose("{draw.pick(("That is no move.", "Not a move.", "Unknown move."))}")
        self.t = self.moved(self.t, a)
        self.left = self.left - 1
        if self.left:
            return self.go_on(f"It is {{self.t}} now, {{self.left}} moves left.")
        if self.t == self.goal:
            return self.win("{draw.pick(("Reached.", "Right.", "There."))}")
        return self.lose("Missed.")
    """
    hint = """
        k = self.plan[self.turn :].count("mul")
        return f"From here, {k} of the moves are multiplications."
    """
    return stepwise(
        draw,
        name=theme.Word + draw.pick(("Reach", "Goal", "Target", "Moves")),
        doc=f"Bring {theme.one} to a target in a few moves.",
        reset=reset,
        step=step,
        helper=helper,
        hint=hint,
        solution="return self.plan[self.turn :]",
        turns=turns,
    )


TURNS = (
    Family(
        "hops",
        "text",
        (Skill.LOGICAL_DEDUCTION, Skill.SPATIAL_REASONING, Skill.CAUSAL_INFERENCE),
        ("names", "classes", "files"),
        _hops,
    ),
    Family("tally", "text", (Skill.MATHEMATICAL_REASONING,), ("control", "errors"), _tally),
    Family("reach", "text", (Skill.OPTIMIZATION,), ("numbers", "errors"), _reach),
)
