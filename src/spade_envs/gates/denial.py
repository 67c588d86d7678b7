"""Family L3, denial: an answer that is denied, taken back or hidden among others earns nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from spade_envs.gates.finding import NO_REFERENCE, Finding, failed, passed, skipped, warned
from spade_envs.gates.lane import Job
from spade_envs.gates.near_miss import CONFIRM, SCREEN, widened
from spade_envs.gates.policies import boxed
from spade_envs.gates.reference import wins
from spade_envs.gates.slots import Case, Slot, slot_of
from spade_envs.gates.stats import Rate
from spade_envs.gates.subject import Subject
from spade_envs.gates.thresholds import MIN_SLACK_SEEDS, SLACK_CONTROL, SLACK_SHARE

_WRITING = re.compile(
    r"(?:must|should|that) (?:contain|include|mention)|\b(?:poem|story|essay|sentence)\b",
    re.IGNORECASE,
)
"""Prompts that ask for a text with something in it; such a text may say more."""

Denial = tuple[str, str]
"""Kind and message."""

SENTENCE_WORDS = 5
NO_MOVE = "zz"
FIRST_BOX = "taken back in favour of another one"
ANY_BOX = "in the middle one of three boxes"


def denials(slot: Slot, answer: str, others: Sequence[str]) -> Iterator[Denial]:
    """Yield messages that name `answer` and do not give it; `others` are wrong ones, 1 to 3."""
    wrong, second, third = (others[place % len(others)] for place in range(3))
    form = slot.form
    if slot.is_plan:  # a move may stand among others in any text, but not in an earlier box
        yield FIRST_BOX, f"{boxed(answer)} no, {boxed(NO_MOVE)}"
        yield ANY_BOX, " ".join(map(boxed, (NO_MOVE, answer, NO_MOVE)))
        return
    leading = not slot.is_spelt_plan  # moves after the last one that counts may be ignored
    if leading and len(answer.split()) < SENTENCE_WORDS:  # before a sentence it means little
        yield "denied with 'not'", form(f"not {answer}")
    if leading:
        yield "with '(this is wrong)' after it", form(f"{answer} (this is wrong)")
    for write in dict.fromkeys((boxed, form)):
        if write("") or leading:
            yield FIRST_BOX, f"{write(answer)} no, {write(wrong)}"
    yield FIRST_BOX, f"<answer>{answer}</answer> no, <answer>{wrong}</answer>"
    yield ANY_BOX, " ".join(map(boxed, (wrong, answer, second)))
    yield "named in prose", f"It may be {wrong}, {answer} or {second}, I cannot tell."
    yield "among others in one answer", form(f"{wrong}, {answer}, {second}, {third}")
    yield "among others in one answer", form(f"{wrong} {second} {answer} {third}")
    yield "among others in one answer", form(f"{wrong}\n{answer}\n{third}")


def denials_lose(subject: Subject) -> Finding:
    """L3.7: answers that are denied, taken back or named among others do not win."""
    if not subject.has_reference:
        return skipped(NO_REFERENCE)
    found = [slot_of(subject, level) for level in subject.edge_levels]
    slots = [slot for slot in found if slot is not None]
    cases = [
        (slot, kind, job)
        for slot in slots
        for case in slot.cases[:SCREEN]
        for kind, job in _jobs(slot, case)
    ]
    traces = subject.plain.run([job for *_, job in cases], fresh=False)
    suspects = {
        (slot.level, kind): slot
        for (slot, kind, _), trace in zip(cases, traces, strict=True)
        if wins(subject, trace)
    }
    warning: Finding | None = None
    for (_, kind), slot in suspects.items():
        finding = _judged(subject, slot, kind)
        if finding is not None and finding.outcome == "fail":
            return finding
        warning = warning or finding
    return warning or passed(f"{len(cases)} denied answers lose", played=len(cases))


def _jobs(slot: Slot, case: Case, stand_in: str | None = None) -> list[tuple[str, Job]]:
    """Return the kinds and episodes of a case; with `stand_in` in place of its answer."""
    others = _wrong(slot, case)
    if not others:
        return []
    answer = case.answer if stand_in is None else stand_in
    return [(kind, slot.job(case, text)) for kind, text in denials(slot, answer, others)]


def _wrong(slot: Slot, case: Case) -> list[str]:
    """Return up to three other seeds' answers, none of which is a part of this one's."""
    found = dict.fromkeys(
        other
        for offset in (1, 3, 5, 7)
        if (other := slot.other(case, offset)) and other not in case.answer
    )
    return list(found)[:3]


def _judged(subject: Subject, slot: Slot, kind: str) -> Finding | None:
    slot = widened(subject, slot, CONFIRM)
    cases = slot.cases[:CONFIRM]
    jobs = [(case.seed, job) for case in cases for name, job in _jobs(slot, case) if name == kind]
    traces = subject.plain.run([job for _, job in jobs], fresh=False)
    tried = {seed: False for seed, _ in jobs}
    for (seed, _), trace in zip(jobs, traces, strict=True):
        tried[seed] = tried[seed] or wins(subject, trace)
    rate = Rate.of([float(won) for won in tried.values()])
    if rate.trials < MIN_SLACK_SEEDS or rate.mean < SLACK_SHARE:
        return None
    control = _control(subject, slot, cases, kind)
    if control.mean > SLACK_CONTROL:
        return None
    example = next(trace for trace in traces if wins(subject, trace))
    make = warned if any(_WRITING.search(case.shown) for case in cases[:SCREEN]) else failed
    return make(
        f"a right answer that is {kind} wins {rate.mean:.0%} at level {slot.level}; compare the "
        "whole of the last answer, as answer_of() reads it",
        kind=kind,
        denied=rate.as_json(),
        control=control.as_json(),
        right_answer=next(case.answer for case in slot.cases if case.seed == example.seed),
        **example.evidence(),
    )


def _control(subject: Subject, slot: Slot, cases: Sequence[Case], kind: str) -> Rate:
    """Return how often the same messages win with a wrong answer where the right one stood."""
    jobs = [
        job
        for case in cases
        for stand_in in [slot.other(case, 2)]
        if stand_in is not None
        for name, job in _jobs(slot, case, stand_in)
        if name == kind
    ]
    return Rate.of([float(wins(subject, t)) for t in subject.plain.run(jobs, fresh=False)])
