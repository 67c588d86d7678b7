"""The environment that is stepped, as text and as a class, and a store that holds it."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import gymnasium as gym

from spade_envs._version import GATES_VERSION
from spade_envs.api import TextEnv
from spade_envs.api.loading import find_entry, interface_of
from spade_envs.sandbox import Worker, default_sandbox
from spade_envs.store import EnvStore, open_store
from spade_envs.types import EnvSource, GateResult, Record, Report

ACTION = "look at the lamp"

# It does as little as an environment can, so every cost that is measured is ours.
SOURCE = EnvSource(
    code='''\
"""A room that answers."""

import gymnasium as gym

from spade_envs.api import TextEnv


class Room(TextEnv):
    """Say something and hear it."""

    max_turns = 1000

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.heard = 0
        return "A dark room. Say something.", {}

    def step(self, action):
        self.heard += 1
        return self.go_on(f"You hear {action!r} for the {self.heard}. time.")
''',
    origin="room.py",
)


def answer(turn: int) -> str:
    """Return what the environment says after `turn` steps of `ACTION`, turn >= 1."""
    return f"You hear {ACTION!r} for the {turn}. time."


def local_class() -> type[TextEnv]:
    """Return the environment's class, loaded into this process."""
    module = ModuleType("benchmarks_room")
    exec(compile(SOURCE.code, SOURCE.origin, "exec"), module.__dict__)
    return find_entry(module.__dict__)


def load() -> Worker:
    """Return a sandboxed worker that has loaded the environment."""
    worker = default_sandbox().load(SOURCE)
    if not isinstance(worker, Worker):
        raise RuntimeError(f"the workload does not load: {worker}")
    return worker


def create(worker: Worker, count: int) -> list[int]:
    """Return the numbers of `count` new instances."""
    numbers = [worker.create(0) for _ in range(count)]
    if faults := [number for number in numbers if not isinstance(number, int)]:
        raise RuntimeError(f"the workload cannot be constructed: {faults[0]}")
    return [number for number in numbers if isinstance(number, int)]


def publish(store: EnvStore, *, refresh: bool = True) -> Record:
    """Add the environment to a store, with a report that admits it unseen."""
    report = Report(
        source_sha256=SOURCE.sha256,
        gates_version=GATES_VERSION,
        interface=interface_of(local_class()),
        results=(GateResult(gate="L0.1", title="unseen", outcome="pass", message="not checked"),),
    )
    by_hand = {"method": "hand-written", "author": "spade-envs benchmarks"}
    return store.add(SOURCE, report, by_hand, name="bench-room", refresh=refresh)


@contextlib.contextmanager
def scratch_store() -> Iterator[EnvStore]:
    """Give an empty envstore in a temporary folder; its registrations end with it."""
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(Path(folder) / "envstore", create=True)
        yield store
    for env_id, spec in list(gym.registry.items()):
        if spec.kwargs.get("store") == str(store.root):
            del gym.registry[env_id]
