"""Where the references of a level give their answer, so that gates can put another text there."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from spade_envs.gates.lane import Job
from spade_envs.gates.policies import replaced
from spade_envs.gates.reference import wins
from spade_envs.gates.subject import Subject
from spade_envs.gates.trace import Trace

MIN_ANSWERS = 2
"""Different answers over the seeds that a place must show to count as the answer's."""
MOVES = 8
"""Different letters or items up to which an answer may be a sequence of moves."""
_CLOSES = {"[": "]", "(": ")", '"': '"', "'": "'"}
_MIRROR = str.maketrans("[]()", "][)(")
_PARTS = re.compile(r"\s*(?:,|;|\||->|\n)\s*|\s+")


@dataclass(frozen=True, slots=True)
class Case:
    """One seed's reference with the place of its answer."""

    seed: int
    actions: tuple[str, ...]
    position: int
    """Index of the action that gives the answer."""
    answer: str
    """The answer without what stands around it in every reference."""
    shown: str
    """First observation."""


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of the answer in the references of one level."""

    level: int
    before: str
    """What stands before the answer in each of them, such as an opened box or a command."""
    after: str
    cases: tuple[Case, ...]
    is_plan: bool
    """Whether the answer is just the last of a few moves that are made again and again."""

    @property
    def is_spelt_plan(self) -> bool:
        """Whether the answers are moves written as letters or items, such as `NNES`."""
        words = [case.answer for case in self.cases]
        letters = {char for word in words for char in word.casefold()}
        if all(word.isalpha() for word in words) and len(letters) <= MOVES:
            return True
        lists = [items_of(word)[1] for word in words]
        repeats = any(len(items) > len(set(items)) for items in lists)
        return repeats and len({item for items in lists for item in items}) <= MOVES

    def form(self, answer: str) -> str:
        """Return an answer written as the references write theirs."""
        return f"{self.before}{answer}{self.after}"

    def job(self, case: Case, text: str) -> Job:
        """Return the episode of a reference that says `text` instead of its answer."""
        return Job(self.level, case.seed, replaced(case.actions, case.position, text))

    def other(self, case: Case, offset: int = 1) -> str | None:
        """Return another seed's answer that differs from this one's, if there is one."""
        others = [
            one.answer for one in self.cases if one.answer.casefold() != case.answer.casefold()
        ]
        return others[(self.cases.index(case) + offset) % len(others)] if others else None


def slot_of(subject: Subject, level: int, seeds: Sequence[int] | None = None) -> Slot | None:
    """Return where the winning references of a level give their answer, or None.

    Looked for is the last message that is no tool call and differs between the seeds.
    """
    traces = [
        trace
        for trace in subject.references(level, seeds)
        if trace.actions and wins(subject, trace)
    ]
    for back in range(1, 1 + min((len(trace.actions) for trace in traces), default=0)):
        said = [trace.actions[-back] for trace in traces]
        if len(set(said)) < MIN_ANSWERS or any(map(subject.holds_call, said)):
            continue
        before, after = around_of(said)
        cases = tuple(
            Case(
                trace.seed or 0,
                trace.actions,
                len(trace.actions) - back,
                text[len(before) : len(text) - len(after)],
                trace.start.observation,
            )
            for trace, text in zip(traces, said, strict=True)
        )
        return Slot(level, before, after, cases, _is_plan(traces, back))
    return None


def around_of(said: Sequence[str]) -> tuple[str, str]:
    """Return the longest common start and end of the texts that split no word and no number.

    A bracket or quotation mark that the answers have in common belongs to them, not to the format.
    """
    before = os.path.commonprefix(list(said))  # noqa: RUF071  of characters
    while before and (before[-1].isalnum() or before[-1] in "+-."):
        before = before[:-1]
    before = before[: _first_open(before)]
    rests = [text[len(before) :][::-1] for text in said]
    after = os.path.commonprefix(rests)[::-1]  # noqa: RUF071  of characters
    while after and (after[0].isalnum() or after[0] in "+-."):
        after = after[1:]
    if before.endswith("(") and ")" in after:  # a call
        return before, after[after.index(")") :]
    kept = _first_open(after[::-1].translate(_MIRROR))
    return before, after[len(after) - kept :]


def _first_open(text: str) -> int:
    """Return where a bracket or quotation mark stands that is never closed, or the length.

    The bracket of a call such as `guess(` is a format, and so are braces and angles.
    """
    opened: list[int] = []
    for place, char in enumerate(text):
        inside = place > 0 and text[place - 1].isalnum()
        if opened and char == _CLOSES[text[opened[-1]]]:
            opened.pop()
        elif char in _CLOSES and not inside:
            opened.append(place)
    return opened[0] if opened else len(text)


def _is_plan(traces: Sequence[Trace], back: int) -> bool:
    """Whether most of the last actions are moves that the references make before, too."""
    earlier = {text for trace in traces for text in trace.actions[:-back]}
    return 2 * sum(trace.actions[-back] in earlier for trace in traces) >= len(traces)


def items_of(answer: str) -> tuple[str, list[str]]:
    """Return the separator of a list and its items; an empty separator if it is one item."""
    found = _PARTS.search(answer.strip())
    if found is None:
        return "", [answer]
    separators = _PARTS.findall(answer.strip())
    firm = [mark for mark in separators if mark.strip() or "\n" in mark]
    separator = (firm or separators)[0]
    return separator, [item for item in answer.strip().split(separator) if item]
