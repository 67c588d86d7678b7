import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_envs.api import answer_of, without_thinking


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        ("42", "42"),
        ("  42\n", "42"),
        ("42.", "42"),
        ("3.14", "3.14"),
        ("wait...", "wait..."),
        (r"so \boxed{42}.", "42"),
        (r"first \boxed{1}, no, \boxed{2}", "2"),
        (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"so \boxed{{x}{y}} and }", "{x}{y}"),
        (r"\boxed{never closed", r"\boxed{never closed"),
        (r"<think>\boxed{9}</think>\boxed{8}", "8"),
        ("<think>half a thought", "half a thought"),
        ("<answer>left</answer> is it", "left"),
        ("<answer>a</answer><answer>b</answer>", "b"),
        ("</answer><answer>", "</answer><answer>"),
        ("I add both.\nAnswer: north.", "north"),
        ("**Final Answer:** 7", "7"),
        ("answer: **seven**", "seven"),
        ("```\nabc\n```", "abc"),
        ("```text\nabc\n```", "abc"),
        ("`abc`", "abc"),
        ("$12$", "12"),
        ("'a b'", "a b"),
        ("", ""),
        ("深い 🙂", "深い 🙂"),
    ],
)
def test_answer_of(message, answer):
    assert answer_of(message) == answer


@given(st.text())
def test_answer_of_takes_any_text_and_returns_a_stripped_part(message):
    answer = answer_of(message)
    assert answer == answer.strip()
    assert len(answer) <= len(message)


@given(st.text(alphabet="abc xyz\n", min_size=1).filter(lambda text: text.strip()))
def test_a_boxed_answer_wins_over_whatever_is_said_before(noise):
    assert answer_of(f"{noise}\n\\boxed{{42}}") == "42"


def test_thinking_ends_at_the_last_closing_tag():
    assert without_thinking("a</think>b</think>c") == "c"
