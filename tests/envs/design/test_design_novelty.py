import ast
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spade_envs.design.novelty import ast_hash, shape_hash
from spade_envs.design.prompting import example_source
from spade_envs.types import EnvSource

BASE = '''
"""A maze."""
import numpy as np
from spade_envs.api import ToolEnv, tool
WALLS = 3
def near(a, b):
    total = a + b
    return total
class Maze(ToolEnv):
    """Walk."""
    levels = 2
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.goal = [near(x, WALLS) for x in range(16)]
        np.array(self.goal)
        return self.begin("go")
    @tool
    def walk(self, steps: int) -> str:
        """Walk some steps."""
        return str(steps)
'''


def digest(code):
    return ast_hash(EnvSource(code=textwrap.dedent(code)))


SAME = {
    "comment": [("WALLS = 3", "WALLS = 3  # walls\n\n")],
    "docstring": [('"""A maze."""', '"""Other."""'), ('    """Walk."""\n', "")],
    "class name": [("class Maze", "class Orchard")],
    "function name": [("near", "beside")],
    "locals": [("total", "s"), ("(a, b)", "(u, v)"), ("a + b", "u + v")],
    "comprehension": [("near(x, WALLS) for x", "near(k, WALLS) for k")],
    "constant's name": [("WALLS", "FENCES")],
    "attribute": [("self.goal", "self.target")],
    "alias": [("as np", "as numeric"), ("np.array", "numeric.array")],
    "no alias": [("numpy as np", "numpy"), ("np.array", "numpy.array")],
    "spelling": [("16", "0x10"), ('"go"', "'g' 'o'")],
    "pass": [("    levels = 2\n", "    levels = 2\n    pass\n")],
    "annotation": [
        ("def near(a, b):", "def near(a: int, b: float) -> float:"),
        ("WALLS = 3", "WALLS: int = 3"),
    ],
    "self": [("self", "this")],
}
OTHER = {
    "constant": [("WALLS = 3", "WALLS = 4")],
    "type of a constant": [("WALLS = 3", "WALLS = 3.0")],
    "operator": [("a + b", "a - b")],
    "order of operands": [("a + b", "b + a")],
    "text": [('"go"', '"stay"')],
    "levels": [("levels = 2", "levels = 3")],
    "tool's name": [("def walk", "def run")],
    "tool's type": [("steps: int", "steps: float")],
    "tool's parameter": [("steps", "paces")],
    "tool's docstring": [("Walk some steps.", "Run.")],
    "other attribute": [("return total", "return abs(total)")],
    "contract": [("self.begin", "self.start")],
    "decorator": [("    @tool\n", "")],
}


def changed(pairs):
    code = BASE
    for old, new in pairs:
        assert old in code
        code = code.replace(old, new)
    ast.parse(code)
    return code


@pytest.mark.parametrize("case", SAME, ids=str)
def test_other_words_for_the_same_program(case):
    assert digest(changed(SAME[case])) == digest(BASE)


@pytest.mark.parametrize("case", OTHER, ids=str)
def test_other_programs(case):
    assert digest(changed(OTHER[case])) != digest(BASE)


def test_swapping_the_use_of_two_names_is_another_program():
    one = "def f(a, b):\n    x = a\n    return x - b\n"
    assert digest(one) == digest("def f(b, a):\n    y = b\n    return y - a\n")
    assert digest(one) != digest("def f(a, b):\n    x = b\n    return x - a\n")


def test_names_of_two_functions_do_not_interfere():
    one = "def f(a):\n    return a\ndef g(a):\n    return a\n"
    assert digest(one) == digest(one.replace("g(a):\n    return a", "g(b):\n    return b"))


def test_global_and_closure_are_told_from_locals():
    closure = (
        "def f():\n    n = 0\n    def g():\n        {} n\n        n = 1\n    g()\n    return n\n"
    )
    assert digest(closure.format("nonlocal")) != digest(closure.format("global"))
    assert digest("x = 1\ndef f():\n    x = 2\n") != digest(
        "x = 1\ndef f():\n    global x\n    x = 2\n"
    )


def test_unparsable_and_too_deep_code_have_the_hash_of_their_text():
    for code in ("class (", "x = " + "-" * 900 + "1", "x = 1" + "+1" * 5000):
        source = EnvSource(code=code)
        assert len(ast_hash(source)) == 64
    assert ast_hash(EnvSource(code="class (")) == EnvSource(code="class (").sha256


def test_value_is_pinned():
    # Stores may keep this; it must not change with the Python version.
    assert digest("def f(a):\n    return a + 1\n")[:16] == "82677febbee3a5c3"


@settings(deadline=None)
@given(st.permutations(["alpha", "beta", "gamma", "delta"]))
def test_renaming_every_attribute_changes_nothing(names):
    code = example_source("text")
    for old, new in zip(("order", "BalanceYard", "NAMES", "words"), names, strict=True):
        code = (
            code.replace(f"self.{old}", f"self.{new}") if old == "order" else code.replace(old, new)
        )
    code = code.replace(names[3] + '[:1] == ["order"]', names[3] + '[:1] == ["order"]')
    assert digest(code) == digest(example_source("text"))


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("        a = 1\n        b = 2\n", "        b = 2\n        a = 1\n", True),
        ("        a = 1\n        b = 2\n", "        c = 1\n        d = 2\n", True),
        ("        a = 1\n        b = 2\n", "        a = 1\n        b = 3\n", False),
        ("return f'{x} of {y}'", "return f'out of {y}, {x}'", True),
        ("return x + y", "return x * y", False),
        ("return x + y", "return abs(x + y)", False),
        ("return x + y", "return x + y\n        return 0", False),
    ],
)
def test_the_shape_passes_over_order_names_and_texts_alone(old, new, same):
    head = "class A:\n    def reset(self, x, y):\n"
    one, other = (
        EnvSource(code=head + (code if code.startswith(" ") else f"        {code}\n"))
        for code in (old, new)
    )
    assert (shape_hash(one) == shape_hash(other)) is same


def test_the_shape_of_what_does_not_parse_is_that_of_its_text():
    broken = EnvSource(code="class (")
    assert shape_hash(broken) == broken.sha256
    deep = EnvSource(code="x = " + "-" * 3000 + "1")
    assert len(shape_hash(deep)) == 64
