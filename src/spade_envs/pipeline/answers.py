"""Every answer that a run paid for: append-only, so that none is asked for twice or lost."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterator

from spade_envs.design.clients import CompletionRequest, Usage, usage_of
from spade_envs.errors import Corrupt
from spade_envs.store import EnvStore
from spade_envs.store.files import append_file, open_file, refuse_links, told
from spade_envs.types import Completion, Json

_log = logging.getLogger(__name__)

FOLDER = "ledger"
_MAX_LINE_BYTES = 128 << 20
"""More than the longest reply of a server takes, with every character written as twelve bytes."""
_TEXTS = ("text", "model", "finish_reason", "thinking")
_COUNTS = ("prompt_tokens", "completion_tokens", "thinking_tokens")


class Answers:
    """The answers of one run, each on disk before anything is made of it.

    One line is one answer that a server gave, so the sum of the lines is what the run took, however
    often it was killed. A line that was torn counts nothing; it is asked for again.

    Args:
        store: whose ledger keeps them.
        key: name of the run.
        finished: whether an attempt is finished, so that its texts need not be kept in memory.
    """

    def __init__(self, store: EnvStore, key: str, finished: Callable[[int], bool]) -> None:
        self.name = f"answers-{key}.jsonl"
        self._root, self._path = store.root, store.root / FOLDER / self.name
        refuse_links(store.root, FOLDER, self.name)
        self._texts: dict[tuple[int, int], Completion] = {}
        self.usage = Usage()
        for raw in self._lines(store):
            line = _read(raw)
            if line is None:
                continue
            place, completion, usage = line
            self.usage += usage
            if not finished(place[0]):
                self._texts.setdefault(place, completion)

    def get(self, request: CompletionRequest) -> Completion | None:
        """Return the answer to a request of this run, if there is one already."""
        return self._texts.get((request.attempt, request.turn))

    def add(self, request: CompletionRequest, completion: Completion) -> None:
        """Note an answer that just came; it is on disk when this returns."""
        usage = usage_of(request, completion)
        line: dict[str, Json] = {"attempt": request.attempt, "turn": request.turn}
        line |= {name: getattr(completion, name) for name in (*_TEXTS, *_COUNTS)}
        line = {name: value for name, value in line.items() if value not in (None, "")}
        line["text"], line["usage"] = completion.text, usage.as_json()
        append_file(self._root, self._path, json.dumps(line).encode() + b"\n")
        self.usage += usage
        self._texts[request.attempt, request.turn] = completion

    def drop(self, attempt: int) -> None:
        """Forget the texts of a finished attempt, in memory only."""
        for place in [place for place in self._texts if place[0] == attempt]:
            del self._texts[place]

    def _lines(self, store: EnvStore) -> Iterator[bytes]:
        try:
            with (
                told("read", self._path),
                open_file(store.root, f"{FOLDER}/{self.name}") as handle,
                os.fdopen(os.dup(handle), "rb") as file,
            ):
                while raw := file.readline(_MAX_LINE_BYTES):
                    yield raw
        except FileNotFoundError:
            return


def _read(raw: bytes) -> tuple[tuple[int, int], Completion, Usage] | None:
    if not raw.strip():
        return None
    try:
        line = json.loads(raw)
        place = (line["attempt"], line["turn"])
        texts = {name: line[name] for name in _TEXTS if name in line}
        counts = {name: line[name] for name in _COUNTS if name in line}
        if any(type(number) is not int or number < 0 for number in (*place, *counts.values())):
            raise Corrupt("a count that is none")
        if not all(isinstance(text, str) for text in texts.values()):
            raise Corrupt("a text that is none")
        return place, Completion(**texts, **counts), Usage.from_json(line["usage"])
    except (ValueError, TypeError, KeyError, RecursionError, Corrupt):
        _log.warning("passed over a recorded answer that is not whole")
        return None
