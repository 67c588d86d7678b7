"""A floor just above its limit is measured again before it refuses anybody."""

import pytest

from envs.gates.subjects import judge, subject_of
from spade_envs.gates.alternatives import accepts_alternatives
from spade_envs.gates.binding import bound_to_its_seed, no_best_constant
from spade_envs.gates.floors import confirm, goal_open_at_reset, low_floor
from spade_envs.gates.leaks import no_leak
from spade_envs.gates.policies import constant
from spade_envs.gates.stats import Rate

CHOICE = '''
from spade_envs.api import TextEnv, answer_of


class Choice(TextEnv):
    """Name the colour that a number between 0 and 9999 stands for."""

    max_turns = 1

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        number = self.draw_int(0, 9999)
        self.answer = "red" if number < RED else f"c{number}"
        return f"Which colour is {number}? Answer in a box.", {}

    def step(self, action):
        if answer_of(action) == self.answer:
            return self.win("Right.")
        return self.lose("Wrong.", reward=FORM)

    def solution(self):
        return [f"\\\\boxed{{{self.answer}}}"]
'''


def choice(red, form="0.0"):
    return CHOICE.replace("RED", str(red)).replace("FORM", form)


@pytest.mark.parametrize(("red", "sure"), [(1500, False), (2000, False), (3000, True)])
def test_a_fixed_answer_fails_only_when_it_is_surely_above_the_limit(red, sure):
    assert (judge(choice(red), no_best_constant, seeds=20).outcome == "fail") is sure


def test_further_episodes_are_played_only_near_the_limit():
    subject = subject_of(choice(2400), seeds=20)
    try:
        near = confirm(subject, constant("\\boxed{red}"), 0, "red", 0.2)
        far = confirm(subject, constant("\\boxed{red}"), 0, "red", 0.05)
    finally:
        subject.close()
    assert (near.trials, far.trials) == (1000, 100)
    assert near.mean == pytest.approx(0.24, abs=0.04)


def test_another_seeds_answer_is_measured_on_fresh_seeds_before_it_refuses():
    # Two of one colour meet with a chance of 0.2, 0.45 squared.
    assert judge(choice(4500), bound_to_its_seed, seeds=20).outcome != "fail"
    finding = judge(choice(8000), bound_to_its_seed, seeds=20)
    assert finding.outcome == "fail"


def test_partial_credit_for_another_seeds_answer_is_a_warning():
    finding = judge(choice(0, form="0.4"), bound_to_its_seed, seeds=20)
    assert (finding.outcome, "earns at most 40%" in finding.message) == ("warn", True)


def test_pay_for_the_form_is_no_goal_that_holds_at_reset():
    paid = judge(choice(0, form="0.15"), goal_open_at_reset)
    assert paid.outcome == "pass"
    assert judge(choice(0, form="0.15"), low_floor).outcome == "warn"


@pytest.mark.parametrize(
    ("mean", "trials", "sure"),
    [(0.21, 100, False), (0.29, 100, True), (0.21, 10_000, True), (1.0, 3, True), (0.0, 9, False)],
)
def test_the_lower_end_of_the_interval_decides(mean, trials, sure):
    assert Rate(0, trials, mean).surely_above(0.2) is sure


NESTED = '''
import json

from spade_envs.api import TextEnv, answer_of


class Groups(TextEnv):
    """Put numbers into groups by their last digit."""

    max_turns = 1

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.groups = [[f"a{self.draw_int(10, 99)}", "b"], [f"c{self.draw_int(10, 99)}", "d"]]
        return f"Answer with the groups in any order, as JSON. Key: {self.groups}", {}

    def step(self, action):
        try:
            said = json.loads(answer_of(action))
            right = JUDGED
        except (ValueError, TypeError):
            right = False
        return self.win("Right.") if right else self.lose("Wrong.")

    def solution(self):
        return ["<answer>" + json.dumps(self.groups) + "</answer>"]
'''


@pytest.mark.parametrize(
    ("judged", "outcome"),
    [("sorted(said) == self.groups", "pass"), ("said == self.groups", "fail")],
)
def test_groups_of_items_are_reordered_whole(judged, outcome):
    finding = judge(NESTED.replace("JUDGED", judged), accepts_alternatives)
    assert finding.outcome == outcome
    assert finding.evidence.get("played", 1) > 0


SORTING = '''
from spade_envs.api import TextEnv, answer_of


class Sorting(TextEnv):
    """Give the letters of a word in order, which they often are."""

    max_turns = 1

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        letters = self.draw_many("abcdefghijklmnopqrst", 5)
        tidy = self.draw_int(1, 100) <= SHARE
        word = "".join(sorted(letters) if tidy else letters)
        self.answer = "".join(sorted(letters))
        return f"Put these letters in order, in a box: {word}", {}

    def step(self, action):
        if answer_of(action) == self.answer:
            return self.win("Right.")
        return self.lose("Wrong.")

    def solution(self):
        return [f"\\\\boxed{{{self.answer}}}"]
'''


@pytest.mark.parametrize("number", range(6))
def test_an_answer_that_happens_to_be_shown_is_no_leak(number):
    assert judge(SORTING.replace("SHARE", f"60 + 0 * {number}"), no_leak).outcome == "pass"


def test_an_answer_that_is_always_shown_is_one():
    finding = judge(SORTING.replace("SHARE", "100"), no_leak)
    assert finding.outcome == "fail"
    assert "30 of 30 seeds" in finding.message


HIDDEN = '''
from spade_envs.api import TextEnv, answer_of

WORDS = ["".join(map(chr, row)) for row in ((120, 97), (120, 98), (120, 99), (120, 100))]


class Animal(TextEnv):
    """Guess a name that nothing but a hit tells, from a prompt that is always the same."""

    max_turns = 2

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.name = WORDS[max(0, self.draw_int(0, 9) - 6)]
        return "I think of a name. Give it in a box.", {}

    def step(self, action):
        return self.win("Right.") if answer_of(action) == self.name else self.go_on("No.")

    def solution(self):
        return [f"\\\\boxed{{{self.name}}}"]
'''


def test_a_constant_counts_on_the_seeds_that_drew_the_same_task_too():
    finding = judge(HIDDEN, no_best_constant, seeds=20)
    assert finding.outcome == "fail"
    assert 0.5 < finding.evidence["best_constant"]["0"] < 0.9
    assert judge(HIDDEN, bound_to_its_seed, seeds=20).outcome == "fail"


def test_the_floor_is_that_of_the_most_episodes_where_all_earn_nothing():
    finding = judge(choice(0), low_floor, seeds=20)
    assert finding.evidence["floor"]["trials"] > 20
    assert finding.evidence["floor"]["mean"] == 0.0


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        ('given and re.fullmatch(given.replace("\\\\", ""), self.answer)', ".*"),
        ("given.count('/') == 1 and given.strip('0') == '/'", "0/0"),
    ],
)
def test_degenerate_answers_are_tried(condition, text):
    code = CHOICE.replace("RED", "0").replace("FORM", "0.0")
    code = code.replace(
        "        if answer_of(action) == self.answer:",
        f"""
        given = answer_of(action)
        try:
            ok = given == self.answer or {condition}
        except re.error:
            ok = False
        if ok:""",
    )
    finding = judge("import re\n" + code, low_floor)
    assert finding.outcome == "fail"
    assert text in finding.message


CORRIDOR = '''
from spade_envs.api import TextEnv, answer_of


class Corridor(TextEnv):
    """Turn left, right or ahead at each of nine junctions."""

    max_turns = 40

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.path, self.at = [self.draw(["left", "right", "ahead"]) for _ in range(9)], 0
        return f"Go left, right or ahead, as the signs say. Sign: {self.path[0][0]}", {}

    def step(self, action):
        if answer_of(action) != self.path[self.at]:
            return WRONG
        self.at += 1
        return self.win("Out.") if self.at == 9 else self.go_on(f"Sign: {self.path[self.at][0]}")

    def solution(self):
        return self.path[self.at:]
'''


@pytest.mark.parametrize(
    ("wrong", "outcome"), [('self.go_on("A wall.")', "fail"), ('self.lose("A hole.")', "pass")]
)
def test_moves_that_can_be_gone_through_since_wrong_ones_are_free_fail(wrong, outcome):
    finding = judge(CORRIDOR.replace("WRONG", wrong), low_floor)
    assert finding.outcome == outcome, finding
