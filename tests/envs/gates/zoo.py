"""Small sound environments, one of each kind."""

from __future__ import annotations

SUMS = '''
from spade_envs.api import TextEnv, answer_of


class Sums(TextEnv):
    """Add two numbers."""

    levels = 3
    max_turns = 4

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        top = 10 ** (self.level + 2)
        self.left, self.right = self.draw_int(10, top), self.draw_int(10, top)
        return f"What is {self.left} plus {self.right}? Reply with the number.", {}

    def step(self, action):
        given = answer_of(action)
        if given == str(self.left + self.right):
            return self.win("Right.")
        return self.lose("Wrong.")

    def hint(self):
        return "Add the ones, then the tens with the carry."

    def solution(self):
        return [str(self.left + self.right)]
'''

WALK = '''
from spade_envs.api import TextEnv, answer_of

MOVES = {"north": (0, 1), "south": (0, -1), "east": (1, 0), "west": (-1, 0)}


class Walk(TextEnv):
    """Walk over a plain to the well."""

    levels = 2
    max_turns = 20

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        reach = 5 + 2 * self.level
        self.at = [self.draw_int(0, 20), self.draw_int(0, 20)]
        self.well = [
            self.at[0] + self.draw([-1, 1]) * self.draw_int(3, reach),
            self.at[1] + self.draw([-1, 1]) * self.draw_int(3, reach),
        ]
        self.left = abs(self.at[0] - self.well[0]) + abs(self.at[1] - self.well[1])
        return f"{self.place()} The well is at {self.well}. Say north, south, east or west.", {}

    def place(self):
        return f"You are at {self.at}, with {self.left} steps left."

    def step(self, action):
        move = MOVES.get(answer_of(action).lower())
        if move is None:
            return self.go_on("Say north, south, east or west.")
        self.at = [self.at[0] + move[0], self.at[1] + move[1]]
        self.left -= 1
        if self.at == self.well:
            return self.win("You drink.")
        if self.left == 0:
            return self.lose("You are too tired to go on.")
        return self.go_on(self.place())

    def hint(self):
        return "The first number grows to the east, the second to the north."

    def solution(self):
        east, north = self.well[0] - self.at[0], self.well[1] - self.at[1]
        return ["east" if east > 0 else "west"] * abs(east) + [
            "north" if north > 0 else "south"
        ] * abs(north)
'''

PARCELS = '''
from spade_envs.api import Task, ToolEnv, ToolError, call, finish, tool

NAMES = ["Okafor", "Lindqvist", "Marais", "Tanaka", "Duarte", "Kaya", "Novak", "Adeyemi"]
STREETS = ["Mill Lane", "Quay Street", "Elm Row", "Chapel Hill", "Fore Street", "Kiln Road"]


class Parcels(ToolEnv):
    """Correct a parcel's address and say what it weighs."""

    levels = 2
    max_turns = 8

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        names = self.draw_many(NAMES, 4 + self.level)
        self.state = {
            name: {"number": self.draw_int(1000, 9999), "grams": self.draw_int(200, 9000),
                   "street": self.draw(STREETS)}
            for name in names
        }
        self.name = names[0]
        self.street = self.draw([s for s in STREETS if s != self.state[self.name]["street"]])
        name, street = self.name, self.street
        self.tasks = [
            Task(f"Send the parcel of {name} to {street}.",
                 done=lambda s: s[name]["street"] == street),
            Task("How many grams does it weigh?", answer=lambda s: str(s[name]["grams"])),
        ]
        return self.begin("You run the parcel desk.")

    @tool
    def find_parcel(self, surname: str) -> dict:
        """Look a parcel up by surname.

        Args:
            surname: surname on the label.
        """
        if surname not in self.state:
            raise ToolError("there is no parcel for that surname")
        return self.state[surname]

    @tool
    def set_street(self, number: int, street: str) -> str:
        """Change where a parcel goes.

        Args:
            number: number of the parcel.
            street: the new street.
        """
        for parcel in self.state.values():
            if parcel["number"] == number:
                parcel["street"] = street
                return "changed"
        raise ToolError("there is no such parcel")

    def hint(self):
        return "Look the parcel up first: the change needs its number."

    def solution(self):
        parcel = self.state[self.name]
        return [
            call("find_parcel", surname=self.name),
            call("set_street", number=parcel["number"], street=self.street),
            str(parcel["grams"]),
            finish(),
        ][: 3]
'''

DIGIT = """
import random
import re


class DigitEnv:
    def __init__(self, max_turns=20):
        self.max_turns = max_turns

    def reset(self, seed=None):
        self.rng = random.Random(seed)
        self.n, self.t = self.rng.randint(0, 9), 0
        return "Guess a digit from 0 to 9, in \\\\boxed{}.", {}

    def step(self, action):
        found = re.search(r"boxed\\{(.*?)\\}", action)
        guess = found.group(1) if found else ""
        self.t += 1
        won = guess == str(self.n)
        return ("Yes" if won else "No"), float(won), won or self.t >= 3, False, {}
"""
"""The published shape, sound but for its missing reference."""

SOUND = {"sums": SUMS, "walk": WALK, "parcels": PARCELS}
