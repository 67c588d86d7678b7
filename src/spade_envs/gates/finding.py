"""What a gate returns before it is named and timed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from spade_envs.gates.subject import Subject
from spade_envs.gates.trace import Trace
from spade_envs.types import Json, Outcome

MAX_EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Finding:
    """Verdict of one gate function."""

    outcome: Outcome
    message: str
    evidence: dict[str, Json] = field(default_factory=dict)


GateFunction = Callable[[Subject], Finding]


def passed(message: str, **evidence: Json) -> Finding:
    """Return a pass."""
    return Finding("pass", message, evidence)


def failed(message: str, **evidence: Json) -> Finding:
    """Return a failure; the message says how to mend it."""
    return Finding("fail", message, evidence)


def warned(message: str, **evidence: Json) -> Finding:
    """Return a warning, which does not refuse the environment."""
    return Finding("warn", message, evidence)


def skipped(message: str, **evidence: Json) -> Finding:
    """Return that nothing could be measured."""
    return Finding("skip", message, evidence)


NO_REFERENCE = "needs a reference solution; add solution()"


def counted(number: int, noun: str) -> str:
    """Return `1 level` or `2 levels`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def fault_text(trace: Trace) -> str:
    """Return one line that says which fault ended an episode, and where."""
    fault = trace.fault
    if fault is None:
        return "no fault"
    where = f"level {trace.level}, seed {trace.seed}, turn {len(trace.steps)}"
    line = fault.traceback.strip().splitlines()[-1:] or [""]
    at = f" at {line[0].strip()}" if line[0] else ""
    return f"{fault.op} failed ({fault.kind}: {fault.message}){at} ({where})"
