import json
import random

import pytest

from spade_envs.errors import ConfigError
from spade_train.suites.base import Suite
from spade_train.suites.bfcl import suite as bfcl
from spade_train.suites.choices import gpqa_diamond, letter_of
from spade_train.suites.maths import aime
from spade_train.suites.questions import listed, read_rows

CSV = """\
Record ID,Question,Correct Answer,Incorrect Answer 1,Incorrect Answer 2,Incorrect Answer 3,\
High-level domain
r1,What?,right,one,two,three,Physics
r2,Why?,so,"a, b",not,never,Chemistry
"""


def opened(tmp_path, name, text):
    file = tmp_path / name
    file.write_text(text)
    return gpqa_diamond(path=str(file))


@pytest.mark.parametrize(
    ("said", "letter"),
    [
        (r"\boxed{C}", "C"),
        (r"\boxed{\text{C}}", "C"),
        (r"\boxed{\mathrm{d}}", "D"),
        (r"\boxed{C: 2.4 m}", "C"),
        (r"\boxed{(B)}", "B"),
        (r"\boxed{A} no, \boxed{B}", "B"),
        ("the answer is (C).", "C"),
        ("Answer: **D**", "D"),
        ("answer is A. The answer is B", "B"),
        (r"\boxed{Carbon}", None),
        (r"\boxed{E} answer is A", None),
        ("the answer is Beryllium", None),
        ("the answer is a hard one", None),
        ("I think the answer is a", "A"),
        ("the answer is b.", "B"),
        ("The answer is: D", "D"),
        ("The answer is C because the answer is a number", "C"),
        ("A", None),
        ("", None),
    ],
)
def test_the_letter_is_found_as_models_write_it(said, letter):
    assert letter_of(said) == letter


def test_blanks_without_end_are_looked_through_once():
    blanks = " " * 200_000  # twice through them would take longer than any test
    assert letter_of(f"the answer is{blanks}!") is None
    assert letter_of(f"the answer is{blanks}*({blanks}B)") == "B"


def test_the_published_file_is_shuffled_as_published(tmp_path):
    suite = opened(tmp_path, "gpqa_diamond.csv", CSV)
    assert isinstance(suite, Suite)
    assert [(t.id, t.group) for t in suite.tasks()] == [
        ("gpqa/r1", "physics"),
        ("gpqa/r2", "chemistry"),
    ]
    for index, options in enumerate(
        [["right", "one", "two", "three"], ["so", "a, b", "not", "never"]]
    ):
        right = options[0]
        random.Random(42 + index).shuffle(options)
        session = suite.open(suite.tasks()[index], seed=5)
        text = session.messages[0].content
        for letter, option in zip("ABCD", options, strict=True):
            assert f"\n{letter}: {option}\n" in text
        assert session.reference() == f"\\boxed{{{'ABCD'[options.index(right)]}}}"
        session.reply(session.reference())
        assert session.score().success


def test_options_may_stand_in_a_list_or_in_the_question(tmp_path):
    rows = [
        {"question": "x", "options": ["1", "2", "3", "4"], "answer": "b"},
        {"question": "y\nA) 1 B) 2 C) 3 D) 4", "answer": "(D)"},
        {"question": "z", "choices": {"A": "1", "B": "2", "C": "3", "D": "4"}, "answer": "C"},
    ]
    suite = opened(tmp_path, "q.jsonl", "\n".join(map(json.dumps, rows)))
    answers = [suite.open(task, seed=0).reference() for task in suite.tasks()]
    assert answers == ["\\boxed{B}", "\\boxed{D}", "\\boxed{C}"]
    assert "B: 2" in suite.open(suite.tasks()[0], seed=0).messages[0].content
    wrong = suite.open(suite.tasks()[0], seed=0)
    wrong.reply("\\boxed{A}")
    assert (wrong.score().success, wrong.score().value) == (False, 0.0)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"question": "x", "options": ["1"], "answer": "A"}, "list of four"),
        ({"question": "x", "options": "1, 2, 3, 4", "answer": "A"}, "list of four"),
        ({"question": "x", "options": "[" * 100_000, "answer": "A"}, "list of four"),
        ({"question": "x", "answer": "E"}, "one of A, B, C, D"),
        ({"question": "x", "answer": "AB"}, "one of A, B, C, D"),
        ({"answer": "A"}, "needs question"),
        ({"Correct Answer": "x", "Question": "y"}, "needs Incorrect Answer 1"),
    ],
)
def test_rows_that_are_not_as_described_are_refused(tmp_path, row, told):
    with pytest.raises(ConfigError, match=told):
        opened(tmp_path, "q.jsonl", json.dumps(row))


def test_a_setting_of_another_kind_is_told():
    assert listed("a,b", "games") == listed(["a", "b"], "games") == ["a", "b"]
    for wrong in (5, None, {"a": 1}, [1]):
        with pytest.raises(ConfigError, match="categories must be names"):
            bfcl(categories=wrong)
    for wrong in ("x", None, [[24]], 1.5):
        with pytest.raises(ConfigError, match="years must be numbers"):
            aime(years=wrong)


def test_a_field_that_csv_cannot_hold_is_told(tmp_path):
    file = tmp_path / "long.csv"
    file.write_text(f"question,answer\n{'x' * 200_000},A\n")
    with pytest.raises(ConfigError, match="is not CSV"):
        read_rows(file)
