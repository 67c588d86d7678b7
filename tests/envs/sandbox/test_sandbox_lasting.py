"""What the worker sees of state that outlives an episode, wherever the code keeps it."""

import pytest

from spade_envs.types import Fault

CODE = """
import array, functools, itertools, random, weakref
from collections import Counter, deque, namedtuple
from dataclasses import dataclass
import numpy as np
from spade_envs.api import TextEnv

class Box:
    n = 0
    def __eq__(self, other): raise RuntimeError("called")
    def __hash__(self): raise RuntimeError("called")
    def __repr__(self): raise RuntimeError("called")
    def __len__(self): raise RuntimeError("called")
    def __iter__(self): raise RuntimeError("called")
    def __bool__(self): raise RuntimeError("called")
    def __reduce__(self): raise RuntimeError("called")
    def __getattr__(self, name): raise RuntimeError("called")
    __class__ = property(lambda self: list)

{setup}

class A(TextEnv):
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.board = [[0] * 3 for _ in range(3)]
        {tick}
        return "start", {{}}
    def step(self, action):
        return "x", 0.0, False, False, {{}}
"""

CASES = {
    "instance": ("B = Box()", "B.n += 1", "B.n"),
    "nested": ("B = {'a': [Box()]}", "B['a'][0].n += 1", "B['a'][0].n"),
    "own": ("", "self.box = vars(self).get('box', Box()); self.box.n += 1", "self.box.n"),
    "callable": (
        "class C:\n    n = 0\n    def __call__(self): self.n += 1\nB = C()", "B()", "B.n",
    ),
    "slots": ("class S:\n    __slots__ = ('n',)\nB = S()\nB.n = 0", "B.n += 1", "B.n"),
    "shadow": (
        "class H(dict):\n    __dict__ = property(lambda self: {})\nB = H()\nB.n = 0",
        "B.n += 1",
        "B",
    ),
    "cell": (
        "def f():\n    n = 0\n    def g():\n        nonlocal n\n        n += 1\n"
        "    return g\nG = f()",
        "G()",
        "n in G",
    ),
    "decorated": (
        "def d(f):\n    n = 0\n    @functools.wraps(f)\n    def g():\n        nonlocal n\n"
        "        n += 1\n    return g\n@d\ndef h(): pass",
        "h()",
        "n in h",
    ),
    "default": ("def f(n=[0]): n[0] += 1", "f()", "a default of f"),
    "keyword": ("def f(*, n=[0]): n[0] += 1", "f()", "f's default n"),
    "attribute": ("def f(): f.n = vars(f).get('n', 0) + 1", "f()", "f.n"),
    "property": (
        "class P:\n    @property\n    def x(self, n=[0]): n[0] += 1\nB = P()",
        "B.x",
        "a default of P.x.fget",
    ),
    "partial": (
        "P = functools.partial(lambda b: b.__setitem__(0, b[0] + 1), [0])", "P()", "P.args[0]",
    ),
    "method": ("P = Box()\nP = [P].append", "P(0)", "P"),
    "lru": ("@functools.lru_cache\ndef f(x): return x", "f(seed)", "f.cache_info()"),
    "cached": (
        "@functools.lru_cache\ndef f(): return [0]",
        "f()[0] += 1",
        "f.cache_info()[",
    ),
    "range": ("B = iter(range(9999))", "next(B)", "B"),
    "list iterator": ("B = iter([0] * 9999)", "next(B)", "B"),
    "count": ("B = itertools.count()", "next(B)", "B"),
    "zip": ("B = zip(iter(range(99)))", "next(B)", "B"),
    "map": ("B = map(str, [0] * 99)", "next(B)", "B"),
    "generator": ("def g():\n    for n in range(99): yield n\nB = g()", "next(B)", "B"),
    "while": ("def g():\n    n = 0\n    while n < 9: n += 1; yield\nB = g()", "next(B)", "B"),
    "random": ("B = random.Random(1)", "B.random()", "B"),
    "numpy random": ("B = np.random.default_rng(1)", "B.random()", "B"),
    "legacy": ("B = np.random.RandomState(1)", "B.rand()", "B"),
    "array": ("B = array.array('l', [0])", "B[0] += 1", "B"),
    "bytes": ("B = bytearray(8)", "B[0] += 1", "B"),
    "view": ("B = memoryview(bytearray(8))", "B[0] += 1", "B"),
    "numpy": ("B = np.zeros(99, dtype=int)", "B[50] += 1", "B"),
    "objects": ("class O:\n    n = 0\nB = np.array([O()], dtype=object)", "B[0].n += 1", "B[0].n"),
    "deque": ("B = deque(range(9))", "B.rotate()", "B"),
    "weak": ("K = [type('W', (), {})()]\nB = weakref.WeakKeyDictionary({K[0]: [0]})",
             "B[K[0]][0] += 1", "B.data"),
    "text": ("B = Box()\nB.s = ''", "B.s += 'x'", "B.s"),
    "subclass": ("class I(int): pass\nB = I(3)\nB.n = 0", "B.n += 1", "B.n"),
    "enum": ("import enum\nclass E(enum.Enum):\n    A = 1\nE.A.n = 0", "E.A.n += 1", "E.A.n"),
    "meta": ("class M(type):\n    n = 0\nclass K(metaclass=M): pass", "M.n += 1", "M.n"),
    "feigned": (
        "class M(type):\n    __hash__ = lambda c: hash(int)\n    __eq__ = lambda c, o: True\n"
        "class F(metaclass=M):\n    n = 0\n    def __repr__(self): return 'F'\nB = F()",
        "B.n += 1",
        "B.n",
    ),
    "lengthy": ("B = [0] * 9999", "B[5000] += 1", "B"),
    "seed": ("", "A.n = self._np_random_seed = vars(A).get('n', 0) + 1", "self._np_random_seed"),
    "doc": ("'''text'''\n__doc__ = 0", "global __doc__; __doc__ += 1", "__doc__"),
    "module": (
        "from types import ModuleType\nM = ModuleType('m')\nM.n = 0", "M.n += 1", "M.__dict__",
    ),
    "popped": ("import sys\nsys.modules.pop('environment')\nB = [0]", "B[0] += 1", "globals of"),
    "spec": ("__spec__ = [0]", "__spec__[0] += 1", "__spec__"),
    "local": ("import threading\nB = threading.local()\nB.n = 0", "B.n += 1", "B.n"),
    "context": (
        "from contextvars import ContextVar\nB = ContextVar('b')", "B.set(B.get(0) + 1)", "B.get()",
    ),
    "space": (
        "", "s = self.action_space; s._np_random_seed = vars(s).get('_np_random_seed', 0) + 1",
        "self.action_space._np_random_seed",
    ),
    "other globals": (
        "N = {}\nexec('n = 0\\ndef f():\\n    global n\\n    n += 1', N)\nf = N.pop('f')\ndel N",
        "f()",
        "globals of f",
    ),
}  # fmt: skip


def changed(load, setup, tick):
    worker = load(CODE.format(setup=setup, tick=tick))
    number = worker.create(0)
    seen = []
    for _ in range(3):
        assert worker.reset([(number, 1, None)])[0].fault is None
        answer = worker.probe(number, "lasting", {})
        assert isinstance(answer, dict), answer
        seen.append(answer)
    return [place for place, value in seen[2].items() if seen[1].get(place) != value]


@pytest.mark.parametrize("name", CASES)
def test_a_count_is_seen_wherever_it_is_kept_and_nothing_else_is(load, name):
    setup, tick, place = CASES[name]
    found = [found for found in changed(load, setup, tick) if "\0" not in found]
    assert any(each.startswith(place) for each in found), found


def test_what_an_episode_sets_anew_does_not_change(load):
    setup = "WORDS = [('a', i) for i in range(3000)]\nBOXES = [Box(), Box()]\nT = object()"
    tick = "self.box = Box(); self.it = iter([1, 2]); self.f = lambda: seed; self.t = self"
    assert changed(load, setup, tick) == []


def test_hostile_structures_end_in_time_and_are_told(load):
    setup = "L = []\nfor _ in range(50000): L = [L]\nC = []\nC.append(C)"
    worker = load(CODE.format(setup=setup, tick="pass"))
    number = worker.create(0)
    worker.reset([(number, 1, None)])
    answer = worker.probe(number, "lasting", {})
    assert not isinstance(answer, Fault), answer
    assert "\0more" in answer
    assert "C" in answer


GROWING = """
from spade_envs.api import TextEnv

LOG = []

class Key:
    def __hash__(self):
        LOG.append("hash")
        return 1

class Set(set):
    def __iter__(self):
        LOG.append("iter")
        return iter(["x"])

SEEN = {(3, "a"): 1, Key(): 2}
SET = Set([4])
LOG.clear()

class A(TextEnv):
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        keys = [key for key in SEEN if type(key) is tuple]
        return repr((keys, sorted(set.__iter__(SET)), LOG)), {}
    def step(self, action):
        return "x", 0.0, False, False, {}
"""


def test_containers_grow_by_keys_of_their_kind_without_a_call_of_the_code(load):
    worker = load(GROWING)
    number = worker.create(0)
    worker.reset([(number, 1, None)])
    asked = {"places": ["SEEN", "SEEN\0length", "SET"], "by": 2}
    assert worker.probe(number, "advance", asked) == ["SEEN", "SET"]
    (after,) = worker.reset([(number, 1, None)])
    keys = "[(3, 'a'), (3, 'a\\x001'), (3, 'a\\x002')]"
    assert after.observation == f"({keys}, [4, 1000000012, 1000000013], [])"
