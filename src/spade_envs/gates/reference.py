"""Family L3, reachability: the reference earns everything, also when it is said differently."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from spade_envs.api.answers import answer_of
from spade_envs.api.calls import parse_calls
from spade_envs.gates.finding import (
    NO_REFERENCE,
    Finding,
    counted,
    failed,
    fault_text,
    passed,
    skipped,
    warned,
)
from spade_envs.gates.lane import Job
from spade_envs.gates.policies import boxed, script
from spade_envs.gates.stats import Rate
from spade_envs.gates.subject import Subject
from spade_envs.gates.thresholds import RETURN_TOLERANCE
from spade_envs.gates.trace import Trace, clip
from spade_envs.types import Fault, Json

OVERPAID_SEEDS = 2, 1
"""Seeds on which actions are repeated, at the lowest level and at those above."""


def reference_wins(subject: Subject) -> Finding:
    """L3.1: the reference earns the greatest return and success on every level and seed."""
    if not subject.has_reference:
        return failed("no reference solution; not certifiable; add solution()")
    per_level: dict[str, Json] = {}
    for level in subject.levels:
        for seed, actions in subject.solutions(level).items():
            if isinstance(actions, Fault):
                return failed(
                    f"solution() fails at level {level}, seed {seed}: {actions.message}",
                    level=level,
                    seed=seed,
                    fault={**actions.as_json(), "traceback": clip(actions.traceback, 2000)},
                )
    subject.play_references(subject.levels, subject.seeds)
    repeated = _repeated(subject)
    for level in subject.levels:
        traces = subject.references(level)
        losers = [trace for trace in traces if not wins(subject, trace)]
        rate = Rate.of([float(wins(subject, trace)) for trace in traces])
        per_level[str(level)] = rate.as_json()
        if losers:
            return failed(
                f"the reference wins {rate.successes} of {rate.trials} episodes at level {level}: "
                f"{_why(subject, losers[0])}",
                success_rate=per_level,
                **losers[0].evidence(),
            )
        for trace in repeated:
            if trace.level == level and trace.total > subject.top + RETURN_TOLERANCE:
                return failed(
                    f"repeating the reference's actions returns {trace.total:g}, more than "
                    f"{subject.top:g}; pay every merit once",
                    **trace.evidence(),
                )
    levels = counted(len(subject.levels), "level")
    return passed(
        f"the reference wins on {levels} x {subject.seed_count} seeds",
        success_rate=per_level,
        ceiling=subject.top,
    )


def _repeated(subject: Subject) -> list[Trace]:
    """Play a few references of every level with each of their actions three times in a row."""
    jobs = [
        Job(level, trace.seed, script([action for action in trace.actions for _ in range(3)]))
        for level in subject.levels
        for trace in subject.references(level, subject.seeds[: OVERPAID_SEEDS[level > 0]])
    ]
    return subject.plain.run(jobs, fresh=False)


def wins(subject: Subject, trace: Trace) -> bool:
    """Whether an episode ended with the greatest return and success."""
    return trace.success and abs(trace.total - subject.top) <= RETURN_TOLERANCE


def _why(subject: Subject, trace: Trace) -> str:
    at = f"(level {trace.level}, seed {trace.seed})"
    if trace.fault is not None:
        return fault_text(trace)
    if not trace.steps:
        return f"solution() gives no action {at}"
    if not trace.done:
        return f"the episode goes on after the last action of solution() {at}{_boxing(subject)}"
    if len(trace.steps) < len(subject.solution(trace.level, trace.seed or 0)):  # type: ignore[arg-type]
        return f"the episode ends before the last action of solution() {at}"
    if abs(trace.total - subject.top) > RETURN_TOLERANCE:
        return f"it returns {trace.total:g} instead of {subject.top:g} {at}"
    return f"the last info lacks success = True {at}"


def _boxing(subject: Subject) -> str:
    """Return what an author of the published shape may not know of the actions that are played."""
    if subject.interface.api != "published-1":
        return ""
    return r"; a bare answer of solution() is played in \boxed{}, so step() must read it there"


Variant = Callable[[str], str | None]
"""Says an action differently, or None where it does not apply."""


def _preamble(text: str) -> str | None:
    if "\\boxed{" in text:
        return f"First I look at what is asked. Then I work it out step by step.\n{text}"
    return f"First I look at what is asked. Then I work it out.\n{boxed(text)}"


def _in_box(text: str) -> str | None:
    return None if "\\boxed{" in text else boxed(text)


def _dotted(text: str) -> str | None:
    return f"{text}." if text and (text[-1].isalnum() or text[-1] == "}") else None


TEXT_VARIANTS: dict[str, tuple[str, Variant]] = {
    "spaces around": ("fail", lambda text: f"  {text} "),
    "a newline after": ("fail", lambda text: f"{text}\n"),
    "a newline before": ("fail", lambda text: f"\n{text}"),
    "a trailing dot": ("warn", _dotted),
    "a box around": ("warn", _in_box),
    "a code fence": ("warn", lambda text: f"```\n{text}\n```"),
    "thinking before": ("warn", lambda text: f"<think>\nLet me see.\n</think>\n{text}"),
    "reasoning before a box": ("warn", _preamble),
}


def _pretty(text: str) -> str | None:
    found = parse_calls(text)
    if any(item.error for item in found):
        return None
    bodies = [
        json.dumps({"name": item.name, "arguments": dict(item.arguments)}, indent=2)
        for item in found
    ]
    return "\n".join(f"<tool_call>\n{body}\n</tool_call>" for body in bodies)


def _openai(text: str) -> str | None:
    found = parse_calls(text)
    if any(item.error for item in found):
        return None
    return json.dumps(
        {
            "tool_calls": [
                {"function": {"name": item.name, "arguments": json.dumps(dict(item.arguments))}}
                for item in found
            ]
        }
    )


CALL_VARIANTS: dict[str, tuple[str, Variant]] = {
    "spaces around": ("fail", lambda text: f" \n{text}\n "),
    "indented JSON": ("fail", _pretty),
    "OpenAI tool calls": ("warn", _openai),
    "thinking before": ("warn", lambda text: f"<think>\nLet me see.\n</think>\n{text}"),
}


def harmless_variants(subject: Subject) -> Finding:
    """L3.9: the same answer with spaces, box, fence, dot or reasoning still earns everything."""
    if not subject.has_reference:
        return skipped(NO_REFERENCE)
    weak: dict[str, Json] = {}
    # The highest level once, the lowest twice: how an answer is read seldom depends on the level.
    edges = {subject.levels[-1]: 1, subject.levels[0]: 2}
    cases = [
        (name, severity, Job(level, trace.seed, script(said)))
        for level in subject.levels
        for trace in subject.references(level, subject.seeds[: edges.get(level, 0)])
        if wins(subject, trace)
        for name, severity, said in _variants(subject, trace.actions)
    ]
    traces = subject.plain.run([job for _, _, job in cases], fresh=False)
    for (name, severity, _), trace in zip(cases, traces, strict=True):
        if wins(subject, trace):
            continue
        if severity == "fail":
            return failed(
                f"the reference with {name} does not win; read actions with answer_of()",
                variant=name,
                **trace.evidence(),
            )
        weak.setdefault(name, trace.evidence())
    if weak:
        names = ", ".join(weak)
        return warned(
            f"the reference does not win with {names}; read actions with answer_of()",
            variants=weak,
        )
    return passed(f"{len(cases)} harmless variants win", played=len(cases))


def _variants(
    subject: Subject, actions: tuple[str, ...]
) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield name, severity and actions of each variant that changes something."""
    kinds = [subject.holds_call(action) for action in actions]
    for table, wanted in ((TEXT_VARIANTS, False), (CALL_VARIANTS, True)):
        for name, (severity, change) in table.items():
            said = tuple(
                (change(action) or action) if is_call == wanted else action
                for action, is_call in zip(actions, kinds, strict=True)
            )
            if said != actions:
                yield name, severity, said


def final_answer(actions: tuple[str, ...], *, calls: bool = True) -> str | None:
    """Return the answer that the last action gives; None if it is a tool call or empty.

    Without `calls`, what looks like a call is an answer.
    """
    if not actions or (calls and parse_calls(actions[-1])):
        return None
    return answer_of(actions[-1]) or None


def answer_in(subject: Subject, actions: tuple[str, ...]) -> str | None:
    """Return the answer that the last action gives; a call is one where there are no tools."""
    return final_answer(actions, calls=subject.interface.kind == "tool")
