import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spade_train.suites.evaluating import harmless
from spade_train.suites.plain import packed, unpacked
from spade_train.suites.single import boxed, tagged

scalars = st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False)
scalars |= st.binary() | st.complex_numbers(allow_nan=False)
values = st.recursive(
    scalars,
    lambda v: (
        st.lists(v)
        | st.lists(v).map(tuple)
        | st.dictionaries(st.text() | st.integers() | st.tuples(st.integers()), v)
        | st.sets(st.integers())
        | st.frozensets(st.text())
    ),
)


@settings(max_examples=50, deadline=None)
@given(values)
def test_plain_values_keep_their_types(value):
    back = unpacked(packed(value))
    assert back == value
    assert type(back) is type(value)


class Sly(int):
    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


@pytest.mark.parametrize("value", [object(), Sly(3), [1, {2: len}], type])
def test_what_is_not_plain_is_not_packed(value):
    with pytest.raises(TypeError, match="no plain value"):
        packed(value)


@pytest.mark.parametrize("value", [[], ["list"], ["set", 3], ["bytes", 1], ["eval", ["x"]], [1, 2]])
def test_what_was_never_packed_is_refused(value):
    with pytest.raises(ValueError, match="not a packed value"):
        unpacked(value)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (r"so \boxed{1} and \boxed{ 42 }.", "42"),
        (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"{ \boxed{a} } { \boxed{b", "a"),
        (r"\boxed{outer \boxed{inner}}", "inner"),
        (r"} } \boxed {7}", "7"),
        ("no box", None),
        (r"\boxed{never closed", None),
        (r"\boxed{" * 30_000, None),
    ],
)
def test_the_last_closed_box_is_the_answer(text, found):
    assert boxed(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("<answer>1</answer> <ANSWER> 2\n</Answer>", "2"),
        ("<answer>a<answer>b</answer>", "b"),
        ("</answer>x<answer>", None),
        ("<answer></answer>", ""),
        ("<answer>" * 30_000, None),
    ],
)
def test_the_last_closed_tag_is_the_answer(text, found):
    assert tagged(text) == found


@pytest.mark.parametrize(
    "answer",
    [
        "3*x**2/2 + 4*x + C",
        "-sin(x)*exp(2*x)/5 + x(x + 1) + 1.5*x",
        "(25 + 3) * 4 - 7/2",
        "sqrt(x)*log(x) - 2.*x**(3/2)",
        "x**10*y**3 - 123456789012*x",
    ],
)
def test_formulas_are_let_through(answer):
    assert harmless(answer, "formula")


@pytest.mark.parametrize(
    "answer",
    [
        "__import__('os').system('id')",
        "exec('1')",
        "eval(x)",
        "open(x)",
        "x.func(1)",
        "(1).bit_length()",
        "S('x')",
        "(lambda: 1)()",
        "[x for x in y]",
        "getattr(x, y)",
        "9**9**9",
        "9^9^9",
        "2**(9**9)",
        "10**100000",
        "x" * 5000,
        "f(x); 1",
        "chr(95)",
    ],
)
def test_what_acts_or_never_ends_is_not(answer):
    assert not harmless(answer, "formula")


@pytest.mark.parametrize(
    ("answer", "fine"),
    [
        ("[['0', '1'], ['1', '0']]", True),
        ("_ Q _\nQ _ _", True),
        ("1 2 3 4.5", True),
        ("ABCDEABCDA", True),
        ("[0]*10**10", False),
        ("[print(1)]", False),
        ("''.join([])", False),
        ("f'{__name__}'", False),
        ("(lambda: 1)()", False),
        ("'\\x5f'", False),
    ],
)
def test_lists_are_values_alone(answer, fine):
    assert harmless(answer, "n_queens") is fine


def test_a_word_without_end_is_looked_through_once():
    assert harmless("a" * 200_000, "n_queens")
    assert harmless("1" * 200_000 + "a1" * 100_000, "n_queens")
    assert not harmless("a1" * 100_000 + "(1)", "n_queens")
    assert not harmless("2print (1)", "n_queens")
    assert not harmless("2eval(1)", "formula")
