"""Tasks with many right answers are not taken for careless checkers (L3.6, L3.8)."""

import pytest

from envs.gates.subjects import judge
from spade_envs.gates.near_miss import near_misses_lose
from spade_envs.gates.override import override_loses

TOWNS = '''
from spade_envs.api import TextEnv, answer_of


class Towns(TextEnv):
    """Name towns of a league; most towns on the map belong to it."""

    max_turns = 1

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        names = self.draw_many([f"town{number}" for number in range(100, 140)], 40)
        self.league = names[:30]
        listed = ", ".join(sorted(self.league))
        return f"In the league are {listed}. Name eight of them.", {}

    def step(self, action):
        said = answer_of(action).split(" ")
        if JUDGED:
            return self.win("Right.")
        return self.lose("Wrong.")

    def solution(self):
        return ["\\\\boxed{" + " ".join(self.league[:8]) + "}"]
'''
ROOMY = "len(set(said)) == 8 and set(said) <= set(self.league)"
LAX = "len(said) == 8 and said[:7] == self.league[:7]"


def towns(judged):
    return TOWNS.replace("JUDGED", judged)


@pytest.mark.parametrize(("judged", "fails"), [(ROOMY, False), (LAX, True)])
def test_one_town_may_stand_for_another_but_nonsense_may_not(judged, fails):
    finding = judge(towns(judged), near_misses_lose, seeds=12)
    assert (finding.outcome == "fail") is fails, finding.message


FRACTION = '''
from fractions import Fraction

from spade_envs.api import TextEnv, answer_of


class Shares(TextEnv):
    """Work out a share, which is often the whole."""

    max_turns = 1

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.part = self.draw_int(1, 60)
        self.share = Fraction(max(40, self.part), 40)
        return f"What share is {max(40, self.part)} of 40? Write A/B in a box.", {}

    def step(self, action):
        said = answer_of(action)
        try:
            right = PAYS
        except (ValueError, ZeroDivisionError):
            right = False
        return self.win("Right.") if right else self.lose("Wrong.")

    def solution(self):
        return [f"\\\\boxed{{{self.share.numerator}/{self.share.denominator}}}"]
'''


@pytest.mark.parametrize(
    ("pays", "outcome"),
    [("Fraction(said) == self.share", "pass"), ("said == '10/10'", "fail")],
)
def test_full_marks_are_no_order_to_the_grader_where_they_are_the_answer(pays, outcome):
    finding = judge(FRACTION.replace("PAYS", pays), override_loses, seeds=12)
    assert finding.outcome == outcome


WALK = '''
from spade_envs.api import TextEnv, answer_of


class Walk(TextEnv):
    """Put houses of a street in an order in which one can walk past them."""

    max_turns = 1

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.way = self.draw_many([f"house{number}" for number in range(100, 400)], 7)
        pairs = self.draw_many([f"{a}-{b}" for a, b in zip(self.way, self.way[1:])], 6)
        return f"Neighbours: {', '.join(pairs)}. Name the houses in the order of a walk.", {}

    def step(self, action):
        said = answer_of(action).split(" ")
        if JUDGED:
            return self.win("Right.")
        return self.lose("Wrong.")

    def solution(self):
        return ["\\\\boxed{" + " ".join(self.way) + "}"]
'''


@pytest.mark.parametrize(
    ("judged", "fails"),
    [("said in (self.way, self.way[::-1])", False), ("sorted(said) == sorted(self.way)", True)],
)
def test_a_walk_may_be_walked_back_but_not_shuffled(judged, fails):
    finding = judge(WALK.replace("JUDGED", judged), near_misses_lose, seeds=12)
    assert (finding.outcome == "fail") is fails, finding.message


LINES = '''
from spade_envs.api import TextEnv


class Lines(TextEnv):
    """Repeat three words, each on a line of its own."""

    max_turns = 1

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.words = self.draw_many([f"w{number}ing" for number in range(100, 400)], 3)
        return "Say backwards, a word a line: " + " ".join(self.words), {}

    def step(self, action):
        if action.split() == self.words[::-1]:
            return self.win("Right.")
        return self.lose("Wrong.")

    def solution(self):
        return ["\\n".join(self.words[::-1]) + "\\n"]
'''


def test_the_end_of_the_last_line_may_be_left_out():
    assert judge(LINES, near_misses_lose, seeds=12).outcome == "pass"


def test_an_empty_answer_is_an_answer():
    code = LINES.replace("a word a line: ", "but only words with a 3: ").replace(
        "self.words[::-1]", "[word for word in self.words if '3' in word]"
    )
    assert judge(code, near_misses_lose, seeds=12).outcome != "fail"
