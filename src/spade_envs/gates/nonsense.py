"""Part of L3.6: impossible items and shuffled lists tell a lax checker from a roomy task."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence

from spade_envs.gates.reference import wins
from spade_envs.gates.slots import Case, Slot, items_of
from spade_envs.gates.stats import Rate
from spade_envs.gates.subject import Subject
from spade_envs.gates.thresholds import SLACK_SHARE

WORD, NUMBER = "zqzqzq", "987654321"
SHUFFLES = 2
_CORE = re.compile(r"-?\w+(?:\.\d+)?")


def takes_nonsense(subject: Subject, slot: Slot, cases: Sequence[Case], kinds: set[str]) -> bool:
    """Whether changed or added items win even if they are no possible part of an answer.

    "Any four of these towns" is a task with many right answers, in which one town may well stand
    in place of another.

    Args:
        subject: the environment.
        slot: where its references give their answer.
        cases: seeds whose answers are lists.
        kinds: names of the near misses that won.
    """
    jobs = [
        slot.job(case, slot.form(text)) for case in cases for text in _texts(case.answer, kinds)
    ]
    traces = subject.plain.run(jobs, fresh=False)
    return Rate.of([float(wins(subject, trace)) for trace in traces]).mean >= SLACK_SHARE


def takes_any_order(subject: Subject, slot: Slot, cases: Sequence[Case]) -> bool:
    """Whether shuffled lists win; a way back, or pairs turned around, are no proof of that."""
    jobs = []
    for case in cases:
        separator, items = items_of(case.answer)
        for number in range(SHUFFLES):
            order = random.Random(f"{case.seed} {number}").sample(items, len(items))
            jobs.append(slot.job(case, slot.form(separator.join(order))))
    traces = subject.plain.run(jobs, fresh=False)
    return Rate.of([float(wins(subject, trace)) for trace in traces]).mean >= SLACK_SHARE


def is_list(case: Case) -> bool:
    """Whether the answer has several items."""
    return len(items_of(case.answer)[1]) > 1


def _texts(answer: str, kinds: set[str]) -> Iterator[str]:
    separator, items = items_of(answer)
    if any("too many" in kind for kind in kinds):
        yield separator.join([*items, NUMBER if items[-1].strip("()[]").isdecimal() else WORD])
    elif any("first" in kind for kind in kinds):
        yield separator.join([_odd(items[0]), *items[1:]])
    else:
        yield separator.join([*items[:-1], _odd(items[-1])])


def _odd(item: str) -> str:
    """Return an item with its first word or number replaced, and what stands around it kept."""
    core = _CORE.search(item)
    if core is None:
        return WORD
    odd = NUMBER if core.group().lstrip("-").replace(".", "").isdecimal() else WORD
    return item[: core.start()] + odd + item[core.end() :]
