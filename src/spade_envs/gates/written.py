"""Hints that a model wrote, judged by the gates on hints as the environment's own are."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence

from spade_envs.gates.check import OUT_OF_TIME, STALLED, other_sandbox
from spade_envs.gates.disguise import spellings, squeezed
from spade_envs.gates.finding import Finding, failed, passed, skipped, warned
from spade_envs.gates.hints import copies, way_name
from spade_envs.gates.lane import OutOfTimeError, StalledError
from spade_envs.gates.policies import best_constant, null, script
from spade_envs.gates.ports import SandboxPort
from spade_envs.gates.reference import wins
from spade_envs.gates.stats import Rate
from spade_envs.gates.subject import Subject, answer_forms
from spade_envs.gates.table import GATES, Gate
from spade_envs.gates.thresholds import (
    HINT_COPY_FAIL,
    HINT_COPY_WARN,
    HINT_SEEDS,
    LEAK_SHARE,
    MIN_LEAK_ANSWERS,
    MIN_LEAK_SEEDS,
)
from spade_envs.gates.trace import clip
from spade_envs.gates.withheld import MIN_VALUE_CHARS, secrets_of
from spade_envs.sandbox import default_sandbox
from spade_envs.types import EnvSource, Fault, GateResult, Limits

_SCREEN = 4
"""Seeds that each way of copying is tried on before it is measured on all."""


def check_hints(
    source: EnvSource,
    written: Callable[[int, int], str],
    *,
    sandbox: SandboxPort | None = None,
    limits: Limits | None = None,
    seeds: int = 20,
    deadline_s: float = 120.0,
) -> tuple[GateResult, ...]:
    """Return what L4.1, L4.2 and L4.3 say of hints that are not the environment's own.

    A text that is the same for every seed cannot be compared with those of other seeds. So it is
    also looked at for the answers of most seeds at once, such as a table of all riddles, and what
    can be copied from it is played as a constant.

    Args:
        source: of an environment that passed its gates.
        written: gives the hint of a level and a seed; the same text for all of them is a strategy.
        sandbox: where the environment runs; by default the process-wide one.
        limits: resources of its worker.
        seeds: seeds per level, >= 6.
        deadline_s: time after which the remaining gates are skipped.

    Raises:
        ValueError: `seeds` is too small to tell anything.
        IsolationUnavailable: no sandbox can be started here.
    """
    if seeds < HINT_SEEDS:
        raise ValueError(f"seeds must be >= {HINT_SEEDS}, not {seeds}")
    subject = Subject(
        source=source,
        sandbox=sandbox or default_sandbox(),
        elsewhere=other_sandbox,
        limits=limits or Limits(),
        seed_count=seeds,
        deadline=time.monotonic() + deadline_s,
        written=written,
    )
    try:
        return tuple(_judged(gate, subject) for gate in GATES if gate.id in _MORE)
    finally:
        subject.close()


def _judged(gate: Gate, subject: Subject) -> GateResult:
    if isinstance(subject.loaded, Fault):
        return gate.result(failed(f"the environment does not load: {subject.loaded.message}"))
    try:
        result = gate(subject)
        more = _MORE[gate.id]
        if result.outcome in ("fail", "skip") or more is None:
            return result
        finding = more(subject)
    except OutOfTimeError:
        return gate.result(skipped(OUT_OF_TIME))
    except StalledError:
        return gate.result(skipped(f"{STALLED} L1.7"))
    return result if finding.outcome == "pass" else gate.result(finding)


def _names_no_answers(subject: Subject) -> Finding:
    """Whether the hints leave out what most seeds have to find out, wherever it stands in them."""
    calls = subject.interface.kind == "tool"
    for level in subject.levels:
        seeds = subject.seeds
        hints = subject.hints(level, seeds)
        shown = {trace.seed: trace.start.observation for trace in subject.starts(level)}
        traces = [trace for trace in subject.references(level, seeds) if wins(subject, trace)]
        if not traces:
            return skipped(f"no reference wins at level {level}, so nothing can be compared")
        for name, secret in secrets_of(traces, calls=calls):
            told = [
                seed
                for seed, answer in secret.items()
                if len(answer) >= MIN_VALUE_CHARS
                and _holds(hints[seed], answer)
                and not _holds(shown.get(seed, ""), answer)
            ]
            enough = len(told) >= max(MIN_LEAK_SEEDS, LEAK_SHARE * len(secret))
            if enough and len({secret[seed] for seed in told}) >= MIN_LEAK_ANSWERS:
                seed = told[0]
                return failed(
                    f"the hint names {name} of {len(told)} of {len(secret)} seeds at level "
                    f"{level}; tell how to find it, and leave out the values",
                    level=level, seed=seed, hint=clip(hints[seed]), answer=clip(secret[seed]),
                )  # fmt: skip
    return passed("the hint names no answers")


def _holds(text: str, answer: str) -> bool:
    found = spellings(answer, squeezed(text)).values()
    return any(re.search(pattern, text, re.IGNORECASE) for pattern in found)


def _constant_copies_earn_nothing(subject: Subject) -> Finding:
    """Whether no text that stands in the hint wins by itself, whatever the instance."""
    warning: Finding | None = None
    for level in subject.edge_levels:
        seeds = subject.seeds
        hint = subject.hints(level, seeds[:1])[seeds[0]]
        form = answer_forms(subject, level)[0]
        said = {actions: way for way, actions in copies(hint, form).items()}
        floor: float | None = None
        for actions, way in said.items():
            if not any(_scores(subject, level, seeds[:_SCREEN], actions)):
                continue
            floor = _floor(subject, level, seeds) if floor is None else floor
            rate = Rate.of(_scores(subject, level, seeds, actions))
            if rate.mean - floor <= HINT_COPY_WARN:
                continue
            text = (
                f"{way_name(way)} of the hint earns {rate.mean:.0%} at level {level} as it stands; "
                "tell the way, not what to say"
            )
            evidence = {"copied": list(way), "own": rate.as_json()}
            if rate.mean - floor > HINT_COPY_FAIL:
                return failed(text, level=level, hint=clip(hint), **evidence)
            warning = warning or warned(text, level=level, **evidence)
    return warning or passed("nothing that stands in the hint wins as it stands")


def _scores(
    subject: Subject, level: int, seeds: Sequence[int], actions: tuple[str, ...]
) -> list[float]:
    traces = subject.play(script(actions), level, seeds, fresh=False)
    return [subject.score(trace) for trace in traces]


def _floor(subject: Subject, level: int, seeds: Sequence[int]) -> float:
    """Return what can be earned without the hint by always doing the same."""
    references = {t.seed or 0: t.actions for t in subject.references(level, seeds)}
    policies = [null, *([best_constant(references)] if references else [])]
    plays = [subject.play(policy, level, seeds, name="floor") for policy in policies]
    return max(sum(map(subject.score, traces)) / len(seeds) for traces in plays)


_MORE: dict[str, Callable[[Subject], Finding] | None] = {
    "L4.1": _names_no_answers,
    "L4.2": _constant_copies_earn_nothing,
    "L4.3": None,
}
"""The gates on hints by id, each with what it looks at besides in a written hint."""
