"""The easy environments of `examples/`: sound, and won by the plain words of a small model."""

import importlib.util
from pathlib import Path

import pytest

from spade_envs.gates import check
from spade_envs.types import EnvSource

EASY = Path(__file__).parents[2] / "examples" / "easy"


def made(name, entry, level=0):
    spec = importlib.util.spec_from_file_location(name, EASY / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, entry)(level=level)


def played(env, say):
    """Return return and success of an episode in which each reference answer is said in words."""
    env.reset(seed=3)
    total, ended = 0.0, False
    while not ended:
        _, reward, terminated, truncated, info = env.step(say(env.solution()[0]))
        total, ended = total + reward, terminated or truncated
    return total, info["success"]


@pytest.mark.parametrize("file", sorted(EASY.glob("*.py")), ids=lambda file: file.stem)
def test_no_quick_gate_refuses_them(file):
    report = check(EnvSource(code=file.read_text()), depth="quick")
    assert len(report.results) > 30
    assert report.failures == ()


def test_a_capital_may_be_named_in_a_sentence():
    env = made("capitals", "Capitals")
    assert played(env, lambda city: f"The capital of that country is {city}.") == (1.0, True)
    assert played(env, lambda city: f"{city.upper()}!") == (1.0, True)
    assert played(env, lambda city: f"Not {city}") == (0.0, False)
    assert played(env, lambda city: f"The capital of it is {city} or Rome.") == (0.0, False)


def test_a_part_pays_a_part():
    first = iter([True, False, False])
    days = made("next_in_line", "NextInLine", level=1)
    assert played(days, lambda word: word if next(first) else "no") == (1 / 6, False)
    one = iter([False, True])
    odd = made("odd_one", "OddOne", level=2)
    assert played(odd, lambda word: word if next(one) else "no") == (1 / 5, False)
