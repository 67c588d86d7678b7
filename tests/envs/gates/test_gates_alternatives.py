"""Right answers beside the reference's."""

import pytest

from envs.gates.subjects import judge
from envs.gates.zoo import SUMS
from spade_envs.gates.alternatives import accepts_alternatives

PAIRS = '''
from spade_envs.api import TextEnv, answer_of


class Pairs(TextEnv):
    """Name the two hidden factors of a number."""

    max_turns = 2

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        primes = [11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47]
        self.pair = sorted(self.draw_many(primes, 2))
        return f"Factor {self.pair[0] * self.pair[1]}. ASK", {}

    def is_correct(self, text):
        return sorted(text.split(", ")) == sorted(map(str, self.pair))

    def step(self, action):
        right = RIGHT
        return self.win("Right.") if right else self.lose("Wrong.")

    def solution(self):
        return [", ".join(map(str, self.pair))]
'''
ONE = 'answer_of(action) == ", ".join(map(str, self.pair))'
BOTH = "self.is_correct(answer_of(action))"
ORDER = "Reply with both factors in any order, like 3, 5."


def pairs(right, ask="Reply with both factors.", extra=""):
    return PAIRS.replace("RIGHT", right).replace("ASK", ask) + extra


def test_a_checker_that_the_steps_contradict_fails():
    finding = judge(pairs(ONE), accepts_alternatives)
    assert finding.outcome == "fail"
    assert finding.evidence["by"] == "is_correct()"
    assert finding.evidence["refused_seeds"] >= 3
    assert judge(pairs(BOTH), accepts_alternatives).evidence["played"] > 4


def test_any_order_must_be_meant():
    code = pairs(ONE, ORDER).replace("def is_correct", "def same")
    finding = judge(code, accepts_alternatives)
    assert (finding.outcome, finding.evidence["by"]) == ("fail", "the prompt (any order)")
    assert judge(pairs(BOTH, ORDER), accepts_alternatives).outcome == "pass"
    about = "The factors are given in any order. Reply with the smaller one first."
    ordered = pairs(ONE, about).replace("def is_correct", "def same")
    assert judge(ordered, accepts_alternatives).message == "it names no other right answers"


@pytest.mark.parametrize(("right", "outcome"), [(ONE, "fail"), (BOTH, "pass")])
def test_what_the_environment_offers_is_played(right, outcome):
    extra = """
    def alternatives(self):
        return [[f"{self.pair[1]}, {self.pair[0]}"]]
"""
    code = pairs(right, extra=extra).replace("is_correct", "same")
    finding = judge(code, accepts_alternatives)
    assert finding.outcome == outcome
    assert finding.evidence.get("by", "alternatives()") == "alternatives()"


def test_a_checker_of_the_form_alone_proves_nothing():
    code = pairs(ONE).replace(
        'return sorted(text.split(", ")) == sorted(map(str, self.pair))',
        "return all(part.isdigit() for part in text.split(', '))",
    )
    assert judge(code, accepts_alternatives).outcome == "pass"


def test_a_published_class_may_offer_alternatives():
    code = '''
import random


class PairEnv:
    """Name two numbers with the given sum."""

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.one, self.two = rng.randint(100, 499), rng.randint(500, 999)
        return f"Two numbers from {self.one} to {self.two} that make {self.one + self.two}?", {}

    def step(self, action):
        won = action == f"\\\\boxed{{{self.one} {self.two}}}"
        return "", float(won), True, False, {}

    def solution(self):
        return f"{self.one} {self.two}"

    def alternatives(self):
        return [f"{self.one + 1} {self.two - 1}"]
'''
    finding = judge(code, accepts_alternatives)
    assert finding.outcome == "fail"
    assert finding.evidence["transcript"][0]["action"].startswith("\\boxed{")


def test_an_environment_with_one_answer_passes():
    assert judge(SUMS, accepts_alternatives).message == "it names no other right answers"
