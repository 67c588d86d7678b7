"""Family L3, wording: how an action must be written follows from what the agent is shown."""

from __future__ import annotations

import functools
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence

from spade_envs.api.answers import answer_of
from spade_envs.api.calls import parse_calls
from spade_envs.gates.finding import NO_REFERENCE, Finding, failed, passed, skipped, warned
from spade_envs.gates.lane import Job
from spade_envs.gates.policies import boxed, script
from spade_envs.gates.reference import wins
from spade_envs.gates.slots import Case, slot_of
from spade_envs.gates.stats import Rate
from spade_envs.gates.subject import Subject
from spade_envs.gates.thresholds import FORMAT_SHARE, SLACK_SHARE
from spade_envs.gates.trace import Trace

PLAYED = 5
MOVE_SHARE = 0.3
MIN_MOVES = 2
"""Share of the references in which a move occurs, and number of such moves, to count as syntax."""
ASKS = ("hello", "help", "?", boxed("hello"))
"""Messages to which an environment may answer with its format."""
_PART = re.compile(r"(?<!\w)[^\W\d_]+(?!\w)|[^\w\s]")
_SPELT = re.compile(r"(?<!\w)[^\W\d_](?:[^\w\s]?\s?[^\W\d_](?!\w)){2,}")
_RANGE = re.compile(r"\b([a-z]) ?(?:to|through|-|\.\.\.?|\u2013) ?([a-z])\b")
_COMMON = frozenset(".,-()'\"+:")
"""Signs that need no mention: they belong to numbers, lists and sentences."""
_NAMED = {
    ";": "semicolon",
    "|": "bar",
    "=": "equals",
    "/": "slash",
    "#": "hash",
    "_": "underscore",
    "*": "asterisk",
    "[": "bracket",
    "]": "bracket",
    "{": "brace",
    "}": "brace",
    "<": "angle",
    ">": "arrow",
}
_JSON = frozenset("{}[]")
_BOX = frozenset(("boxed", "\\", "{", "}"))


def states_its_format(subject: Subject) -> Finding:
    """L3.11: the words and signs that every reference uses are shown, or may be left out."""
    if not subject.has_reference:
        return skipped(NO_REFERENCE)
    worst: Finding | None = None
    for level in subject.edge_levels:
        traces = [
            trace for trace in subject.references(level) if trace.actions and wins(subject, trace)
        ]
        hidden = _hidden(subject, traces, _syntax(subject, level, traces))
        if not hidden or not _needed(subject, level, traces[:PLAYED], hidden):
            continue
        finding = _judged(subject, level, traces, hidden)
        if finding.outcome == "fail":
            return finding
        worst = worst or finding
    return worst or passed("what every action needs is shown")


def parts_of(action: str, *, calls: bool = True) -> set[str]:
    """Return the words, in lower case, and the signs of an action; none of a tool call.

    Without `calls`, what looks like a call is an answer.
    """
    if calls and parse_calls(action):
        return set()
    return {part.casefold() for part in _PART.findall(action)}


def _syntax(subject: Subject, level: int, traces: Sequence[Trace]) -> list[str]:
    """Return the words and signs that (nearly) all references of a level have in common.

    Where the references are plans, the moves count as well, since they are commands and no answers.
    """
    slot = slot_of(subject, level)
    if subject.interface.kind == "tool":  # calls follow from the schemas, closing words are free
        return [] if slot is None else sorted(parts_of(slot.form("")))
    counts = Counter(part for t in traces for part in _parts(t))
    moves = [part for part, count in counts.items() if count >= MOVE_SHARE * len(traces)]
    if slot is not None and slot.is_plan and len(moves) >= MIN_MOVES:
        return sorted(moves)
    return sorted(part for part, count in counts.items() if count >= FORMAT_SHARE * len(traces))


def _parts(trace: Trace) -> set[str]:
    """Return the words and signs of a text environment's reference.

    The letters of a shown word that is spelt out are no format.
    """
    found: set[str] = set()
    words: set[str] | None = None
    for action in trace.actions:
        runs = list(_SPELT.finditer(action))
        if runs and words is None:
            words = {_sorted(word) for word in re.findall(r"[^\W\d_]+", trace.start.observation)}
        for run in reversed(runs):
            if words and _sorted(run.group()) in words:
                action = action[: run.start()] + run.group()[1] + action[run.end() :]
        found |= parts_of(action, calls=False)
    return found


def _sorted(text: str) -> str:
    return "".join(sorted(filter(str.isalpha, text.casefold())))


def _hidden(subject: Subject, traces: Sequence[Trace], parts: Sequence[str]) -> list[str]:
    """Return the parts that no agent is shown before it needs them."""
    tools = json.dumps(subject.interface.tools, ensure_ascii=False)
    shown = [_before_use(trace) + tools for trace in traces]
    return [part for part in parts if not any(shows(text, part) for text in shown)]


def _before_use(trace: Trace) -> str:
    replies = [got.observation for _, got in trace.steps[:-1]]
    return "\n".join([trace.start.observation, *replies])


def shows(text: str, part: str) -> bool:
    """Return whether a text tells an agent that it may use a word or sign."""
    if len(part) == 1 and part.isalpha() and _letter_told(text.casefold(), part):
        return True
    if part.isalnum():
        return _stands_alone(text, part) or (
            part.isalpha() and all(_stands_alone(text, letter) for letter in set(part))
        )
    named = _NAMED.get(part)
    if part in _JSON and "json" in text.casefold():
        return True
    return part in _COMMON or part in text or (named is not None and named in text.casefold())


def _stands_alone(text: str, part: str) -> bool:
    """Whether a text holds a word; a row of moves such as `bws` is told by its letters."""
    return re.search(rf"(?<![^\W\d_]){re.escape(part)}(?![^\W\d_])", text, re.I) is not None


def _letter_told(text: str, letter: str) -> bool:
    """Whether a text names a letter by a range, or as the first letter of a word."""
    if any(first <= letter <= last for first, last in _RANGE.findall(text)):
        return True
    return "letter" in text and re.search(rf"\b{letter}", text) is not None


def _needed(subject: Subject, level: int, traces: Sequence[Trace], hidden: Sequence[str]) -> bool:
    """Whether the references lose when the hidden parts are left out of their actions."""
    slot = slot_of(subject, level)
    calls = subject.interface.kind == "tool"
    said_in = functools.partial(parts_of, calls=calls)
    without = functools.partial(_without, hidden=hidden, calls=calls)
    ways = [[(t.seed, list(map(without, t.actions))) for t in traces]]
    for write in (str, boxed):
        read = [(t.seed, [_reread(a, write, calls=calls) for a in t.actions]) for t in traces]
        ways.append([one for one in read if not any(said_in(a) & set(hidden) for a in one[1])])
        said = [
            (case.seed, _changed(case, write(case.answer)))
            for case in (slot.cases[:PLAYED] if slot is not None else ())
        ]
        ways.append([one for one in said if not any(said_in(a) & set(hidden) for a in one[1])])
    jobs = [Job(level, seed, script(actions)) for way in ways for seed, actions in way]
    played = iter(subject.plain.run(jobs, fresh=False))
    for way in ways:
        rate = Rate.of([float(wins(subject, next(played))) for _ in way])
        if way and rate.mean >= SLACK_SHARE:
            return False
    return True


def _reread(action: str, write: Callable[[str], str], *, calls: bool) -> str:
    """Return a message with its answer alone, as everybody's `answer_of` reads it."""
    return action if calls and parse_calls(action) else write(answer_of(action))


def _changed(case: Case, text: str) -> list[str]:
    return [*case.actions[: case.position], text, *case.actions[case.position + 1 :]]


def _without(action: str, *, hidden: Sequence[str], calls: bool) -> str:
    if calls and parse_calls(action):
        return action
    kept = [match for match in _PART.finditer(action) if match.group().casefold() in hidden]
    for match in reversed(kept):
        action = action[: match.start()] + action[match.end() :]
    return " ".join(action.split())


def _judged(
    subject: Subject, level: int, traces: Sequence[Trace], hidden: Sequence[str]
) -> Finding:
    names = ", ".join(repr(part) for part in hidden)
    asked = subject.plain.run(
        [Job(level, traces[0].seed, script([text] * 2)) for text in ASKS], fresh=False
    )
    replies = [got.observation for trace in asked for _, got in trace.steps if not got.done]
    told = [part for part in hidden if any(shows(text, part) for text in replies)]
    text = f"the references use {names} at level {level}, which the agent is not shown"
    evidence = {"hidden": list(hidden), **traces[0].evidence()}
    if len(told) == len(hidden):
        return warned(f"{text} before it has said something wrong; state it at once", **evidence)
    if subject.interface.api == "published-1" and set(hidden) <= _BOX:
        return warned(f"{text}; say in the prompt that answers stand in a box", **evidence)
    if _same_reply(subject, level, asked[0]):
        text += ", and a message in the wrong format gets the same reply as a wrong answer"
    return failed(f"{text}; state the format of actions in the first observation", **evidence)


def _same_reply(subject: Subject, level: int, asked: Trace) -> bool:
    """Whether a wrong answer in the right format is told apart from a message without format."""
    slot = slot_of(subject, level)
    wrong = slot.other(slot.cases[0]) if slot is not None else None
    if slot is None or wrong is None:
        return False
    said = script([slot.form(wrong)])
    answered = subject.plain.run([Job(level, asked.seed, said)], fresh=False)[0]
    first, second = (trace.steps[:1] for trace in (asked, answered))
    return [got.observation for _, got in first] == [got.observation for _, got in second]
