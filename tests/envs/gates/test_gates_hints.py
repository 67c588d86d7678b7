"""Hints that give the answer away, and hints that say nothing."""

import pytest

from envs.gates.subjects import judge
from envs.gates.zoo import PARCELS, SUMS, WALK
from spade_envs.gates.hints import hint_copy_earns_nothing, hint_withholds_answer
from spade_envs.gates.worth import Gain, difficulty_separates, hint_helps, measure_hint
from spade_envs.types import Episode

_SUM = "self.left + self.right"
_HINT = 'return "Add the ones, then the tens with the carry."'
_OTHER = 'return "Look the parcel up first: the change needs its number."'
_WAY = 'return "The first number grows to the east, the second to the north."'


def sums(hint):
    assert _HINT in SUMS
    return SUMS.replace(_HINT, f"return {hint}")


SAYS = {
    "plain": f'f"The answer is {{{_SUM}}}."',
    "at the end": f'f"{{self.left}} and {{self.right}} make {{{_SUM}}}"',
    "backwards": f'"Read this from the right: " + str({_SUM})[::-1]',
    "digit by digit": f'"It goes " + "-".join(str({_SUM}))',
    "in hexadecimal": f'"Code " + str({_SUM}).encode().hex()',
    "in base32": f'"Code " + base64.b32encode(str({_SUM}).encode()).decode()',
    "in binary digits": f'f"In binary it is {{{_SUM}:b}}."',
    "in octal digits": f'f"In octal it is 0o{{{_SUM}:o}}."',
    "in hexadecimal digits": f'f"In hexadecimal it is {{{_SUM}:x}}."',
    "in groups of digits": f'f"It comes to {{{_SUM}:,}} in the end."',
    "with leading zeros": f'f"It comes to {{{_SUM}:012d}} in the end."',
    "in base 7 digits": f'f"In sevens it is {{_sevens({_SUM})}}."',
    "in binary digits (grouped)": f'f"In binary it is {{{_SUM}:_b}}."',
    "in groups of digits (times a power)": f'f"It is {{({_SUM}) / 100:.2f}} x 10^2 in the end."',
    "in scientific notation": f'f"It comes to {{{_SUM}:.8e}} in the end."',
    "in thousands": f'f"It has {{({_SUM}) // 1000}} thousand and {{({_SUM}) % 1000}}."',
    "as it is, in wide digits": f'"It is " + "".join(chr(0xFF10 + int(c)) for c in str({_SUM}))',
    "as character codes": f'"Codes " + " ".join(str(ord(c)) for c in str({_SUM}))',
}


PLAIN = (
    "plain", "at the end", "as it is, in wide digits", "in groups of digits", "in thousands",
)  # fmt: skip
"""Those that are (at the lowest level) the plain answer."""


_SEVENS = """

def _sevens(number):
    return f"{_sevens(number // 7)}{number % 7}" if number >= 7 else str(number)

"""


@pytest.mark.parametrize("name", SAYS)
def test_a_hint_that_says_the_answer_fails(name):
    finding = judge(f"import base64\n{_SEVENS}{sums(SAYS[name])}", hint_withholds_answer)
    assert finding.outcome == "fail"
    assert "the hint holds the answer" in finding.message
    expected = {"digit by digit": "letter by letter"}.get(name, name.partition(" (")[0])
    assert expected in finding.message or name in PLAIN


def test_a_hint_may_repeat_what_the_task_shows_in_another_base():
    asked = 'f"What is {self.left} plus {self.right}? Reply with the number."'
    assert asked in SUMS
    binary = SUMS.replace(asked, f'f"Write {{{_SUM}:b}} in decimal. Reply with the number."')
    code = binary.replace(_HINT, f'return f"Add the places of {{{_SUM}:b}} that hold a one."')
    assert judge(code, hint_withholds_answer).outcome == "pass"


def test_a_hint_may_write_the_bits_of_the_task_in_a_row():
    asked = 'f"What is {self.left} plus {self.right}? Reply with the number."'
    bits = SUMS.replace(asked, f"f\"The bits are {{list(format({_SUM}, 'b'))}}. What number?\"")
    code = bits.replace(_HINT, f'return f"Weigh the ones of {{{_SUM}:b}} by powers of two."')
    assert judge(code, hint_withholds_answer).outcome == "pass"


def test_the_message_names_a_plain_answer_without_a_gap():
    finding = judge(sums(f'f"The answer is {{{_SUM}}}."'), hint_withholds_answer)
    assert "the hint holds the answer as it is" in finding.message
    assert "  " not in finding.message


def test_a_hint_may_name_what_is_shown_and_how_large_the_answer_is():
    hint = f'f"Add {{self.left}} to {{self.right}}; it has {{len(str({_SUM}))}} digits."'
    assert judge(sums(hint), hint_withholds_answer).outcome == "pass"
    assert judge(sums(hint), hint_copy_earns_nothing).outcome == "pass"


def test_candidates_in_varying_order_are_no_answer():
    order = f"sorted((str({_SUM} + k) for k in (0, 3, 7)), key=lambda text: text[::-1])"
    hint = f'"One of " + ", ".join({order})'
    assert judge(sums(hint), hint_withholds_answer).outcome == "pass"


def test_a_hint_that_gives_a_whole_way_fails():
    code = WALK.replace(_WAY, 'return "Go " + ", ".join(self.solution()) + "."')
    finding = judge(code, hint_withholds_answer)
    assert finding.outcome == "fail"
    assert "all actions" in finding.message


def test_copying_a_way_from_the_hint_is_measured():
    code = WALK.replace(_WAY, 'return "Go: " + ", ".join(self.solution())')
    finding = judge(code, hint_copy_earns_nothing)
    assert finding.outcome == "fail"
    assert finding.evidence["own"]["mean"] == 1.0
    assert finding.evidence["other"]["mean"] < 0.3
    assert finding.evidence["transcript"][-1]["reward"] == 1.0


def test_a_hint_for_tools_may_not_hold_the_answer_or_the_calls():
    said = PARCELS.replace(_OTHER, "return f\"It weighs {self.state[self.name]['grams']} grams.\"")
    assert judge(said, hint_withholds_answer).outcome == "fail"
    calls = PARCELS.replace(_OTHER, 'return "\\n".join(self.solution()[:2])')
    assert judge(calls, hint_withholds_answer).outcome == "pass"
    done = PARCELS.replace(
        'Task("How many grams does it weigh?", answer=lambda s: str(s[name]["grams"])),', ""
    ).replace('str(parcel["grams"]),', "")
    assert judge(done, hint_copy_earns_nothing).outcome == "pass"
    told = done.replace(_OTHER, 'return "\\n".join(self.solution()[:2])')
    assert judge(told, hint_withholds_answer).outcome == "fail"
    assert judge(told, hint_copy_earns_nothing).outcome == "fail"


@pytest.mark.parametrize(
    "hint",
    [
        '"Think carefully and read the task again."',
        '"You can do it! Take your time, step by step."',
        'f"What is {self.left} plus {self.right}?"',
    ],
)
def test_a_useless_hint_fails_but_stops_nothing(hint):
    finding = judge(sums(hint), hint_helps)
    assert finding.outcome == "fail"
    assert "says nothing" in finding.message


def test_a_short_hint_with_a_word_of_its_own_helps():
    assert judge(sums('"Carry."'), hint_helps).outcome == "pass"


def test_an_agent_measures_the_hint():
    def copies(view):
        return view.first.split()[-1].strip(".")

    finding = judge(sums(SAYS["plain"]), hint_helps, agent=copies)
    assert finding.outcome == "pass"
    assert finding.evidence["gain"]["0"]["mean"] == 1.0
    assert finding.evidence["gain"]["0"]["interval_95"][0] > 0.5
    assert judge(sums('"Carry."'), hint_helps, agent=copies).outcome == "pass"


def test_gains_are_paired_and_faults_left_out():
    def episode(seed, success, **rest):
        return Episode(
            env_id="x", level=0, seed=seed, first_observation="", turns=(), total_reward=0.0,
            success=success, terminated=True, truncated=False, **rest,
        )  # fmt: skip

    without = [episode(seed, False) for seed in range(10)]
    with_hint = [episode(seed, seed < 5) for seed in range(12)]
    gain = measure_hint(without, with_hint)
    assert (gain.mean, gain.pairs) == (0.5, 10)
    assert 0.1 < gain.low < 0.2 < 0.8 < gain.high < 0.9
    assert Gain.of([1.0], [0.0]).low == -1.0


def test_play_that_is_mostly_random_may_not_earn_everything():
    early = '        if self.turn >= 3:\n            return self.win("You are there.")\n'
    code = WALK.replace("        move = MOVES", f"{early}        move = MOVES")
    finding = judge(code, difficulty_separates)
    assert finding.outcome == "fail"
    assert finding.evidence["degraded"]["mean"] >= 0.9
    good = judge(WALK, difficulty_separates)
    assert good.outcome == "pass"
    assert good.evidence["ladder"]["1"]["0.8"]["mean"] < 0.5


SIGNS = '''
from spade_envs.api import TextEnv, answer_of

SIGNS = {"left": "<--", "right": "-->", "ahead": "^"}


class Corridor(TextEnv):
    """Follow the signs of a corridor."""

    max_turns = 20

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.path = [self.draw(list(SIGNS)) for _ in range(9)]
        self.at = 0
        return f"Go where each sign points: left, right or ahead. {self.sign()}", {}

    def sign(self):
        return f"Sign: {SIGNS[self.path[min(self.at, 8)]]}"

    def step(self, action):
        if answer_of(action) != self.path[self.at]:
            return self.lose("Out.")
        self.at += 1
        return self.win("There.") if self.at == 9 else self.go_on(self.sign())

    def hint(self):
        return f"<-- means left, --> means right, ^ means ahead; at hand is {self.sign()}."

    def solution(self):
        return self.path[self.at:]
'''


def test_a_legend_that_names_every_answer_tells_none():
    assert judge(SIGNS, hint_withholds_answer).outcome == "pass"
    told = SIGNS.replace("at hand is {self.sign()}", "the last one means {self.path[-1]}")
    told = told.replace("means left", "is left")
    drawn = [judge(f"{told}# {draw}\n", hint_withholds_answer).outcome for draw in range(5)]
    assert drawn.count("fail") >= 2  # the paths of six seeds may all end alike


def test_digits_in_words_are_the_answer_too():
    words = '"zero one two three four five six seven eight nine".split()'
    hint = f'"It goes " + " ".join({words}[int(d)] for d in str({_SUM}))'
    finding = judge(sums(hint), hint_withholds_answer)
    assert "digit by digit in words" in finding.message
