"""Family L3, alternatives: every right answer is accepted, not only the reference's."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from spade_envs.api.answers import answer_of
from spade_envs.gates.finding import NO_REFERENCE, Finding, failed, passed, skipped
from spade_envs.gates.lane import Job
from spade_envs.gates.policies import script
from spade_envs.gates.reference import answer_in, wins
from spade_envs.gates.subject import Subject
from spade_envs.gates.thresholds import ALTERNATIVE_SEEDS, MIN_REFUSED_SEEDS
from spade_envs.gates.trace import Trace

ANY_ORDER = (
    r"(?:any|whatever|whichever) (?:\w+ )?(?:order|sequence)|order (?:does not|doesn't) matter"
    r"|no (?:particular|fixed) order|regardless of (?:the |their )?order"
)
"""Words that allow an answer's items in any order."""
_ANY_ORDER = re.compile(r"\b(?:in any order|order does not matter|order doesn't matter)\b", re.I)
_ANSWERING = re.compile(
    r"\b(?:answer|reply|respond|submit|return|write|give|name|list|state|boxed)\b", re.I
)
_OTHERWISE = re.compile(
    r"\b(?:ask|questions?|visit|move|clues?|facts?|given|shown|printed|listed|stand|tools?|calls?|"
    r"examples?|may be used|done|taken|steps?)\b", re.I
)  # fmt: skip
_SEPARATORS = (", ", ",", "; ", ";", " | ", "\n", " ")

Case = tuple[str, Trace, tuple[str, ...]]
"""Whose word it is that the actions win, the reference's episode, and the actions."""


def accepts_alternatives(subject: Subject) -> Finding:
    """L3.17: other right answers win as well."""
    if not subject.has_reference:
        return skipped(NO_REFERENCE)
    played = 0
    for level in subject.edge_levels:
        traces = [
            trace
            for trace in subject.references(level, subject.seeds[:ALTERNATIVE_SEEDS])
            if wins(subject, trace)
        ]
        cases: list[Case] = []
        for trace in traces:
            cases += _offered(subject, trace, traces)
            cases += [
                ("the prompt (any order)", trace, said) for said in _reordered(subject, trace)
            ]
        jobs = [Job(level, trace.seed, script(said)) for _, trace, said in cases]
        lost: dict[str, list[Trace]] = {}
        for (whose, _, _), again in zip(cases, subject.plain.run(jobs, fresh=False), strict=True):
            played += 1
            if not wins(subject, again):
                lost.setdefault(whose, []).append(again)
        for whose, episodes in lost.items():
            seeds = {again.seed for again in episodes}
            if whose == "alternatives()" or len(seeds) >= MIN_REFUSED_SEEDS:
                return failed(
                    f"an answer that is right by {whose} does not win at level {level}; accept "
                    "every right answer, not one of them",
                    by=whose,
                    refused_seeds=len(seeds),
                    **episodes[0].evidence(),
                )
    if not played:
        return passed("it names no other right answers")
    return passed(f"{played} other right answers win", played=played)


def _offered(subject: Subject, trace: Trace, traces: list[Trace]) -> Iterator[Case]:
    """Yield what the environment itself calls right: its alternatives, and by its checker."""
    if not _OFFERS.search(subject.source.code):
        return
    lane = subject.plain
    own = answer_in(subject, trace.actions)
    candidates = [] if own is None else [*_permuted(own), *_commuted(own)]
    others = {answer_in(subject, other.actions) for other in traces if other.seed != trace.seed}
    foreign = sorted(text for text in others if text and text != own)
    live = lane.begin([Job(trace.level, trace.seed, script(trace.actions))], fresh=False)[0]
    ways = lane.worker.probe(live.instance, "alternatives", {}) if not live.over else None
    asked = [own, *candidates, *foreign]
    said = None
    if own is not None and not live.over:
        said = lane.worker.probe(live.instance, "accepts", {"answers": asked})
    live.close()
    if isinstance(ways, list):
        yield from (("alternatives()", trace, tuple(way)) for way in ways if way)
    if own is None or not isinstance(said, dict) or len(said["accepted"]) != len(asked):
        return
    verdicts = dict(zip(asked, said["accepted"], strict=True))
    refused = [text for text in foreign if not verdicts[text]]
    if not verdicts[own] or not foreign or len(refused) * 2 < len(foreign):
        return  # it checks the form of an answer, or something else
    for text in [*candidates, *foreign]:
        if verdicts[text] and text != own:
            yield f"{said['name']}()", trace, _said(trace, own, text)


_OFFERS = re.compile(
    r"def (?:alternatives|is_correct|is_solution|check_answer|check_solution|verify\w*|accepts)\("
)


def _said(trace: Trace, own: str, text: str) -> tuple[str, ...]:
    """Return the reference's actions with another last answer, written like its own."""
    last = trace.actions[-1]
    changed = last.replace(own, text) if own in last else text
    return (*trace.actions[:-1], changed)


def _reordered(subject: Subject, trace: Trace) -> Iterator[tuple[str, ...]]:
    """Yield the reference with its last answer's items in another order, if any will do."""
    own = answer_in(subject, trace.actions)
    if own is None or not _any_order_will_do(trace.start.observation):
        return
    for text in _permuted(own):
        yield _said(trace, own, text)


def _any_order_will_do(prompt: str) -> bool:
    """Whether a sentence says so of the answer, and not of something else."""
    for sentence in re.split(r"(?<=[.!?])\s+|\n\n", prompt):
        if _ANY_ORDER.search(sentence):
            return bool(_ANSWERING.search(sentence)) and not _OTHERWISE.search(sentence)
    return False


def _permuted(answer: str) -> list[str]:
    """Return the items of a list in two other orders; nothing for an answer that is no list."""
    nested = _as_json(answer)
    if nested:
        return [json.dumps(order) for order in _orders(nested)]
    for separator in _SEPARATORS:
        items = answer.strip("[](){}").split(separator)
        if len(items) > 1 and all(item.strip() for item in items):
            break
    else:
        return []
    if separator == " " and any("=" in item or "+" in item for item in items):
        return []
    if not all(map(_is_whole, items)):
        return []
    head = answer[: len(answer) - len(answer.lstrip("[({"))]
    tail = answer[len(answer.rstrip("])}")) :]
    texts = [f"{head}{separator.join(order)}{tail}" for order in _orders(items)]
    return list(dict.fromkeys(texts))


def _orders(items: list[Any]) -> list[list[Any]]:
    orders = [items[::-1], [*items[1:], items[0]]]
    return [order for order in orders if order != items]


def _as_json(answer: str) -> list[Any]:
    """Return the list that an answer is as JSON, written just as `json.dumps` writes it."""
    try:
        found = json.loads(answer)
    except (ValueError, RecursionError):
        return []
    return found if isinstance(found, list) and json.dumps(found) == answer else []


def _is_whole(item: str) -> bool:
    """Whether no bracket or quotation ends in another item, where moving it would break both."""
    pairs = all(item.count(one) == item.count(two) for one, two in ("[]", "()", "{}"))
    return pairs and item.count('"') % 2 == 0


def _commuted(answer: str) -> list[str]:
    """Return an expression with the operands of its one + or * exchanged."""
    found = re.fullmatch(r"\s*([\w.]+)\s*([+*])\s*([\w.]+)\s*", answer_of(answer))
    return [f"{found[3]} {found[2]} {found[1]}"] if found and found[1] != found[3] else []
