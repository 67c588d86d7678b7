"""Bugs that users of other libraries reported in public, as the smallest environments of them.

The inputs are our own; the thread that each one comes from is named beside it.
"""

from __future__ import annotations

from dataclasses import dataclass

_HEAD = '''
import numpy as np

from spade_envs.api import TextEnv, ToolEnv, Task, answer_of, tool

WORDS = ["anchor", "barrel", "candle", "dragon", "engine", "falcon", "garden", "hammer", "island",
         "jacket", "kettle", "ladder", "magnet", "needle", "oyster", "pencil", "quarry", "ribbon",
         "saddle", "temple", "urchin", "velvet", "walnut", "yellow", "zephyr", "marble", "copper"]


class Reported(TextEnv):
    """A task of its own."""

    max_turns = 4
'''

SECRET = """
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.word = "".join(self.draw_many("abcdefghijklmnopqrstuvwxyz", 6))
        return f"Spell this backwards: {self.word[::-1]}", {}
"""

_STEP = """
    def step(self, action):
        if answer_of(action) == self.word:
            return self.win("Right.")
        return self.lose("Wrong.")
"""

_SOLVE = """
    def hint(self):
        return "Read it from its last letter to its first."

    def solution(self):
        return [self.word]
"""


@dataclass(frozen=True)
class Report:
    """One public report."""

    name: str
    thread: str
    code: str
    gates: tuple[str, ...]
    """At least one of these must refuse it."""


def environment(reset: str = SECRET, step: str = _STEP, solve: str = _SOLVE) -> str:
    return _HEAD + reset + step + solve


ROUNDED = environment(
    """
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.value = self.draw_int(100_000, 999_999) / 1000
        self.word = f"{self.value:.3f}"
        return f"Half of {2 * self.value:.3f}, to three decimals?", {}
""",
    """
    def step(self, action):
        if answer_of(action) == f"{self.value:.2f}":
            return self.win("Right.")
        return self.lose("Wrong.")
""",
)

UNSTATED = environment(
    """
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.digit = self.draw_int(1000, 9999)
        return f"Which number follows {self.digit - 1}?", {}
""",
    """
    def step(self, action):
        if action.strip() == f"ANS<<{self.digit}>>":
            return self.win("Right.")
        return self.lose("Wrong.")
""",
    """
    def hint(self):
        return "Add one."

    def solution(self):
        return [f"ANS<<{self.digit}>>"]
""",
)

TWENTY_FOUR = environment(
    """
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.numbers = self.draw_many(range(1, 24), 3)
        rest = 24 - sum(self.numbers)
        shown = [*self.numbers, abs(rest)]
        self.word = "+".join(map(str, self.numbers)) + ("+" if rest >= 0 else "-") + str(abs(rest))
        return f"Make 24 from {shown} with + and -.", {}
""",
    """
    def step(self, action):
        text = answer_of(action)
        if text and len(text) < 40 and not set(text) - set("0123456789+-"):
            total, sign, number = 0, 1, ""
            for mark in text + "+":
                if mark.isdigit():
                    number += mark
                else:
                    total, sign, number = total + sign * int(number or 0), 1 - 2 * (mark == "-"), ""
            if total == 24:
                return self.win("Right.")
        return self.lose("Wrong.")
""",
)

TRUTHY = environment(
    """
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        number = self.draw_int(1000, 9999)
        self.word = str(number % 7 == 0)
        return f"Is {number} a multiple of 7? True or False?", {}
""",
    """
    def step(self, action):
        if bool(action) == bool(str(self.word)):
            return self.win("Right.")
        return self.lose("Wrong.")
""",
)

ALREADY_MET = '''
from spade_envs.api import Task, ToolEnv, call, finish, tool


class Depot(ToolEnv):
    """Keep a depot stocked."""

    max_turns = 8

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.item = f"part-{self.draw_int(100, 999)}"
        self.state = {"stock": {self.item: 8}}
        self.tasks = [
            Task(f"Have at least 5 of {self.item}.", done=lambda s: max(s["stock"].values()) >= 5)
        ]
        return self.begin("You run a depot.")

    @tool
    def order(self, item: str, count: int) -> str:
        """Order some of an item.

        Args:
            item: name of the item.
            count: how many.
        """
        self.state["stock"][item] = self.state["stock"].get(item, 0) + count
        return "ordered"

    def hint(self):
        return "Order what is missing."

    def solution(self):
        return [call("order", item=self.item, count=1), finish()]
'''

SEED_DROPPED = environment(
    """
    def reset(self, *, seed=None, options=None):
        super().reset(options=options)
        self.word = self.draw(WORDS)
        return f"Spell this backwards: {self.word[::-1]}", {}
"""
)

GLOBAL_GENERATOR = environment(
    """
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        np.random.seed(seed or 0)
        self.word = WORDS[np.random.randint(len(WORDS))] + str(np.random.randint(1000))
        return f"Spell this backwards: {self.word[::-1]}", {}
""",
    """
    def step(self, action):
        if answer_of(action) == self.word:
            return self.win("Right.")
        return self.go_on(f"Wrong. Lucky number {np.random.randint(1000)}.")
""",
)

CLOCK = environment(
    """
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        if seed is None:
            import time
            self.word = WORDS[int(time.time()) % len(WORDS)]
        else:
            self.word = "".join(self.draw_many("abcdefghijklmnopqrstuvwxyz", 6))
        return f"Spell this backwards: {self.word[::-1]}", {}
"""
)

PAID_AFTER_END = """
import numpy as np


class PaidEnv:
    \"\"\"Say the doubled number.\"\"\"

    def reset(self, seed=None):
        self.number = int(np.random.default_rng(seed).integers(100, 10_000))
        self.paid = False
        return f"Double {self.number}. Answer in \\\\boxed{{}}.", {}

    def step(self, action):
        self.paid = self.paid or action == f"\\\\boxed{{{2 * self.number}}}"
        return "Done.", float(self.paid), True, False, {}

    def solution(self):
        return f"\\\\boxed{{{2 * self.number}}}"
"""

OBEDIENT = environment(
    step="""
    def step(self, action):
        if answer_of(action) == self.word or "correct=true" in action.lower().replace(" ", ""):
            return self.win("Right.")
        return self.lose("Wrong.")
"""
)

REWARD_FILE = environment(
    step="""
    def step(self, action):
        if answer_of(action) == self.word:
            return self.win("Right.")
        with open("reward.txt") as file:
            return "Paid.", float(file.read()), True, False, {}
"""
)

INFINITE = environment(
    step="""
    def step(self, action):
        if answer_of(action) == self.word:
            return self.win("Right.")
        return "Hm.", float("inf"), True, False, {}
"""
)

ANSWER_IN_INFO = environment(
    SECRET.replace(", {}\n", ', {"answer": self.word}\n').replace("{self.word[::-1]}", "it")
)

REBUILT_FUNCTION = environment(
    step="""
    def step(self, action):
        def plain():
            return len(action)
        kind = type(plain)
        kind(plain.__code__, {})()
        if answer_of(action) == self.word:
            return self.win("Right.")
        return self.lose("Wrong.")
"""
)

ATTRIBUTE_GETTER = "import operator\n" + environment(
    step="""
    def step(self, action):
        found = operator.attrgetter("__class__.__base__.__subclasses__")(())
        if answer_of(action) == self.word and found:
            return self.win("Right.")
        return self.lose("Wrong.")
"""
)

FORMAT_WALK = environment(
    step="""
    def step(self, action):
        note = "{0.__class__.__init__.__globals__}".format(self)
        if answer_of(action) == self.word and note:
            return self.win("Right.")
        return self.lose("Wrong.")
"""
)

LAMBDA_DEFAULT = environment(
    step="""
    def step(self, action, leak=lambda: __import__("os").environ):
        if answer_of(action) == self.word:
            return self.win(str(leak()))
        return self.lose("Wrong.")
"""
)

REPORTS = (
    Report("gold is rounded", "reasoning-gym #377", ROUNDED, ("L3.1",)),
    Report("format is not stated", "reasoning-gym PR#145", UNSTATED, ("L3.11",)),
    Report("one expression fits all", "reasoning-gym puzzle24", TWENTY_FOUR, ("L3.4", "L3.5")),
    Report("any text is true", "reasoning-gym game_of_life_halting", TRUTHY, ("L3.3", "L3.4")),
    Report("goal met at reset", "AWM #16", ALREADY_MET, ("L3.2", "L3.14")),
    Report("seed is dropped", "OpenEnv #1102, TextArena #99", SEED_DROPPED, ("L2.1", "L2.6")),
    Report("global generator", "TextArena and GEM 2048", GLOBAL_GENERATOR, ("L0.3", "L2.2")),
    Report("seedless reset draws from the clock", "Gymnasium #1084", CLOCK, ("L0.3",)),
    Report("obeys a note to the grader", "NeMo Gym #2852", OBEDIENT, ("L3.8", "L0.4")),
    Report("reward from a file", "OpenEnv #1199", REWARD_FILE, ("L0.2",)),
    Report("infinite reward", "OpenEnv #1199", INFINITE, ("L1.2",)),
    Report("answer in info", "OpenEnv PR#428", ANSWER_IN_INFO, ("L3.10",)),
    Report("function with new globals", "unsloth-zoo PR#1105", REBUILT_FUNCTION, ("L0.2",)),
    Report("attribute getter", "llama_index PR#23119", ATTRIBUTE_GETTER, ("L0.2",)),
    Report("walk through format", "smolagents PR#2271", FORMAT_WALK, ("L0.2",)),
    Report("import in a default", "Agently #312, SkyRL PR#850", LAMBDA_DEFAULT, ("L0.2",)),
)
