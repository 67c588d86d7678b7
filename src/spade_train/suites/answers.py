"""What comes back from a suite's process, read as what it must be: foreign code says what it likes.

What is of another form is a fault or an error here, before it is in a record that nobody can read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import msgspec

from spade_envs.errors import SpadeError
from spade_envs.types import Json, Message
from spade_train.errors import SuiteError
from spade_train.suites.base import Decoding, Fault, Score, Task

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a suite says of itself."""

    name: str
    version: str
    settings: dict[str, Any]
    labels: dict[str, str]
    decoding: Decoding


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    done: bool
    new: list[tuple[Literal["system", "user", "assistant", "tool"], Any]]


def about_of(factory: str, found: Json) -> About:
    """Return what a suite says of itself.

    Raises:
        SuiteError: it is of another form; the message tells where.
    """
    return _read(found, About, factory)


def tasks_of(name: str, found: Json) -> tuple[Task, ...]:
    """Return the tasks of a suite.

    Raises:
        SuiteError: one is of another form, or two have one name.
    """
    tasks: dict[str, Task] = {}
    for each in _read(found, list[tuple[str, str, dict[str, Any]]], f"tasks of suite {name}"):
        if each[0] in tasks:
            raise SuiteError(f"suite {name}: two tasks are called {each[0]!r}; give each its own")
        tasks[each[0]] = Task(*each)
    return tuple(tasks.values())


def state_of(op: str, found: Json) -> tuple[bool, list[Message]] | Fault:
    """Return whether a session is done, and its new messages, or what is wrong."""
    if isinstance(found, Mapping) and "is" in found:
        return fault_of(op, found)
    try:
        state = msgspec.convert(found, _State)
    except msgspec.ValidationError as error:
        return _other(op, error)
    return state.done, [Message(role, str(content)) for role, content in state.new]


def score_of(found: Json) -> Score | Fault:
    """Return what an attempt is worth; what is no score is a fault."""
    if found.get("is") == "Fault":
        return fault_of("score", found)
    try:
        return msgspec.convert(found, Score)
    except (msgspec.ValidationError, SpadeError) as error:
        return _other("score", error)


def fault_of(op: str, found: Json) -> Fault:
    """Return a fault as the suite tells it."""
    try:
        return msgspec.convert(found, Fault)
    except msgspec.ValidationError as error:
        return _other(op, error)


def text_of(op: str, found: Json) -> str | Fault:
    """Return a text."""
    return found if isinstance(found, str) else _other(op, f"{type(found).__name__}, not a text")


def _read(found: Json, form: type[T], what: str) -> T:
    try:
        return msgspec.convert(found, form)
    except msgspec.ValidationError as error:
        raise SuiteError(f"{what}: not as a suite must give it: {error}") from error


def _other(op: str, why: object) -> Fault:
    return Fault(op, f"not as a suite must give it: {why}")
