"""Small sound environments whose answers are words, lists and choices."""

from __future__ import annotations

from envs.gates.zoo import SUMS

MIRROR = '''
from spade_envs.api import TextEnv, answer_of

LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Mirror(TextEnv):
    """Write a word backwards."""

    levels = 2
    max_turns = 3

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.word = "".join(self.draw_many(LETTERS, 6 + self.level))
        return f"Write {self.word} from right to left, in \\\\boxed{{}}.", {}

    def step(self, action):
        given, right = answer_of(action), self.word[::-1]
        if given == right:
            return self.win("Right.")
        return self.lose("Wrong.")

    def solution(self):
        return ["\\\\boxed{" + self.word[::-1] + "}"]
'''

RANKING = '''
from spade_envs.api import TextEnv, answer_of

NAMES = ["Ada", "Bo", "Cy", "Dee", "Eli", "Flo", "Gus", "Hal", "Ida", "Jo"]


class Ranking(TextEnv):
    """Put runners in the order of their times."""

    max_turns = 3

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        names = self.draw_many(NAMES, 6)
        times = self.draw_many(list(range(60, 99)), 6)
        self.order = [name for _, name in sorted(zip(times, names))]
        rows = ", ".join(f"{name} {time} s" for name, time in zip(names, times))
        return f"{rows}. Name the runners in the order of their times, separated by commas.", {}

    def step(self, action):
        given, right = [part.strip() for part in answer_of(action).split(",")], self.order
        if given == right:
            return self.win("Right.")
        return self.lose("Wrong.")

    def solution(self):
        return [", ".join(self.order)]
'''

BAG = '''
from spade_envs.api import TextEnv, answer_of


class Bag(TextEnv):
    """Pick the even numbers."""

    max_turns = 3

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        numbers = self.draw_many(list(range(100, 999)), 10)
        self.even = [n for n in numbers if n % 2 == 0] or [numbers[0] // 2 * 2]
        shown = ", ".join(map(str, sorted({*numbers, *self.even})))
        return f"Which of {shown} are even? List them, separated by commas.", {}

    def step(self, action):
        parts = [part.strip() for part in answer_of(action).split(",")]
        given, right = parts, {str(n) for n in self.even}
        if len(given) == len(right) and set(given) == right:
            return self.win("Right.")
        return self.lose("Wrong.")

    def solution(self):
        return [", ".join(map(str, self.even))]
'''

BETWEEN = '''
from spade_envs.api import TextEnv, answer_of


class Between(TextEnv):
    """Name a number in a range: many answers are right."""

    max_turns = 3

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.low = self.draw_int(1000, 9000)
        self.high = self.low + self.draw_int(4, 40)
        return f"Name a number greater than {self.low} and less than {self.high}.", {}

    def step(self, action):
        given = answer_of(action)
        if given.isascii() and given.isdigit() and len(given) < 9:
            if self.low < int(given) < self.high:
                return self.win("Right.")
        return self.lose("Wrong.")

    def solution(self):
        return [str(self.low + 2)]
'''

QUESTIONS = '''
from spade_envs.api import TextEnv, answer_of


class Questions(TextEnv):
    """Find a hidden number by asking for its digits."""

    max_turns = 8

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.number = str(self.draw_int(1000, 9999))
        return (
            "A number of four digits is hidden. Say 'digit N' to see its N-th digit, or give the "
            "number in \\\\boxed{}. You can answer once."
        ), {}

    def step(self, action):
        given = answer_of(action)
        if "boxed" not in action and given.startswith("digit "):
            place = given[6:]
            if place in ("1", "2", "3", "4"):
                return self.go_on(self.number[int(place) - 1])
            return self.go_on("There is no such digit.")
        if given == self.number:
            return self.win("Right.")
        return self.lose("Wrong.")

    def solution(self):
        return [f"digit {n}" for n in range(1, 5)] + ["\\\\boxed{" + self.number + "}"]
'''

CAPITALS = r'''
import random
import re

PLACES = {"Aldmoor": "Quell", "Brenn": "Tasso", "Cadra": "Ubrin", "Dorle": "Vesk", "Esper": "Wylde",
          "Fenn": "Xanto", "Garro": "Yarr", "Hollin": "Zeld", "Istra": "Orlo", "Jute": "Pell"}


class CapitalEnv:
    """Tell the capital of a made-up country."""

    def __init__(self, max_turns=3):
        self.max_turns = max_turns

    def reset(self, seed=None):
        self.rng = random.Random(seed)
        self.country = self.rng.choice(list(PLACES))
        self.code = self.rng.randint(10, 99)
        self.turns = 0
        table = "; ".join(f"{name}: {city}" for name, city in PLACES.items())
        text = f"{table}. What is the capital of {self.country}? Write the capital, a hyphen and "
        return text + f"{self.code}, such as Rome-17, in \\boxed{{}}.", {}

    def step(self, action):
        self.turns += 1
        boxes = re.findall(r"\\boxed\{([^{}]*)\}", action)
        given = boxes[-1].strip() if boxes else ""
        right = self.solution()
        if given == right:
            return "Right.", 1.0, True, False, {"success": True}
        return "Wrong.", 0.0, True, False, {"success": False}

    def solution(self):
        return f"{PLACES[self.country]}-{self.code}"
'''

SOUND = {
    "sums": SUMS,
    "mirror": MIRROR,
    "ranking": RANKING,
    "bag": BAG,
    "between": BETWEEN,
    "questions": QUESTIONS,
    "capitals": CAPITALS,
}
