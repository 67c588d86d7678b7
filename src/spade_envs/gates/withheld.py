"""What an agent has to find out: answers without their command words, and values of calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from spade_envs.api.answers import answer_of
from spade_envs.api.calls import parse_calls
from spade_envs.gates.trace import Trace
from spade_envs.types import Json

MIN_VALUE_CHARS = 2
MAX_QUESTIONS = 4
ALL_ACTIONS = "all actions"
"""Name of the secret that is a whole solution."""


def cores(answers: Mapping[int, str]) -> list[dict[int, str]]:
    """Return the answers as they are, and without the words that all of them share at the ends.

    `guess apple` and `guess plum` have the cores `apple` and `plum`.
    """
    rows = {seed: answer.split() for seed, answer in answers.items()}
    shortest = min(map(len, rows.values()), default=0)
    first = last = 0
    while first < shortest - 1 and len({row[first] for row in rows.values()}) == 1:
        first += 1
    while last < shortest - 1 - first and len({row[-1 - last] for row in rows.values()}) == 1:
        last += 1
    found = [dict(answers)] if answers else []
    if first or last:
        cut = {seed: " ".join(row[first : len(row) - last]) for seed, row in rows.items()}
        found.append(
            {seed: core.strip(" ,;:()[]'\"") or answers[seed] for seed, core in cut.items()}
        )
    return found


def secrets_of(
    traces: Sequence[Trace], *, calls: bool = True
) -> Iterator[tuple[str, dict[int, str]]]:
    """Yield what may not be told before it is earned, by seed: answers, all actions in a row.

    Without `calls`, what looks like a call is an answer.
    """
    answers = {
        trace.seed or 0: [
            answer
            for action in trace.actions
            if not (calls and is_call(action)) and (answer := answer_of(action))
        ]
        for trace in traces
    }
    told = [trace for trace in traces if calls and any(map(is_call, trace.actions))]
    for back in range(1, MAX_QUESTIONS + 1 if told else 2):
        last = {seed: said[-back] for seed, said in answers.items() if len(said) >= back}
        yield from (("the answer", core) for core in cores(last))
    long = [trace for trace in traces if len(trace.actions) > 1]
    said = {trace.seed or 0: [answer_of(action) for action in trace.actions] for trace in long}
    for between in (" ", "\n") if told else (" ",):
        yield ALL_ACTIONS, {seed: between.join(texts) for seed, texts in said.items()}


def is_call(action: str) -> bool:
    """Whether an action holds a tool call."""
    return "<tool_call>" in action or bool(parse_calls(action))


def leaves(actions: Sequence[str]) -> Iterator[str]:
    """Yield, as text, the values that the calls of these actions hold; one-character ones not."""
    for action in actions:
        for item in parse_calls(action):
            if item.error is None:
                yield from _leaves(dict(item.arguments))


def _leaves(value: Json) -> Iterator[str]:
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        text = str(value)
        if len(text) >= MIN_VALUE_CHARS:
            yield text
