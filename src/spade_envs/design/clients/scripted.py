"""A policy that replays completions written down before: for tests and for offline re-checks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from spade_envs.design.clients.base import CompletionRequest, shown_name
from spade_envs.errors import ClientError, ConfigError
from spade_envs.types import Completion, Json, Message


class ScriptEnded(ClientError):
    """Raised when a script has no line for what it is asked; asking again does not help."""


class ScriptedPolicy:
    """Answers attempt i with line i of a script, whatever it is asked.

    Args:
        script: one item per attempt: a text, or a list of texts for the design and its repairs (the
            last one answers every later turn).
        name: what goes into provenance.
    """

    def __init__(self, script: Sequence[str | Sequence[str]], *, name: str = "scripted") -> None:
        self._script = [(item,) if isinstance(item, str) else tuple(item) for item in script]
        self._name = name
        self._next = 0

    @classmethod
    def from_file(cls, path: str | Path) -> ScriptedPolicy:
        """Read a script: JSONL whose lines are a string, a list, or an object with `completion`.

        Raises:
            ConfigError: no such file, or a line of another shape.
        """
        try:
            lines = Path(path).read_text(encoding="utf-8").split("\n")  # JSON has other line ends
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"cannot read the script {path}: {error}") from error
        script = [_item(line, f"{path}:{n}") for n, line in enumerate(lines, 1) if line.strip()]
        return cls(script, name=f"scripted:{shown_name(str(path))}")

    @property
    def name(self) -> str:
        """Name for provenance."""
        return self._name

    def complete(
        self, messages: Sequence[Message], *, seed: int, max_tokens: int, temperature: float
    ) -> Completion:
        """Return the next item of the script, each time the one after.

        Raises:
            ScriptEnded: it has no further item.
        """
        self._next += 1
        answer = self._answer(self._next - 1, 0)
        if isinstance(answer, ClientError):
            raise answer
        return answer

    def complete_many(
        self, requests: Sequence[CompletionRequest]
    ) -> list[Completion | ClientError]:
        """Return the item that belongs to each request's attempt and turn."""
        return [self._answer(request.attempt, request.turn) for request in requests]

    def _answer(self, attempt: int, turn: int) -> Completion | ClientError:
        if attempt >= len(self._script) or not self._script[attempt]:
            ends = f"it ends after {len(self._script)}"
            return ScriptEnded(f"{self._name} has no completion for attempt {attempt}: {ends}")
        texts = self._script[attempt]
        text = texts[min(turn, len(texts) - 1)]
        return Completion(text=text, model=self._name, finish_reason="stop")


def _item(line: str, where: str) -> str | list[str]:
    try:
        value: Json = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{where} is not JSON: {error}") from error
    if isinstance(value, dict):
        value = value.get("completion")
    texts = [value] if isinstance(value, str) else value
    if isinstance(texts, list) and texts and all(isinstance(text, str) for text in texts):
        return texts
    raise ConfigError(f"{where} is no completion: write a string, a list of them, or an object")
