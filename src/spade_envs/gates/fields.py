"""Values that an answer is made of: fields of a JSON answer, and arguments of a decisive call."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from spade_envs.api.answers import answer_of
from spade_envs.api.calls import call, parse_calls
from spade_envs.gates.lane import Job
from spade_envs.gates.policies import replaced
from spade_envs.gates.reference import wins
from spade_envs.gates.slots import Case, Slot
from spade_envs.gates.subject import Subject
from spade_envs.gates.thresholds import LEAK_SHARE, MIN_LEAK_ANSWERS
from spade_envs.gates.trace import Trace
from spade_envs.types import Json

MOST_FIELDS = 3
MIN_CHARS = 2
Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Field(Slot):
    """The place of one value in the calls, or JSON answers, of a level's references."""

    path: Path = ()
    is_call: bool = False
    hidden: bool = False
    """Whether nothing that came before shows the value: it has to be worked out."""

    @property
    def name(self) -> str:
        """What the value is called, such as `total`."""
        return next((str(key) for key in reversed(self.path) if isinstance(key, str)), "answer")

    @property
    def answers(self) -> dict[int, str]:
        """The values by seed."""
        return {case.seed: case.answer for case in self.cases}

    def job(self, case: Case, text: str) -> Job:
        """Return the episode of a reference that gives `text` as this value."""
        said = _written(case.actions[case.position], self.path, text, is_call=self.is_call)
        return Job(self.level, case.seed, replaced(case.actions, case.position, said))


def fields_of(subject: Subject, level: int, seeds: Sequence[int] | None = None) -> list[Field]:
    """Return the values that differ from seed to seed in the last action that holds such values.

    Looked at are messages that hold one call, in a tool environment, or else are a JSON object.
    """
    is_call = subject.interface.kind == "tool"
    traces = [
        trace
        for trace in subject.references(level, seeds)
        if trace.actions and wins(subject, trace)
    ]
    for back in range(1, 1 + min((len(trace.actions) for trace in traces), default=0)):
        rows = [dict(_values(trace.actions[-back], is_call=is_call)) for trace in traces]
        if not all(rows):
            continue
        found = []
        for path in rows[0]:
            values = [row[path] for row in rows if path in row]
            if len(values) == len(rows) and len(set(values)) >= MIN_LEAK_ANSWERS:
                found.append(_field(level, traces, back, path, values, is_call=is_call))
        if found:
            return found[:MOST_FIELDS]
    return []


def _field(
    level: int,
    traces: Sequence[Trace],
    back: int,
    path: Path,
    values: Sequence[str],
    *,
    is_call: bool,
) -> Field:
    cases = tuple(
        Case(
            trace.seed or 0,
            trace.actions,
            len(trace.actions) - back,
            value,
            trace.start.observation,
        )
        for trace, value in zip(traces, values, strict=True)
    )
    unseen = sum(
        value not in shown_before(trace, len(trace.actions) - back)
        for trace, value in zip(traces, values, strict=True)
    )
    return Field(
        level, "", "", cases, is_plan=False, path=path, is_call=is_call,
        hidden=unseen >= LEAK_SHARE * len(traces),
    )  # fmt: skip


def shown_before(trace: Trace, position: int) -> str:
    """Return all that an agent was shown before an action, as one text."""
    steps = trace.steps[:position]
    users = [str(got.info.get("user", "")) for _, got in steps]
    return "\n".join([trace.start.observation, *(got.observation for _, got in steps), *users])


def values_in(subject: Subject, action: str) -> list[str]:
    """Return, as text, the values of a call, or of a JSON answer where there are no tools."""
    return [text for _, text in _values(action, is_call=subject.interface.kind == "tool")]


def json_answer(action: str) -> Json:
    """Return the JSON object that a message gives as its answer, or None."""
    text = answer_of(action)
    if not text.startswith("{"):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _values(action: str, *, is_call: bool) -> Iterator[tuple[Path, str]]:
    """Yield path and text of each value, those of one character left out."""
    if not is_call:
        yield from _leaves(json_answer(action), ())
        return
    calls = parse_calls(action)
    if len(calls) == 1 and calls[0].error is None:
        yield from _leaves(dict(calls[0].arguments), (calls[0].name,))


def _leaves(value: Json, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _leaves(item, (*path, index))
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        text = str(value)
        if len(text) >= MIN_CHARS:
            yield path, text


def _written(action: str, path: Path, text: str, *, is_call: bool) -> str:
    """Return an action with another value at a path, as a number where a number stood."""
    if is_call:
        old = parse_calls(action)[0]
        changed = _changed(json.loads(json.dumps(dict(old.arguments))), path[1:], text)
        return call(old.name, **changed)
    answer = answer_of(action)
    changed = json.dumps(_changed(json.loads(answer), path, text), ensure_ascii=False)
    return action.replace(answer, changed)


def _changed(value: Json, path: Path, text: str) -> Json:
    inner = value
    for key in path[:-1]:
        inner = inner[key]
    old = inner[path[-1]]
    inner[path[-1]] = text if isinstance(old, str) else _number(text)
    return value


def _number(text: str) -> Json:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text
