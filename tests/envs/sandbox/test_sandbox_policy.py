"""The admission linter: ordinary code passes, tricks are found on their line."""

import subprocess
import sys
from pathlib import Path

import pytest

from spade_envs.sandbox.names import ALLOWED_MODULES
from spade_envs.sandbox.policy import MAX_CHARS, lint
from spade_envs.types import EnvSource, Fault

ORDINARY = '''
from __future__ import annotations
import collections.abc
import itertools, json, math, random, re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from typing import ClassVar
import gymnasium as gym
import numpy as np
from spade_envs.api import Task, ToolEnv, call, finish, tool

class Way(Enum):
    NORTH = "n"
    SOUTH = "s"

@dataclass
class Room:
    name: str
    items: list[str] = field(default_factory=list)
    _seen: int = 0

class _Box:
    __slots__ = ("__held", "_also")
    def __init__(self, held):
        self.__held = held
        self._also = held
    def held(self):
        return self.__held + self._also
    def __len__(self):
        return 3

class Depot(ToolEnv):
    """Run a depot."""
    levels = 3
    max_turns: ClassVar[int] = 10

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.rng = random.Random(seed)
        self.own = np.random.default_rng(seed)
        self._grid = [[0] * 3 for _ in range(3)]
        self._grid[1][2] += 5
        self.count: int = self.draw_int(0, 9)
        self.count += 1
        self.load = self.count
        counts = defaultdict(int)
        counts["k"] += 2
        first, (second, *rest) = 1, (2, 3, 4)
        def bump():
            nonlocal first
            first += 1
        bump()
        id = 3
        when = datetime(2024, 1, 2) + timedelta(days=self.rng.randint(0, 9))
        day = datetime.strptime("2024-01-05", "%Y-%m-%d").day
        text = "{} and {x}".format(first, x=second) + f" {math.pi:.3f} {when:%Y-%m-%d} {day} {id}"
        text += f" {_Box(3).held()} {len(_Box(1))} {self.own.integers(0, 100)} {self.load}"
        text += f" {json.dumps(dict(counts))} {sorted(Counter('hello').items())} {rest}"
        self.state = {"rooms": {"a": Room("a", ["x"])}, "n": self.count, "way": self.way("go n")}
        self.tasks = [Task("How many?", answer=lambda s: str(s["n"]))]
        return self.begin(text)

    def way(self, action):
        match action.split():
            case ["go", way] if way in ("n", "s"):
                found = Way(way)
            case ["look", *_]:
                found = None
            case _:
                found = Way.NORTH
        match found:
            case Way.NORTH:
                return "north"
            case None:
                return "nowhere"
        return self.__class__.__name__

    @tool
    def count_things(self, kind: str, most: int = 3) -> str:
        """Count the things of a kind.

        Args:
            kind: what to count.
            most: greatest count.
        """
        grid = np.zeros((3, 3))
        grid[0, :] = most
        grid += 1
        if (found := re.search(r"(\\d+)", kind)) and int(found.group(1)) > 3:
            return "many"
        try:
            pairs = [a + b for a, b in zip("ab", "cd") if a < b]
        except (ValueError, KeyError) as error:
            pairs = [str(error)]
        print("debug")
        firsts = list(itertools.islice(itertools.count(), 4))
        return f"{grid.sum()} {pairs} {firsts} {self.state['n']} {getattr(self, 'count', 0)}"

    def solution(self):
        return [call("count_things", kind="x"), finish(str(self.state["n"]))]

if __name__ == "__main__":
    print("hello")
'''


def test_ordinary_code_has_no_findings():
    assert lint(EnvSource(code=ORDINARY)) == ()


def test_restricted_and_plain_runs_of_ordinary_code_agree(load):
    seen = []
    for mode in ("plain", "restricted"):
        worker = load(ORDINARY, mode=mode)
        number = worker.create(1)
        first = worker.reset([(number, 5, None)])[0]
        assert first.fault is None
        actions = [*worker.solution(number)[:1], "what?"]
        seen.append((worker.interface, first, [worker.step([(number, a)])[0] for a in actions]))
    assert seen[0] == seen[1]
    assert seen[0][2][0].fault is None
    assert "36.0" in seen[0][2][0].observation or "18.0" in seen[0][2][0].observation


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("import os", "import"),
        ("import subprocess as s", "import"),
        ("from sys import modules", "import"),
        ("from . import x", "import"),
        ("from math import *", "restricted"),
        ("import time", "global-rng"),
        ("from random import choice", "global-rng"),
        ("from numpy import ctypeslib", "attribute"),
        ("x = eval('1')", "name"),
        ("x = open('f')", "name"),
        ("x = __import__('os')", "name"),
        ("x = __builtins__", "name"),
        ("x = globals()", "name"),
        ("x = vars()", "name"),
        ("x = hash('a')", "global-rng"),
        ("x = sorted([], key=id)", "global-rng"),
        ("x = ().__class__.__bases__", "restricted"),
        ("x = (lambda: 0).__globals__", "restricted"),
        ("x = (i for i in ()).gi_frame", "restricted"),
        ("x = TextEnv.get_wrapper_attr", "attribute"),
        ("x = np.random.PCG64(1).ctypes", "attribute"),
        ("np.zeros(3).dump('f')", "attribute"),
        ("np.zeros(3).tofile('f')", "attribute"),
        ("np.save('f', 1)", "attribute"),
        ("x = np.lib", "attribute"),
        ("x = random._os", "attribute"),
        ("x = json.codecs", "attribute"),
        ("x = dataclasses.sys", "attribute"),
        ("x = operator.attrgetter('a')", "attribute"),
        ("x = '{0.__class__}'.format(1)", "attribute"),
        ("x = getattr(1, '__dict__')", "attribute"),
        ("x = type('A', (), {})", "name"),
        ("x = random.random()", "global-rng"),
        ("x = random.Random()", "global-rng"),
        ("x = np.random.rand()", "global-rng"),
        ("x = np.random.default_rng()", "global-rng"),
        ("x = np.random.default_rng(None)", "global-rng"),
        ("x = datetime.datetime.now()", "global-rng"),
        ("x = datetime.date.today()", "global-rng"),
        ("random.choice = None", "shared-state"),
        ("TextEnv.step = None", "shared-state"),
        ("TextEnv.metadata['a'] = 1", "shared-state"),
        ("TextEnv.metadata.update(a=1)", "shared-state"),
        ("class A(metaclass=type): pass", "restricted"),
        ("async def f(): pass", "restricted"),
        ("def __getattr__(name): pass", "restricted"),
        ("_getattr_ = 1", "restricted"),
        ("def broken(:", "syntax"),
    ],
)
def test_tricks_are_found_on_their_line(line, code):
    head = (
        "import random, json, dataclasses, operator, datetime\n"
        "import numpy as np\n"
        "from spade_envs.api import TextEnv\n"
    )
    found = lint(EnvSource(code=head + line + "\n"))
    assert (4, code) in {(item.line, item.code) for item in found}


def test_clean_lines_beside_tricks_are_not_blamed():
    found = lint(EnvSource(code="import math\nimport os\nx = math.pi\n"))
    assert [(item.line, item.code) for item in found] == [(2, "import")]


def test_a_huge_source_is_refused_unread():
    assert [item.code for item in lint(EnvSource(code="#" * (MAX_CHARS + 1)))] == ["size"]


def test_a_source_too_deep_to_parse_is_a_finding_not_a_crash():
    found = lint(EnvSource(code="x = " + "(" * 5000 + ")" * 5000))
    assert [item.code for item in found] == ["syntax"]


@pytest.mark.parametrize(
    "body",
    [
        "import os",
        "import gymnasium as gym; gym.Env.get_wrapper_attr(self, '__class__')",
        "import random; random.choice = None",
        "open('/etc/passwd')",
        "getattr(self, '__di' + 'ct__')",
        "'{0.__class__}'.format(self)",
        "import random; random._os",
        "import json; json.codecs",
    ],
)
def test_the_restricted_run_stops_what_the_plain_run_would_try(load, body):
    worker = load(
        "from spade_envs.api import TextEnv\n"
        "class A(TextEnv):\n"
        "    def reset(self, *, seed=None, options=None):\n"
        f"        {body}\n"
        "        return 'done', {}\n",
        mode="restricted",
    )
    number = worker.create(0)
    assert worker.reset([(number, 1, None)])[0].fault.kind == "exception"


def test_what_the_policy_does_not_admit_does_not_load_restricted(sandbox):
    fault = sandbox.load(EnvSource(code="x = 1\ny = x.__dict__\n"), mode="restricted")
    assert isinstance(fault, Fault)
    assert "line 2" in fault.traceback or "line 2" in fault.message


def test_the_host_does_not_load_restrictedpython_to_play():
    code = "import sys, spade_envs.sandbox; print('RestrictedPython' in sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "False"


def test_the_modules_that_a_source_may_import_are_documented():
    text = (Path(__file__).parents[3] / "docs/gates.md").read_text()
    section = text.split("## What a source may import")[1].split("\n## ")[0]
    assert {name for name in ALLOWED_MODULES if f"`{name}`" not in section} == set()
