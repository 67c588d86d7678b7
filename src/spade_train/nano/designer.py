"""`NanoDesigner`: the tiny model as a designer that `spade-envs generate --designer nano` loads."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from spade_envs.design.clients.base import CompletionRequest
from spade_envs.design.prompting import read_prompt
from spade_envs.errors import ClientError
from spade_envs.types import Completion, Message
from spade_train.nano.model import WEIGHTS, load, need_torch
from spade_train.nano.programs import Condition, condition_of
from spade_train.nano.sampling import Row, Sampled, sample
from spade_train.nano.tokens import ASSISTANT, USER


class NanoDesigner:
    """A designer of a million parameters that runs on one CPU core.

    It reads of a prompt only the skill, kind and challenge and a few telling words of the
    document, and writes one program of the families that it was trained on. A completion is a
    function of (prompt, seed, max_tokens, temperature), alone or in a batch.
    """

    def __init__(self, weights: Path = WEIGHTS) -> None:
        """Name the folder of the weights; they are loaded with the first completion.

        Raises:
            MissingExtra: torch or transformers is not installed.
        """
        need_torch()
        self._weights = weights
        self._loaded: tuple[Any, Any] | None = None
        self._name: str | None = None

    @property
    def name(self) -> str:
        """`nano-` and the first digits of the weights' sha256, so that runs do not mix weights."""
        if self._name is None:
            try:
                weights = (self._weights / "model.safetensors").read_bytes()
            except OSError as error:
                raise _unreadable(error) from error
            self._name = f"nano-{hashlib.sha256(weights).hexdigest()[:12]}"
        return self._name

    def complete(
        self, messages: Sequence[Message], *, seed: int, max_tokens: int, temperature: float
    ) -> Completion:
        """Return a completion that holds one fenced Python program.

        Raises:
            ClientError: the weights cannot be read.
        """
        request = CompletionRequest(
            messages=tuple(messages), seed=seed, max_tokens=max_tokens, temperature=temperature
        )
        (answer,) = self.complete_many([request])
        if isinstance(answer, ClientError):
            raise answer
        return answer

    def complete_many(
        self, requests: Sequence[CompletionRequest]
    ) -> list[Completion | ClientError]:
        """Return one completion per request, in order, computed together."""
        model, tokenizer = self._load()
        rows = [_asked(tokenizer, request) for request in requests]
        found = sample(model, rows, end=tokenizer.eos_token_id)
        name = self.name
        return [
            _completion(tokenizer, row, one, name) for row, one in zip(rows, found, strict=True)
        ]

    def _load(self) -> tuple[Any, Any]:
        if self._loaded is None:
            try:
                model, tokenizer = load(self._weights)
            except OSError as error:
                raise _unreadable(error) from error
            self._loaded = model.double(), tokenizer
        return self._loaded

    def programs(
        self, conditions: Sequence[Condition], *, seed: int = 0, temperature: float = 0.8
    ) -> list[str]:
        """Return one program per condition; row i is sampled with seed + i."""
        model, tokenizer = self._load()
        rows = [
            _row(tokenizer, condition, seed=seed + i, temperature=temperature)
            for i, condition in enumerate(conditions)
        ]
        found = sample(model, rows, end=tokenizer.eos_token_id)
        return [str(tokenizer.decode(list(one.ids))) for one in found]


def _asked(tokenizer: Any, request: CompletionRequest) -> Row:
    brief = read_prompt(request.messages)
    text = "" if brief.passage is None else f"{brief.passage.title}\n{brief.passage.text}"
    return _row(
        tokenizer,
        condition_of(brief.skill, brief.kind, brief.challenge, text, avoid=brief.avoid),
        seed=request.seed,
        temperature=request.temperature,
        max_tokens=request.max_tokens,
    )


def _completion(tokenizer: Any, row: Row, found: Sampled, name: str) -> Completion:
    code = tokenizer.decode(list(found.ids))
    return Completion(
        text=f"```python\n{code.rstrip()}\n```\n",
        model=name,
        prompt_tokens=len(row.ids),
        completion_tokens=len(found.ids),
        finish_reason="stop" if found.ended else "length",
    )


def _unreadable(error: OSError) -> ClientError:
    mend = "install the package again, or make them with spade-train nano bootstrap"
    return ClientError(f"the weights of nano cannot be read ({error}); {mend}")


def _row(tokenizer: Any, condition: Condition, **settings: Any) -> Row:
    text = f"{USER}{condition.line()}{ASSISTANT}"
    return Row(ids=tuple(tokenizer(text, add_special_tokens=False)["input_ids"]), **settings)
