"""A small suite for tests: sums, three of them broken on request."""

import os
import time
from dataclasses import dataclass, field

from spade_envs.errors import ConfigError
from spade_envs.types import Message
from spade_train.suites.base import Decoding, Fault, Score, Task


@dataclass
class Sums:
    """Sums to solve; a wrong answer may be mended once."""

    count: int = 6
    broken: tuple = ()
    name: str = "sums"
    version: str = "1"
    labels: dict = field(default_factory=lambda: {"kind": "toy"})
    decoding: Decoding = field(default_factory=lambda: Decoding(samples=2, max_turns=2))

    @property
    def settings(self):
        return {"count": self.count, "broken": list(self.broken)}

    def tasks(self):
        plain = [Task(f"{n}", "small" if n % 2 else "large", {"n": n}) for n in range(self.count)]
        return [*plain, *(Task(each, "broken") for each in self.broken)]

    def open(self, task, *, seed):
        if task.id == "closed":
            return Fault("open", "it is closed")
        return Sum(task, seed)

    def close(self):
        pass


class Sum:
    def __init__(self, task, seed):
        self.task, self.seed = task, seed
        self.one, self.other = task.detail.get("n", 1), seed % 97
        self.messages = (Message("user", f"{self.one} + {self.other} = ?"),)
        self.done = self.right = False

    def reply(self, said):
        kind = self.task.id
        if kind == "hang" and said:
            time.sleep(1000)
        if kind == "die" and said:
            os._exit(7)
        if kind == "raise" and said:
            raise RuntimeError("two\nlines")
        self.right = said.strip() == self.reference()
        turns = len(self.messages)
        self.done = self.right or turns > 2
        print("noise on standard output")
        new = (
            (Message("assistant", said),)
            if self.done
            else (Message("assistant", said), Message("user", "wrong, again"))
        )
        self.messages = (*self.messages, *new)

    def score(self):
        if self.task.id == "nan":
            return Score(value=float("nan"), success=False)
        value = float(self.right) if self.done else 0.25
        return Score(value=value, success=self.right, detail={"turns": len(self.messages) // 2})

    def reference(self):
        return None if self.task.id == "unknown" else str(self.one + self.other)

    def random(self, rng):
        return str(rng.randrange(1000))

    def close(self):
        self.closed = True


def make(**settings):
    if settings.get("count", 1) < 1:
        raise ConfigError("count must be >= 1")
    if settings.get("count") == 13:
        raise RuntimeError("no such data")
    if settings.get("count") == 14:
        import torch  # noqa: F401
    settings["broken"] = tuple(settings.get("broken", ()))
    return Sums(**settings)


def solve(messages):
    """Solve sums whose first number is odd."""
    one, other = messages[0].content.removesuffix(" = ?").split(" + ")
    return str(int(one) + int(other)) if int(one) % 2 else "no idea"
