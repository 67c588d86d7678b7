"""One sandbox for the whole folder, and a small environment to put in it."""

import sys

import pytest

from spade_envs.sandbox import Sandbox, Worker
from spade_envs.types import EnvSource, Limits

LIMITS = Limits(load_timeout_s=10.0, reset_timeout_s=5.0, step_timeout_s=1.0, memory_mb=256)

COUNTER = '''
import numpy as np
from spade_envs.api import TextEnv

class Counter(TextEnv):
    """Add numbers up to a secret sum."""

    levels = 3
    max_turns = 500

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.total = 0
        self.goal = self.draw_int(0, 10**9)
        return f"level {self.level} options {options}", {"goal": self.goal}

    def step(self, action):
        if action == "hang":
            while True:
                pass
        if action == "exit":
            import posix
            posix._exit(1)
        if action == "raise":
            return self.total / 0
        if action == "numpy":
            info = {"n": np.int64(3), "t": (1,)}
            return "x", np.float32(0.5), np.bool_(False), np.bool_(True), info
        if action == "long":
            return "é" * 200_000, 0.0, False, False, {}
        if action == "win":
            return self.win("won")
        self.total += len(action)
        noise = self.draw_int(0, 999)
        return self.go_on(f"{self.total} {noise}", seen=action[:20])

    def hint(self):
        return f"the goal is near {self.goal // 10}"

    def solution(self):
        return ["win"]
'''


def pytest_collection_modifyitems(items):
    if sys.platform != "linux":
        for item in items:
            item.add_marker(pytest.mark.skip(reason="the sandbox needs Linux"))


@pytest.fixture(scope="session")
def sandbox():
    with Sandbox() as opened:
        yield opened


@pytest.fixture
def load(sandbox):
    """Return a function that loads code and fails on a fault; workers are closed afterwards."""
    opened = []

    def loaded(code: str, **settings) -> Worker:
        settings.setdefault("limits", LIMITS)
        worker = sandbox.load(EnvSource(code=code), **settings)
        assert isinstance(worker, Worker), worker
        opened.append(worker)
        return worker

    yield loaded
    for worker in opened:
        worker.close()


@pytest.fixture(scope="session")
def counter_code():
    return COUNTER


@pytest.fixture
def counter(load):
    return load(COUNTER)
