"""Answers that are handed in as a JSON object, or as an argument of a call."""

import pytest

from envs.gates.gatebench import finding_of, spoilt, subject_of
from spade_envs.gates.fields import fields_of, values_in
from spade_envs.gates.hints import hint_withholds_answer
from spade_envs.gates.leaks import no_leak
from spade_envs.gates.near_miss import near_misses_lose
from spade_envs.gates.reference import harmless_variants
from spade_envs.gates.wording import states_its_format

SLIP = '''
import json

from spade_envs.api import TextEnv, answer_of


class Slip(TextEnv):
    """Fill in a slip as a JSON object."""

    max_turns = 2

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.who = self.draw("Ada Ben Cyd Dan Eva Fay Gus Hal".split())
        self.rows, self.seats = self.draw_int(21, 99), self.draw_int(31, 99)
        self.total = self.rows * self.seats
        return (
            f"{self.who} books {self.rows} rows of {self.seats} seats. Write a JSON object with "
            "the keys name (text) and total (number of seats).", {}
        )

    def step(self, action):
        try:
            given = json.loads(answer_of(action))
        except (ValueError, RecursionError):
            return self.go_on("That is no JSON.")
        if given == {"name": self.who, "total": self.total}:
            return self.win("Right.")
        return self.lose("No.")

    def hint(self):
        return f"Multiply {self.rows} by the tens of {self.seats} first."

    def solution(self):
        return [json.dumps({"name": self.who, "total": self.total})]
'''
STOCK = '''
from spade_envs.api import Task, ToolEnv, ToolError, call, finish, tool


class Stock(ToolEnv):
    """Total the stock of a room."""

    max_turns = 8

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        names = self.draw_many([f"S{n}" for n in range(10, 99)], 3)
        self.state = {"shelves": {n: self.draw_int(100, 999) for n in names}, "told": None}
        self.total = sum(self.state["shelves"].values())
        self.tasks = [Task(f"Submit the total of {', '.join(names)}.", done=self.right)]
        return self.begin("You keep a stock room.")

    def right(self, state):
        return state["told"] == self.total

    @tool
    def count(self, shelf: str) -> int:
        """Return the number of items on a shelf.

        Args:
            shelf: name of the shelf.
        """
        if shelf not in self.state["shelves"]:
            raise ToolError("no such shelf")
        return self.state["shelves"][shelf]

    @tool
    def submit(self, total: int) -> str:
        """Submit the total.

        Args:
            total: the number of all items.
        """
        self.state["told"] = total
        return "submitted"

    def solution(self):
        counts = [call("count", shelf=name) for name in self.state["shelves"]]
        return [*counts, call("submit", total=self.total), finish()]
'''


def test_what_looks_like_a_call_is_an_answer_where_there_are_no_tools():
    with subject_of(SLIP) as subject:
        found = fields_of(subject, 0)
        actions = subject.references(0)[0].actions
        assert [(field.name, field.hidden) for field in found] == [("name", False), ("total", True)]
        assert values_in(subject, actions[0]) == [
            field.answers[subject.seeds[0]] for field in found
        ]
        assert harmless_variants(subject).outcome != "fail"
        for gate in (near_misses_lose, no_leak, hint_withholds_answer, states_its_format):
            finding = gate(subject)
            assert finding.outcome == "pass", finding


def test_a_sum_handed_in_to_a_tool_is_a_value_to_be_worked_out():
    with subject_of(STOCK) as subject:
        assert [(field.name, field.hidden) for field in fields_of(subject, 0)] == [("total", True)]
        assert near_misses_lose(subject).evidence["played"] > 0
        for gate in (near_misses_lose, no_leak):
            finding = gate(subject)
            assert finding.outcome == "pass", finding


NEAR = 'abs(given["total"] - self.total) <= self.total // 5:'
SPOILT = {
    "near number": (
        near_misses_lose,
        SLIP,
        ('given == {"name": self.who, "total": self.total}:', NEAR),
    ),
    "answer in the text": (
        near_misses_lose,
        SLIP,
        ('given == {"name": self.who, "total": self.total}:', "str(self.total) in action:"),
    ),
    "told in the prompt": (no_leak, SLIP, (" books", " books (debug: total={self.total})")),
    "told in the hint": (
        hint_withholds_answer,
        SLIP,
        ("Multiply {self.rows} by", "Here are {self.total} seats, by"),
    ),
    "told to the tool's user": (
        no_leak,
        STOCK,
        ("Submit the total of", "(answer={self.total}) Submit the total of"),
    ),
    "told by a refusal": (
        no_leak,
        STOCK,
        (
            '        self.state["told"] = total',
            '        if total != self.total:\n            raise ToolError(f"not {self.total}")\n'
            '        self.state["told"] = total',
        ),
    ),
    "within a few": (
        near_misses_lose,
        STOCK,
        (
            'state["told"] == self.total',
            'state["told"] is not None and abs(state["told"] - self.total) < 3',
        ),
    ),
}


@pytest.mark.parametrize("name", SPOILT)
def test_a_value_that_is_told_or_loosely_compared_is_refused(name):
    gate, code, change = SPOILT[name]
    finding = finding_of(gate, spoilt(code, change))
    assert finding.outcome == "fail", finding


def test_more_than_is_needed_may_be_as_good():
    roomy = 'state["told"] is not None and state["told"] >= self.total'
    code = spoilt(STOCK, ('state["told"] == self.total', roomy))
    assert finding_of(near_misses_lose, code).outcome == "pass"
