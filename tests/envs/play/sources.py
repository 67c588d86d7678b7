"""Small environments for the tests of this room."""

from spade_envs.types import EnvSource

COUNTER = EnvSource(
    code='''
from spade_envs.api import TextEnv, answer_of


class Counter(TextEnv):
    """Say the sum of the numbers shown so far."""

    levels = 3
    max_turns = 4

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.total = self.draw_int(10, 9999) + self.level * 10000
        return f"{self.total}", {"options": options or {}}

    def step(self, action):
        if action == "raise":
            raise ValueError("as asked")
        if action == "nan":
            return "x", float("nan"), False, False, {}
        if action == "hang":
            while True:
                pass
        if action == "die":
            import os
            os._exit(3)
        if answer_of(action) == str(self.total):
            return self.win("Right.")
        more = self.draw_int(1, 9)
        self.total += more
        return self.go_on(f"{more}", more=more)

    def hint(self):
        return "Add."

    def solution(self):
        return [str(self.total)]
'''
)

BROKEN_RESET = EnvSource(
    code='''
from spade_envs.api import TextEnv


class BrokenReset(TextEnv):
    """Fails for odd seeds."""

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        if seed % 2:
            raise RuntimeError("odd")
        return "even", {}

    def step(self, action):
        return self.win("ok")
'''
)

CHEAT = EnvSource(
    code='''
from spade_envs.api import TextEnv


class Cheat(TextEnv):
    """Keep neither its turns nor its reward range."""

    max_turns = 3

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        return "go", {}

    def step(self, action):
        if action == "bonus":
            return self.win("Rich.", reward=50.0)
        self.turn = 0
        return self.go_on("on", reward=0.25 if action == "pay" else 0.0)
'''
)
