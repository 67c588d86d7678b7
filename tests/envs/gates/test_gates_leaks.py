"""Answers that are shown in a disguise, and tasks that only look like it."""

import re

import pytest

from envs.gates.subjects import judge
from envs.gates.zoo import SUMS
from spade_envs.gates.disguise import (
    _disguises,
    in_base,
    number_words,
    spellings,
    squeezed,
)
from spade_envs.gates.leaks import _TRANSFORMS, no_leak
from spade_envs.gates.withheld import cores

WORD = '''
from spade_envs.api import TextEnv, answer_of

WORDS = "apple,birch,cedar,daisy,elder,ferns,grape,hazel,irish,lemon,maple,olive,peony".split(",")


class Word(TextEnv):
    """Guess a word from its first letter and its length."""

    max_turns = 3

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.word = self.draw(WORDS) + str(self.draw_int(100, 999))
        return f"Say: guess, and the plant with its number. It begins with {self.word[0]}.", INFO

    def step(self, action):
        if answer_of(action) == f"guess {self.word}":
            return self.win("Right.")
        return self.lose("Wrong.")

    def hint(self):
        return "Plants."

    def solution(self):
        return [f"guess {self.word}"]
'''


@pytest.mark.parametrize(
    ("info", "how"),
    [
        ('{"plant": self.word}', "as it is"),
        ('{"state": "w=" + self.word[::-1]}', "backwards"),
        ('{"log": " ".join(self.word)}', "letter by letter"),
        ('{"key": self.word.encode().hex()}', "in hexadecimal"),
    ],
)
def test_a_disguised_answer_in_the_info_fails_though_the_reference_says_more(info, how):
    finding = judge(WORD.replace("INFO", info), no_leak)
    assert finding.outcome == "fail"
    assert how in finding.message
    assert finding.evidence["channel"] == "the first info"


def test_a_sound_word_passes():
    assert judge(WORD.replace("INFO", "{}"), no_leak).outcome == "pass"


def test_a_disguise_in_the_prompt_is_a_leak_unless_it_may_be_the_task():
    def prompt(text):
        return WORD.replace("INFO", "{}").replace(" It begins with {self.word[0]}.", text)

    told = judge(prompt(" (debug {self.word[::-1]})"), no_leak)
    assert (told.outcome, "backwards" in told.message) == ("fail", True)
    unsure = judge(prompt(" Look: {self.word[::-1]}"), no_leak)
    assert unsure.outcome == "warn"
    task = judge(prompt(" It is the reverse of the secret {self.word[::-1]}."), no_leak)
    assert task.outcome == "pass"


def test_an_answer_that_is_shown_backwards_as_a_number_fails():
    code = SUMS.replace('number.", {}', 'number.", {"t": str(self.left + self.right)[::-1]}')
    assert judge(code, no_leak).outcome == "fail"


def test_spellings():
    found = spellings("apple", squeezed("first e-l-p-p-a, then A P P L E, then nccyr"))
    assert set(found) >= {"", "backwards", "letter by letter", "in rot13"}
    assert spellings("apple", squeezed("a pear")) == {}
    assert "in base64" in spellings("apple", squeezed("code YXBwbGU="))
    assert "in words" in spellings(
        "342", squeezed("three hundred and forty-two".replace("and", ""))
    )
    assert number_words(90_017) == ["ninety", "thousand", "seventeen"]


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("12,345", "in groups of digits"),
        ("12_345", "in groups of digits"),
        ("0000012345", "with leading zeros"),
        ("00012,345", "in groups of digits"),
        ("12 34 5", "in groups of digits"),
        ("1 2 3 4 5", "letter by letter"),
        ("12\u202f345", "in groups of digits"),
        ("11000000111001", "in binary digits"),
        ("0b11_0000_0011_1001", "in binary digits"),
        ("0011 0000 0011 1001", "in binary digits"),
        ("1 1 0 0 0 0 0 0 1 1 1 0 0 1", "in binary digits"),
        ("50664", "in base 7 digits"),
        ("9ix", "in base 36 digits"),
        ("0x3039", "in hexadecimal digits"),
        ("30071", "in octal digits"),
        ("1.23450000e+04", "in scientific notation"),
        ("1.2345E4", "in scientific notation"),
        ("12.345e3", "in scientific notation"),
        ("1.2345 x 10^4", "in scientific notation"),
        ("1.2345\u00d710**4", "in scientific notation"),
        ("12 thousand 345", "in thousands"),
        ("12 thousand and 345", "in thousands"),
        ("12345", ""),
        ("912345", None),
        ("12.345e+05", None),
    ],
)
def test_numbers_in_other_figures(text, how):
    shown = f"so it is {text}, then"
    found = {
        name
        for name, pattern in spellings("12345", squeezed(shown)).items()
        if re.search(pattern, shown, re.IGNORECASE)
    }
    assert (how in found) if how is not None else not found
    assert how == "" or "" not in found


def test_a_task_may_be_to_read_any_disguise():
    shown = "".join(in_base(12345, base) for base in range(2, 37))
    said = _disguises("12345", shown).keys() | _disguises("apple", shown).keys()
    odd = {f"in base {base} digits" for base in range(3, 37) if base not in (8, 10, 16)}
    assert said - odd == _TRANSFORMS.keys()
    assert said >= odd


def test_cores_leave_out_what_all_answers_share():
    said = {1: "guess red pear now", 2: "guess old fig now"}
    assert cores(said) == [said, {1: "red pear", 2: "old fig"}]
    assert cores({1: "7", 2: "8"}) == [{1: "7", 2: "8"}]
    assert cores({}) == []


def test_only_letters_and_digits_of_any_script_are_left():
    assert squeezed("A-b_3, \t[C]") == "ab3c"
    assert squeezed("Stra\u00dfe \u00c9t\u00e9!") == "strasse\u00e9t\u00e9"


PASSWORD = '''
from spade_envs.api import TextEnv, answer_of


class Password(TextEnv):
    """Keep a password in mind over two sums."""

    max_turns = 3

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.word = "".join(self.draw_many(list("bcdfghklmnprstvz"), 6))
        self.sums = [(self.draw_int(11, 99), self.draw_int(11, 99)) for _ in range(2)]
        self.at = 0
        return f"Remember the password {self.word} over two sums. {self.asked()}", {}

    def asked(self):
        if self.at == 2:
            return "Now the password."
        return "What is {} * {}?".format(*self.sums[self.at])

    def step(self, action):
        a, b = self.sums[min(self.at, 1)]
        if answer_of(action) != (self.word if self.at == 2 else str(a * b)):
            return self.lose("No.")
        self.at += 1
        return self.win("Right.") if self.at == 3 else self.go_on(self.asked())

    def solution(self):
        return [str(a * b) for a, b in self.sums[self.at:]] + [self.word]
'''


def test_what_is_to_be_remembered_is_no_leak_where_other_answers_come_before():
    assert judge(PASSWORD, no_leak).outcome == "warn"
    assert judge(PASSWORD.replace("the password {", "answer={"), no_leak).outcome == "fail"
    hidden = PASSWORD.replace("two sums. {", "two sums [ref: {self.word[::-1]}]. {")
    hidden = hidden.replace("the password {self.word} over", "a password over")
    assert judge(hidden, no_leak).outcome == "fail"
    alone = PASSWORD.replace("str(a * b))", "answer_of(action))")
    assert judge(alone, no_leak).outcome == "fail"


GOAL = '''
from spade_envs.api import TextEnv, answer_of


class Total(TextEnv):
    """Write a sum that makes a total."""

    max_turns = 3

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.one, self.two = self.draw_int(100, 499), self.draw_int(100, 499)
        return f"Write two numbers of 100 or more with + between, in all {self.one + self.two}.", {}

    def step(self, action):
        parts = answer_of(action).replace(" ", "").split("+")
        if not all(part.isascii() and part.isdigit() and len(part) < 5 for part in parts):
            return self.lose("Numbers, please.")
        if LIMIT and sum(map(int, parts)) == self.one + self.two:
            return self.win("Right.")
        return self.go_on(REPLY)

    def solution(self):
        return [f"{self.one}+{self.two}"]
'''


def total(limit="len(parts) == 2", reply='"Another sum."'):
    return GOAL.replace("LIMIT", limit).replace("REPLY", reply)


def test_a_piece_of_the_prompt_that_wins_is_a_leak():
    assert judge(total(), no_leak).outcome == "pass"
    finding = judge(total("True"), no_leak)
    assert finding.outcome == "fail"
    assert finding.evidence["own"]["mean"] == 1.0
    assert finding.evidence["other"]["mean"] == 0.0


def test_what_a_reply_says_is_no_excuse_for_the_disguise_that_it_uses():
    code = SUMS.replace('self.lose("Wrong.")', 'self.go_on("Wrong.")')
    assert code != SUMS
    leaky = code.replace(
        '"Wrong."', "f\"Spelled out it is {' '.join(str(self.left + self.right))}.\""
    )
    finding = judge(leaky, no_leak)
    assert finding.outcome == "fail", finding
    assert "letter by letter" in finding.message


def _asked(code, shown):
    prompt = 'f"What is {self.left} plus {self.right}? Reply with the number."'
    assert prompt in code
    return code.replace(prompt, f'f"{shown} Reply with the number."')


_SUM = "self.left + self.right"


@pytest.mark.parametrize(
    ("shown", "reply", "outcome"),
    [
        # Written in the task, so that it may be said again: how it is read is the task.
        (f"The lamps are {{{_SUM}:b}}; what do they add up to?", f"Lamps: {{{_SUM}:b}}.", "warn"),
        (f"The mark is {{{_SUM}:x}}; which one is it?", f"Mark: {{{_SUM}:x}}.", "pass"),
        ("What is {self.left} plus {self.right}?", f"Lamps: {{{_SUM}:b}}.", "fail"),
        ("What is {self.left} plus {self.right}?", f"Mark: {{{_SUM}:_b}}.", "fail"),
    ],
)
def test_a_reply_may_say_the_task_again_in_the_same_disguise(shown, reply, outcome):
    code = _asked(SUMS, shown).replace('self.lose("Wrong.")', f'self.go_on(f"{reply}")')
    assert judge(code, no_leak).outcome == outcome
