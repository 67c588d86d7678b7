"""LiveCodeBench from a file of the user's: the published JSONL, run in the sandbox.

Source: fields and hidden tests, the data set `code_generation_lite`; comparison of outputs and
six seconds a test, its published runner; prompt and sampling, the evaluation of arXiv 2608.19197.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import pickletools
import random
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from spade_envs.errors import ConfigError
from spade_envs.types import Json
from spade_train.suites.base import Decoding, Fault, Said, Score, Task
from spade_train.suites.plain import packed, unpacked
from spade_train.suites.programs import TIMEOUT_S, Program, fenced
from spade_train.suites.questions import read_rows, text_of, unique
from spade_train.suites.single import Question, SingleSession, verdict, without_answer

VERSION = 1
"""Of this suite; raise it when scores change."""
FILE = "the published JSONL of one release, such as test6.jsonl of code_generation_lite"
MAX_TEST_BYTES = 1 << 28
"""Of the hidden tests of one problem, decompressed."""
_SYSTEM = (
    "You are an expert Python programmer. You will be given a question (problem specification) "
    "and will generate a correct Python program that matches the specification and passes all "
    "tests."
)
_STARTER = (
    "You will use the following starter code to write the solution to the problem and enclose "
    "your code within delimiters."
)
_STDIN = (
    "Read the inputs from stdin solve the problem and write the answer to stdout (do not directly "
    "test on the sample inputs). Enclose your code within delimiters as follows. Ensure that when "
    "the python program runs, it reads the inputs, runs the algorithm and writes output to STDOUT."
)
_TEXT_OPCODES = frozenset(
    {
        "PROTO", "FRAME", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "UNICODE", "MEMOIZE",
        "BINPUT", "LONG_BINPUT", "PUT", "STOP",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One problem; its tests are read when it is scored."""

    id: str
    group: str
    text: str
    starter: str
    entry: str
    """Method of `Solution` to call; empty for a program that reads standard input."""
    public: str
    private: str


@dataclass(frozen=True, slots=True)
class Test:
    """What a program is given, and what it must give."""

    given: str
    wanted: str


def suite(*, path: str) -> LiveCodeBench:
    """Return the suite; see `FILE`.

    Raises:
        ConfigError: the file is not as described.
    """
    problems = [_problem(row, f"{path}, row {n}") for n, row in enumerate(read_rows(path), 1)]
    unique([each.id for each in problems], path)
    return LiveCodeBench(problems)


def hidden_text(encoded: str) -> str:
    """Return the hidden tests: JSON as it is, or base64 of zlib of one pickled text.

    The pickle is read opcode by opcode and never loaded: it may hold one text and nothing else.

    Raises:
        ValueError: it is something else.
    """
    if encoded.lstrip().startswith("["):
        return encoded
    try:
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(base64.b64decode(encoded, validate=True), MAX_TEST_BYTES)
    except (binascii.Error, zlib.error) as error:
        raise ValueError(f"hidden tests cannot be read: {error}") from error
    if not unpacker.eof:
        raise ValueError("hidden tests are cut off, or too large")
    texts = []
    for opcode, argument, _ in pickletools.genops(data):
        if opcode.name not in _TEXT_OPCODES:
            raise ValueError(f"hidden tests hold more than one text: {opcode.name}")
        if isinstance(argument, str):
            texts.append(argument)
    if len(texts) != 1:
        raise ValueError("hidden tests hold more than one text")
    return texts[0]


def same_output(said: str, wanted: str) -> bool:
    """Whether a program wrote what it should: line by line, numbers as numbers."""
    mine = [line.strip() for line in said.strip().split("\n")]
    theirs = [line.strip() for line in wanted.strip().split("\n")]
    return len(mine) == len(theirs) and all(
        one == other or _same_numbers(one, other) for one, other in zip(mine, theirs, strict=True)
    )


def same_value(said: Json, wanted: Json) -> bool:
    """Whether a method returned what it should; a tuple counts as a list at every depth."""
    return bool(_as_lists(said) == _as_lists(wanted))


class LiveCodeBench:
    """Programs to write."""

    name = "livecodebench"
    decoding = Decoding(temperature=0.2, top_p=0.95, max_tokens=16_384)
    labels: Mapping[str, str] = {"program": "the last fenced block"}

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.version = f"file + {VERSION}"
        self._problems = {each.id: each for each in problems}
        told = hashlib.sha256()
        for each in problems:
            for part in (each.id, each.text, each.starter, each.public, each.private):
                told.update(part.encode("utf-8", "surrogatepass") + b"\0")
        self.settings: Mapping[str, Json] = {
            "problems": len(problems),
            "data": f"sha256:{told.hexdigest()}",
            "timeout_s": TIMEOUT_S,
        }

    def tasks(self) -> Sequence[Task]:
        """Return the problems as they stand."""
        return [Task(each.id, each.group) for each in self._problems.values()]

    def open(self, task: Task, *, seed: int) -> SingleSession:
        """Ask for a program; the seed changes nothing. There is no oracle in the data."""
        problem = self._problems[task.id]
        return SingleSession(
            Question(
                system=_SYSTEM,
                prompt=_prompt(problem),
                judge=lambda said: _scored(problem, said),
                guess=lambda rng: _guess(problem, rng),
            )
        )

    def close(self) -> None:
        """Nothing is held."""


def tests_of(problem: Problem) -> list[Test]:
    """Return the public tests, then the hidden ones.

    Raises:
        ValueError: they cannot be read.
    """
    found = [*json.loads(problem.public or "[]"), *json.loads(hidden_text(problem.private))]
    return [Test(str(each["input"]), str(each["output"])) for each in found]


def _scored(problem: Problem, said: Said) -> Score | Fault:
    code = fenced(said)
    if not code or not code.strip():
        return without_answer()
    program = Program(code)
    try:
        tests = tests_of(problem)
        for number, test in enumerate(tests, 1):
            if why := _failure(program, problem, test):
                return verdict(False, error=why, test=f"{number} of {len(tests)}")
    except (ValueError, RecursionError) as error:  # what a program does is in its outcome
        return Fault("score", f"{problem.id}: a test is no JSON: {error}")
    finally:
        program.close()
    return verdict(bool(tests))


def _failure(program: Program, problem: Problem, test: Test) -> str:
    """Return why a program fails at one test; empty if it does not."""
    if not problem.entry:
        outcome = program.run(test.given)
        right = not outcome.error and same_output(str(outcome.value), test.wanted)
    else:
        args = [packed(json.loads(line)) for line in test.given.split("\n") if line.strip()]
        outcome = program.call(problem.entry, args)
        wanted = json.loads(test.wanted)
        right = not outcome.error and _returned(outcome.value, wanted)
    return "" if right else outcome.error or "wrong answer"


def _returned(value: Json, wanted: Json) -> bool:
    """Whether what came back is the value that is wanted; a program may have forged it."""
    try:
        return same_value(unpacked(value), wanted)
    except (ValueError, TypeError, OverflowError, RecursionError):
        return False


def _prompt(problem: Problem) -> str:
    how, code = (_STARTER, problem.starter) if problem.starter else (_STDIN, "# YOUR CODE HERE")
    return (
        f"### Question:\n{problem.text}\n\n### Format: {how}\n```python\n{code}\n```\n\n"
        "### Answer: (use the provided format with backticks)\n\n"
    )


def _guess(problem: Problem, rng: random.Random) -> Said:
    value = rng.choice(["0", "1", "-1", "''", "[]", "True", "False"])
    if not problem.entry:
        return f"```python\nprint({value})\n```"
    body = f"    def {problem.entry}(self, *args):\n        return {value}"
    return f"```python\nclass Solution:\n{body}\n```"


def _problem(row: Mapping[str, Json], where: str) -> Problem:
    about = row.get("metadata") or "{}"
    try:
        entry = str(json.loads(about).get("func_name") or "")
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ConfigError(f"{where}: metadata must be a JSON object as text") from error
    starter = str(row.get("starter_code") or "")
    if starter and not entry:
        raise ConfigError(f"{where}: starter_code without func_name in metadata")
    problem = Problem(
        id=text_of(row, ("question_id",), where),
        group=str(row.get("difficulty") or "all"),
        text=text_of(row, ("question_content",), where),
        starter=starter,
        entry=entry if starter else "",
        public=str(row.get("public_test_cases") or "[]"),
        private=text_of(row, ("private_test_cases",), where),
    )
    try:
        if not tests_of(problem):
            raise ConfigError(f"{where}: no tests")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ConfigError(f"{where}: {error}") from error
    return problem


def _same_numbers(one: str, other: str) -> bool:
    mine, theirs = one.split(), other.split()
    if len(mine) != len(theirs):
        return False
    try:
        return all(Decimal(a) == Decimal(b) for a, b in zip(mine, theirs, strict=True))
    except InvalidOperation:
        return False


def _as_lists(value: Json) -> Json:
    if isinstance(value, list | tuple):
        return [_as_lists(each) for each in value]
    if isinstance(value, dict):
        return {key: _as_lists(each) for key, each in value.items()}
    return value
