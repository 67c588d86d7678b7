import pytest

from spade_envs.api import TextEnv
from spade_envs.api.loading import find_entry, interface_of

OURS = '''
from spade_envs.api import TextEnv, ToolEnv
class One(TextEnv):
    """First line.

    More."""
    levels, max_turns = 2, 5
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        return "go", {}
    def step(self, action):
        return self.win("ok")
    def hint(self):
        return "h"
'''
PUBLISHED = """
import random
class GuessEnv:
    def __init__(self, max_turns=7):
        self.max_turns = max_turns
    def reset(self, seed=None):
        self.n = random.Random(seed).randint(0, 9)
        return "guess"
    def step(self, action):
        right = str(self.n) in action
        return "x", 1.0 if right else 0.0, right, False, {}
    def solution(self):
        return self.n
"""


def load(code):
    namespace = {"__name__": "environment"}
    exec(compile(code, "env.py", "exec"), namespace)
    return find_entry(namespace)


def test_our_shape_and_what_it_declares():
    cls = load(OURS)
    interface = interface_of(cls)
    assert issubclass(cls, TextEnv)
    assert (interface.entry, interface.kind, interface.api) == ("One", "text", "spade-1")
    assert (interface.levels, interface.max_turns, interface.summary) == (2, 5, "First line.")
    assert (interface.has_hint, interface.has_solution) == (True, False)


def test_published_shape_is_adapted_and_plays():
    cls = load(PUBLISHED)
    interface = interface_of(cls)
    assert (interface.api, interface.max_turns, interface.has_solution) == ("published-1", 7, True)
    env = cls()
    assert env.reset(seed=3) == ("guess", {})
    (answer,) = env.solution()
    assert answer == f"\\boxed{{{env.inner.n}}}"
    assert env.step(answer) == ("x", 1.0, True, False, {"success": True})


@pytest.mark.parametrize(
    ("code", "part"),
    [
        ("x = 1", "no public class"),
        ("class Thing: pass", "no public class"),
        (OURS + "\nclass Two(TextEnv): pass", "found One, Two"),
    ],
)
def test_exactly_one_class_is_wanted(code, part):
    with pytest.raises(ValueError, match=part):
        load(code)


def test_a_base_class_in_the_same_file_is_not_a_second_environment():
    assert load(OURS + "\nclass Two(One): pass").__name__ == "Two"


@pytest.mark.parametrize(
    "line",
    [
        "levels = 0",
        "levels = True",
        "max_turns = 'x'",
        "max_turns = 10**6",
        "reward_range = (1, 0)",
    ],
)
def test_declarations_are_checked(line):
    cls = load(OURS + f"\nclass Two(One):\n    {line}")
    with pytest.raises(ValueError, match=r"Two\."):
        interface_of(cls)
