"""Family L0, smells: patterns of careless graders, each confirmed by a probe."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from spade_envs.api.answers import answer_of
from spade_envs.api.calls import call, finish
from spade_envs.gates.finding import Finding, failed, passed
from spade_envs.gates.grading import Grading, read_grading
from spade_envs.gates.lane import Job
from spade_envs.gates.policies import CONSTANTS, Policy, constant, script
from spade_envs.gates.slots import Slot, slot_of
from spade_envs.gates.stats import Rate
from spade_envs.gates.subject import Form, Subject, answer_forms
from spade_envs.gates.thresholds import LEAK_SHARE, SMELL_CONFIRMED
from spade_envs.gates.trace import Trace
from spade_envs.types import Fault, Json

TURNS = 4
MOST_COMPARED, MOST_OTHERS, MOST_IN_CALLS = 40, 16, 6
MAX_OTHER_CHARS = 40
MANY_TIMES = 25
MAX_LENGTH = 150_000
ARGUMENT = "compares an argument with a fixed text"
MIN_TOLD_CHARS = 2
NEUTRAL = "The harbour is full of boats."
CONFIRM = 12

WEIRD = ("", "zzz", "x" * 300, "1/0", "{", "[1, 2", "9" * 400, "0x1f", "\u00b2", "None", "1e999")
"""Texts that make careless parsing raise."""
_EXTREME = ("nan", "inf", "-inf", "1e308", "-1e308", "999999999", "-999999999")


@dataclass(frozen=True, slots=True)
class _Probe:
    """An ignorant episode made from a pattern of the source."""

    level: int
    smell: str
    line: int
    said: str
    policy: Policy


def no_confirmed_smell(subject: Subject) -> Finding:
    """L0.4: no careless grading pattern that a probe built from it confirms."""
    grading = read_grading(subject.source.code)
    smells: list[Json] = [{"line": smell.line, "pattern": smell.kind} for smell in grading.smells]
    slots = {
        level: slot_of(subject, level) if subject.has_reference else None
        for level in _levels(subject)
    }
    probes = [
        probe for level, slot in slots.items() for probe in _probes(subject, level, slot, grading)
    ]
    seed = subject.seeds[0]
    jobs = [Job(probe.level, seed, probe.policy, probe.said[:40]) for probe in probes]
    for probe, trace in zip(probes, subject.plain.run(jobs, fresh=False), strict=True):
        finding = None
        if subject.score(trace) > 0:
            finding = _confirmed(subject, probe)
        elif _tells(subject, slots[probe.level], probe, trace):
            finding = _told(subject, slots[probe.level], probe)
        if finding is not None:
            return finding
    return passed(
        f"{len(probes)} probes made from the source earn nothing",
        unconfirmed=smells,
        played=len(probes),
    )


def _levels(subject: Subject) -> list[int]:
    return [subject.levels[0]] if subject.depth != "deep" else list(subject.levels)


def _probes(subject: Subject, level: int, slot: Slot | None, grading: Grading) -> Iterator[_Probe]:
    form = slot.form if slot is not None else answer_forms(subject, level)[0]
    tools = {schema["function"]["name"] for schema in subject.interface.tools}
    said = {
        text: line
        for text, line in grading.compared.items()
        if not grading.inside.get(text, set()) <= tools and text not in CONSTANTS  # L3.3 says them
    }
    smell = "compares with a fixed text"
    for text, line in list(said.items())[:MOST_COMPARED]:
        for written in dict.fromkeys((form(text), text)):
            yield _Probe(level, smell, line, text, constant(written, TURNS))
    for text, line in _unshown(subject, level, grading):
        yield _Probe(level, smell, line, text, constant(form(text), TURNS))
    for text in sorted(grading.counted):
        many = " ".join([text] * MANY_TIMES)
        yield _Probe(level, "counts a fixed text", 0, text, constant(many, 1))
    yield from _together(level, grading, form)
    yield from _by_kind(level, grading, form)
    yield from _in_calls(subject, level, grading)


def _unshown(subject: Subject, level: int, grading: Grading) -> list[tuple[str, int]]:
    """Return further literals, those first that no first observation and no tool shows."""
    shown = "\n".join(trace.start.observation for trace in subject.starts(level))
    shown = f"{shown}\n{json.dumps(subject.interface.tools)}".casefold()
    others = [
        (text, line)
        for text, line in grading.others.items()
        if len(text) <= MAX_OTHER_CHARS and text not in CONSTANTS
    ]
    others.sort(key=lambda item: (item[0].casefold() in shown, " " in item[0].strip()))
    return others[:MOST_OTHERS]


def _together(level: int, grading: Grading, form: Form) -> Iterator[_Probe]:
    texts = [*grading.compared, *grading.others]
    if texts:
        said = "\n".join(texts)
        smell = "looks for a fixed text"
        yield _Probe(level, smell, 0, said, constant(said, TURNS))
        yield _Probe(level, smell, 0, said, constant(form(" ".join(texts)), TURNS))


def _by_kind(level: int, grading: Grading, form: Form) -> Iterator[_Probe]:
    kinds = {smell.kind: smell.line for smell in grading.smells}
    tried: dict[str, Sequence[str]] = {
        "pays after an exception": WEIRD,
        "compares truth values": ("zzz", "0", ""),
        "clamps a number that may be infinite or no number": _EXTREME,
        "compares one-sidedly": _EXTREME,
        "accepts a near number": _EXTREME,
    }
    for kind, texts in tried.items():
        if kind in kinds:
            for text in texts:
                for said in dict.fromkeys((form(text), text)):
                    yield _Probe(level, kind, kinds[kind], said, constant(said, TURNS))
    for length, line in grading.lengths.items():
        for size in {length - 1, length, length + 1, 2 * length + 1}:
            if 0 < size <= MAX_LENGTH:
                said = "x" * size
                yield _Probe(level, "judges by length", line, said, constant(said, TURNS))
                said = form("word " * (size // 5 + 1))
                yield _Probe(level, "judges by length", line, said, constant(said, TURNS))


def _in_calls(subject: Subject, level: int, grading: Grading) -> Iterator[_Probe]:
    """Yield episodes in which a tool gets a text that it compares with in every text argument."""
    for schema in subject.interface.tools:
        function = schema["function"]
        properties = function["parameters"].get("properties", {})
        kinds = {name: kind.get("type") for name, kind in properties.items()}
        names = [name for name, kind in kinds.items() if kind == "string"]
        numbers = {name: 1 for name, kind in kinds.items() if kind in ("integer", "number")}
        texts = [
            text
            for text, functions in grading.inside.items()
            if names and functions & {function["name"], f"tool_{function['name']}"}
        ]
        for text in texts[:MOST_IN_CALLS]:
            said = call(function["name"], **dict.fromkeys(names, text), **numbers)
            policy = script((said, finish(), finish()))
            line = grading.compared[text]
            yield _Probe(level, ARGUMENT, line, text, policy)


def _confirmed(subject: Subject, probe: _Probe) -> Finding | None:
    seeds = subject.other_seeds(CONFIRM)
    name = probe.said[:40]
    traces = subject.play(probe.policy, probe.level, seeds, name=name, fresh=False)
    rate = Rate.of([subject.score(trace) for trace in traces])
    if rate.mean <= SMELL_CONFIRMED:
        return None
    example = max(traces, key=subject.score)
    at = f"line {probe.line} {probe.smell}" if probe.line else f"the source {probe.smell}"
    return failed(
        f"{at}: {_short(probe.said)} earns {rate.mean:.0%} at level {probe.level}; pay only the "
        "instance's own answer",
        line=probe.line,
        pattern=probe.smell,
        earned=rate.as_json(),
        **example.evidence(),
    )


def _tells(subject: Subject, slot: Slot | None, probe: _Probe, trace: Trace) -> bool:
    """Whether the reply to a text that the prompt does not name holds the answer, or the way."""
    replies = "\n".join(got.observation for _, got in trace.steps if not got.done)
    if probe.smell == ARGUMENT or not replies:
        return False
    if not any(_stands_in(secret, replies) for secret in _secrets(subject, slot, trace)):
        return False
    return probe.said.casefold() not in _shown(subject, trace)


def _secrets(subject: Subject, slot: Slot | None, trace: Trace) -> list[str]:
    """Return the answer of an episode's task, and all its reference actions in a row."""
    actions = subject.solution(trace.level, trace.seed or 0) if subject.has_reference else ()
    if isinstance(actions, Fault):
        return []
    bare = [answer_of(action) for action in actions]
    found = [separator.join(bare) for separator in (" ", ", ", "\n")] if len(bare) > 1 else []
    if slot is not None and not slot.is_plan:
        found += [case.answer for case in slot.cases if case.seed == trace.seed]
    return [secret for secret in found if len(secret) >= MIN_TOLD_CHARS]


def _shown(subject: Subject, trace: Trace) -> str:
    return f"{trace.start.observation}\n{json.dumps(subject.interface.tools)}".casefold()


def _stands_in(answer: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", text, re.IGNORECASE) is not None


def _told(subject: Subject, slot: Slot | None, probe: _Probe) -> Finding | None:
    """Return the finding on a text that gets most answers told, where a neutral text does not."""
    seeds = subject.seeds
    name = probe.said[:40]
    traces = subject.play(probe.policy, probe.level, seeds, name=name, fresh=False)
    neutral = subject.play(constant(NEUTRAL, TURNS), probe.level, seeds, fresh=False)
    told = [
        _tells(subject, slot, probe, trace) and not _tells(subject, slot, probe, other)
        for trace, other in zip(traces, neutral, strict=True)
    ]
    rate = Rate.of([float(one) for one in told])
    if rate.mean < LEAK_SHARE:
        return None
    example = traces[told.index(True)]
    return failed(
        f"line {probe.line}: saying {_short(probe.said)}, which the prompt does not name, gets the "
        f"answer told on {rate.mean:.0%} of the seeds at level {probe.level}; take it out",
        line=probe.line,
        pattern="tells the answer for a fixed text",
        told=rate.as_json(),
        **example.evidence(),
    )


def _short(text: str) -> str:
    return repr(text) if len(text) <= 40 else f"{text[:40]!r}... ({len(text)} characters)"
