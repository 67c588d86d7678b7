"""Programs that a model wrote, run in the sandbox: called with values, or fed standard input.

A program never shares a process with what it is tested by. What it is given and what it returns
cross as data; the comparison is made elsewhere, so a program that patches `assert`, forges a
result or ends its process changes its own answers and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from spade_envs.sandbox import Sandbox, default_sandbox
from spade_envs.types import Fault as EnvFault
from spade_envs.types import Json, Limits
from spade_train.suites.base import Said
from spade_train.suites.judge import Judge

TIMEOUT_S = 6.0
"""Of one call or one run."""
LIMITS = Limits(
    load_timeout_s=60.0,
    reset_timeout_s=10.0,
    step_timeout_s=TIMEOUT_S,
    memory_mb=1024,
    max_observation_chars=32_000_000,
    max_action_chars=64_000_000,
)
MAX_PROGRAM_CHARACTERS = 200_000
_FENCE = re.compile(r"^[ \t]*```[ \t]*(\w*)[^\n]*$", re.MULTILINE)
_CODE = '''
import io
import sys

HELD = {}


def lowered(value):
    """Return a value as what it plainly is: a Counter as a dict, numpy's numbers as numbers."""
    for kind in (bool, int, float, complex, str, bytes):
        if isinstance(value, kind):
            return kind(value)
    for kind in (list, tuple, set, frozenset):
        if isinstance(value, kind):
            return kind([lowered(each) for each in value])
    if isinstance(value, dict):
        return {lowered(key): lowered(each) for key, each in value.items()}
    return value.item() if type(value).__module__ == "numpy" else value


def run(code, name):
    space = {"__name__": name, "__builtins__": __builtins__}
    exec(compile(code, "<program>", "exec"), space)
    return space


def function(ask):
    if "space" not in HELD:
        HELD["space"] = run(ask["code"], "program")
    space, entry = HELD["space"], ask["entry"]
    if entry in space or "Solution" not in space:
        return space[entry]
    return getattr(space["Solution"](), entry)


def fed(ask):
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="")
    kept = sys.stdin, sys.stdout
    sys.stdin = io.TextIOWrapper(io.BytesIO(ask["stdin"].encode()), encoding="utf-8")
    sys.stdout = out
    try:
        run(ask["code"], "__main__")
    except SystemExit:
        pass
    finally:
        sys.stdin, sys.stdout = kept
    out.flush()
    return out.buffer.getvalue().decode("utf-8", "replace")


def many(ask):
    found = []
    try:
        for call in ask["calls"]:
            found.append(packed(lowered(function(ask)(*unpacked(["list", call])))))
    except BaseException as error:
        return {"said": found, "error": (type(error).__name__ + ": " + str(error))[:200]}
    return {"said": found}


def answer(ask):
    sys.setrecursionlimit(20_000)
    try:
        if "stdin" in ask:
            return {"said": fed(ask)}
        if "calls" in ask:
            return many(ask)
        given = unpacked(ask["args"])
        return {"said": packed(lowered(function(ask)(*given)))}
    except BaseException as error:
        return {"error": (type(error).__name__ + ": " + str(error))[:200]}
'''


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a program gave: a value, or why there is none."""

    value: Json = None
    """Packed (`plain`), or the text that it wrote."""
    error: str = ""


class Program:
    """One program in a process of its own, until `close`.

    Args:
        code: as the model wrote it.
        sandbox: by default the one that everything shares.
        limits: of each call or run.
    """

    def __init__(self, code: str, sandbox: Sandbox | None = None, limits: Limits = LIMITS) -> None:
        self._code = code
        self._judge = Judge(_CODE, sandbox or default_sandbox(), limits)

    def call(self, entry: str, args: Sequence[Json]) -> Outcome:
        """Call a function of the program, or a method of its class `Solution`.

        Args:
            entry: its name.
            args: packed values.
        """
        return self._asked({"entry": entry, "args": ["list", list(args)]})

    def call_many(self, entry: str, calls: Sequence[Sequence[Json]]) -> tuple[list[Json], str]:
        """Call a function several times, within the time of one call.

        Returns:
            The packed answers up to the first failure, and what failed; empty if nothing did.
        """
        found = self._asked({"entry": entry, "calls": [list(each) for each in calls]})
        values = list(found.value) if isinstance(found.value, list) else []
        return values[: len(calls)], found.error or ("" if len(values) >= len(calls) else "cut")

    def run(self, stdin: str) -> Outcome:
        """Run the program as a script; return what it writes to standard output."""
        return self._asked({"stdin": stdin})

    def close(self) -> None:
        """End the process."""
        self._judge.close()

    def _asked(self, ask: dict[str, Json]) -> Outcome:
        if len(self._code) > MAX_PROGRAM_CHARACTERS:
            return Outcome(error="the program is too long")
        found = self._judge.ask({"code": self._code, **ask})
        if isinstance(found, EnvFault):
            return Outcome(error=f"{found.kind}: {found.message}")
        if not isinstance(found, dict) or not {"said", "error"} & found.keys():
            return Outcome(error="protocol: an answer of another form")
        error = str(found.get("error", ""))[:200]
        return Outcome(value=found.get("said"), error=error)


def fenced(said: Said) -> str | None:
    """Return the last fenced block of a reply that is Python or of no named language."""
    begin, language, found = -1, "", None
    for mark in _FENCE.finditer(said):
        if begin < 0:
            begin, language = mark.end() + 1, mark[1].lower()
        else:
            if language in ("", "py", "python", "python3"):
                found = said[begin : mark.start()]
            begin = -1
    return found
