import random

import pytest

from spade_train.suites.calls import (
    MAX_CALLS,
    Call,
    Unreadable,
    as_reply,
    parse_calls,
    random_call,
    rendered,
)


def test_calls_are_read_as_they_are_meant():
    found = parse_calls("[cd(folder='a b'), put(n=-3, x=[1, 2.5], d={'k': (True, None)}), ls()]")
    assert found == (
        Call("cd", {"folder": "a b"}),
        Call("put", {"n": -3, "x": [1, 2.5], "d": {"k": (True, None)}}),
        Call("ls"),
    )


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("", ()),
        ("[]", ()),
        ("ls()", (Call("ls"),)),
        ("```\n[ls()]\n```", (Call("ls"),)),
        ("cd(folder=home)", (Call("cd", {"folder": "home"}),)),
        ("sort('a.txt')", (Call("sort", {}, ("a.txt",)),)),
        ("f(x=2*3+1)", (Call("f", {"x": 7}),)),
        ("a.b.c(x=1)", (Call("a.b.c", {"x": 1}),)),
    ],
)
def test_forms_that_models_use(text, calls):
    assert parse_calls(text) == calls


@pytest.mark.parametrize(
    "text",
    [
        "I will now list the files.",
        "[1, 2]",
        "x = ls()",
        "ls(); rm()",
        "[" * 5000,
        "(" * 300 + ")" * 300,
        "f(x=" + "9" * 5000 + ")",
        "f(\0)",
        "[" + ", ".join(["f()"] * (MAX_CALLS + 1)) + "]",
        "f(x='" + "a" * 200_001 + "')",
    ],
)
def test_what_is_no_list_of_calls_is_told(text):
    assert isinstance(parse_calls(text), Unreadable)


HOSTILE = [
    "cd(folder=__import__('os').system('touch {file}'))",
    "cd(folder=__import__(name='os'))",
    "cd(folder=(lambda: open('{file}', 'w'))())",
    "cd(folder=[open('{file}', 'w') for _ in [1]])",
    "cd(folder=f\"{{open('{file}', 'w')}}\")",
    "cd(folder=1 + open('{file}', 'w'))",
    "cd(folder={{open('{file}', 'w'): 1}})",
    "cd(**{{'folder': open('{file}', 'w')}})",
    "cd(*open('{file}', 'w'))",
    "cd(folder=x if open('{file}', 'w') else y)",
    "cd(folder=(y := open('{file}', 'w')))",
    "cd(folder=9**9**9)",
    "cd(folder=1e999)",
    "cd(folder=b'x')",
    "cd(folder=1j)",
    "cd(folder=1/0)",
    "cd(folder=not True)",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_arguments_that_would_be_evaluated_refuse_their_call(text, tmp_path):
    file = tmp_path / "made"
    (call,) = parse_calls(text.format(file=file))
    assert call.refused
    assert call.keywords == {}
    assert not file.exists()
    with pytest.raises(ValueError, match="cannot be written"):
        rendered(call)


def test_a_key_that_is_code_stays_text():
    """BFCL's own decoder writes a dictionary of dictionaries as a call of its first key."""
    (call,) = parse_calls("""cd(folder={"__import__('os').getcwd() or dict": {"x": 1}})""")
    assert rendered(call) == """cd(folder={"__import__('os').getcwd() or dict": {'x': 1}})"""


@pytest.mark.parametrize("name", ["os.system", "?", "a b", "f(x)[0]", ""])
def test_only_a_plain_name_is_written(name):
    with pytest.raises(ValueError, match="cannot be written"):
        rendered(Call(name))


def test_what_is_written_reads_the_same():
    calls = (Call("f", {"a": 'it\'s "so"\n', "b": [{"c": (1, -2.5)}]}), Call("g"))
    assert parse_calls(as_reply(calls)) == calls


def test_random_calls_are_well_formed():
    functions = [
        {
            "name": "f",
            "parameters": {
                "required": ["a", "b", "c", "d", "e"],
                "properties": {
                    "a": {"type": "integer"},
                    "b": {"type": "array", "items": {"type": "boolean"}},
                    "c": {"type": "string", "enum": ["x"]},
                    "d": {"type": "dict", "properties": {"k": {"type": "float"}}},
                    "e": {},
                },
            },
        }
    ]
    one = random_call(functions, random.Random(1))
    assert one == random_call(functions, random.Random(1))
    assert parse_calls(as_reply([one])) == (one,)
    assert (type(one.keywords["a"]), one.keywords["c"]) == (int, "x")
    assert type(one.keywords["d"]["k"]) is float
    assert {type(each) for each in one.keywords["b"]} == {bool}
