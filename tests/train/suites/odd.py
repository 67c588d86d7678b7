"""A suite of somebody who took the protocol lightly: what is odd about it is a setting."""

import os
from dataclasses import dataclass

from spade_envs.types import Message
from spade_train.suites.base import Decoding, Fault, Score, Task

SCORES = {
    "success is a text": lambda: Score(value=1.0, success="no"),
    "no success": lambda: Score(value=1.0, success=None),
    "value above one": lambda: Score(value=2.0, success=True),
    "value is a text": lambda: Score(value="1", success=True),
    "detail is a list": lambda: Score(value=1.0, success=True, detail=[1]),
    "no score": lambda: None,
    "a pair": lambda: (1.0, True),
    "fault with a number": lambda: Fault("score", 5),
}
TASKS = {
    "group is a number": [Task("a", 1)],
    "name is a number": [Task(1, "g")],
    "two of one name": [Task("a", "g"), Task("a", "g")],
    "none": [],
}
ABOUT = {
    "label is a number": {"labels": {"kind": 1}},
    "name is a number": {"name": 5},
    "version is a number": {"version": 5},
    "half a sample": {"decoding": Decoding(samples=1.5)},
}


class Odd:
    def __init__(self, how):
        self.how, self.name, self.version, self.labels = how, "odd", "1", {}
        self.settings, self.decoding = {"how": how}, Decoding()
        vars(self).update(ABOUT.get(how, {}))

    def tasks(self):
        return TASKS.get(self.how, [Task("a", "g"), Task("b", "g")])

    def open(self, task, *, seed):
        return Attempt(self.how)

    def close(self):
        pass


@dataclass
class Attempt:
    how: str
    done: bool = False

    @property
    def messages(self):
        return (Message("user", "?"),)

    def reply(self, said):
        self.done = True

    def score(self):
        return SCORES[self.how]() if self.how in SCORES else Score(value=True, success=True)

    def reference(self):
        if self.how == "reference raises":
            raise ValueError("no key")
        return {"reference is a number": 5, "no reference": None}.get(self.how, "x")

    def random(self, rng):
        return "?"

    def close(self):
        pass


def make(how="nothing"):
    return Odd(how)


def leave(messages):
    raise SystemExit(0)


def noisy(messages):
    print("noise of a policy")
    return "x"


def wander(messages):
    os.chdir("/")
    return "x"
