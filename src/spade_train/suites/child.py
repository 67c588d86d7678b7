"""The process that a suite of foreign code runs in; it serves one call at a time, as JSON lines.

It begins with nothing but the standard library, our own package and what the suite needs; torch
cannot be imported. Started by `suites.worker`, and to be killed by it at any time.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import random
import resource
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any, BinaryIO

from spade_envs.errors import SpadeError
from spade_envs.types import Json
from spade_train.suites.base import Fault, Score, Session, Suite, Task

_REASON_CHARS = 300
_WATCH_S = 1.0


class Server:
    """Answers the calls on one suite."""

    def __init__(self) -> None:
        self._suite: Suite | None = None
        self._tasks: dict[str, Task] = {}
        self._sessions: dict[int, Session] = {}
        self._told: dict[int, int] = {}

    def answer(self, op: str, args: Mapping[str, Json]) -> Json:
        """Return the answer to one call."""
        if op == "load":
            return self._load(args["factory"], args["settings"])
        if op == "tasks":
            if self._suite is None:
                raise ValueError("nothing is loaded")
            return [[task.id, task.group, dict(task.detail)] for task in self._suite.tasks()]
        number = args["session"]
        if op == "open":
            return self._open(number, args["task"], args["seed"])
        if op == "close":
            self._told.pop(number, None)
            if (ended := self._sessions.pop(number, None)) is not None:
                ended.close()
            return None
        session = self._sessions[number]
        if op == "reply":
            session.reply(args["said"])
            return self._state(number)
        if op == "score":
            return _plain(session.score())
        if op == "reference":
            return session.reference()
        if op == "random":
            return session.random(random.Random(args["seed"]))
        raise ValueError(f"unknown call {op}")

    def _load(self, factory: str, settings: Mapping[str, Json]) -> Json:
        module, _, function = factory.partition(":")
        suite: Suite = getattr(importlib.import_module(module), function)(**settings)
        self._suite = suite
        return {
            "name": suite.name,
            "version": suite.version,
            "settings": dict(suite.settings),
            "labels": dict(suite.labels),
            "decoding": dataclasses.asdict(suite.decoding),
        }

    def _known(self) -> dict[str, Task]:
        if self._suite is not None and not self._tasks:
            self._tasks = {task.id: task for task in self._suite.tasks()}
        return self._tasks

    def _open(self, number: int, task: str, seed: int) -> Json:
        known = self._known()[task]
        if self._suite is None:
            raise ValueError("nothing is loaded")
        session = self._suite.open(known, seed=seed)
        if isinstance(session, Fault):
            return _plain(session)
        self._sessions[number], self._told[number] = session, 0
        return self._state(number)

    def _state(self, number: int) -> Json:
        session = self._sessions[number]
        messages = session.messages
        new = [[each.role, each.content] for each in messages[self._told[number] :]]
        self._told[number] = len(messages)
        return {"done": bool(session.done), "new": new}


def _plain(value: Any) -> Json:
    """Return a score or a fault as JSON that says which it is."""
    if isinstance(value, Score):
        return {**dataclasses.asdict(value), "is": "Score", "value": float(value.value)}
    if isinstance(value, Fault):
        return {**dataclasses.asdict(value), "is": "Fault"}
    raise TypeError(f"{type(value).__name__} is neither a Score nor a Fault")


def serve(calls: BinaryIO, answers: BinaryIO) -> None:
    """Answer calls until their end."""
    server = Server()
    for line in calls:
        call = json.loads(line)
        try:
            answer = {"ok": server.answer(call["op"], call)}
            data = json.dumps(answer, allow_nan=False)
        except SpadeError as error:
            data = json.dumps({"refused": str(error), "fault": _line(error)})
        except (Exception, SystemExit) as error:  # noqa: BLE001  the boundary: foreign code
            data = json.dumps({"fault": _line(error)})
        answers.write(data.encode() + b"\n")
        answers.flush()


def _line(error: BaseException) -> str:
    try:
        text = " ".join(str(error).split())
    except Exception:  # noqa: BLE001  __str__ is foreign code as well
        text = ""
    return f"{type(error).__name__}: {text}"[:_REASON_CHARS]


def main(memory_mb: int) -> None:
    """Serve on standard input and output, which foreign code that prints does not get to see."""
    parent = os.getppid()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory_mb:
        resource.setrlimit(resource.RLIMIT_AS, (memory_mb << 20, memory_mb << 20))
    sys.modules["torch"] = None  # type: ignore[assignment]  # the standard way to forbid an import
    calls, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.dup2(2, 1)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    serve(calls, answers)
    os._exit(0)  # foreign threads and exit handlers must not keep it


def _watch(parent: int) -> None:
    """End this process when the one that started it is gone, even if it waits for nothing."""
    while os.getppid() == parent:
        time.sleep(_WATCH_S)
    os._exit(1)
