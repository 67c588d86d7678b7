"""`NanoDesigner`: the tiny model that `spade-envs generate` and `calibrate --model nano` load."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from spade_envs.design.clients.base import CompletionRequest
from spade_envs.design.prompting import read_prompt
from spade_envs.errors import ClientError
from spade_envs.types import Completion, Message
from spade_train.nano.model import MAX_TOKENS, WEIGHTS, load, need_torch
from spade_train.nano.programs import Condition, condition_of
from spade_train.nano.sampling import MIN_P, Row, Sampled, sample
from spade_train.nano.tokens import ASSISTANT, END, USER


class NanoDesigner:
    """A designer and agent of a million parameters that runs on one CPU core.

    A chat with a system message asks for a design: it reads of it only the skill, kind and
    challenge and a few telling words of the document, and writes one program of the families that
    it was trained on. A chat without one is an episode in which it acts; one that is longer than
    its window gets an empty answer. `as_agent` acts in every chat. A completion is a function of
    (chat, seed, max_tokens, temperature), alone or in a batch.
    """

    def __init__(self, weights: Path = WEIGHTS, *, acts: bool = False) -> None:
        """Name the folder of the weights; they are loaded with the first completion.

        Args:
            weights: the folder.
            acts: whether every chat is an episode, also one with a system message.

        Raises:
            MissingExtra: torch or transformers is not installed.
        """
        need_torch()
        self._weights, self._acts = weights, acts
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

    def as_agent(self) -> NanoDesigner:
        """Return the same model that acts in every chat, and says of one that it is too long."""
        return NanoDesigner(self._weights, acts=True)

    def complete(
        self, messages: Sequence[Message], *, seed: int, max_tokens: int, temperature: float
    ) -> Completion:
        """Return a completion: one fenced Python program, or what the agent does.

        Raises:
            ClientError: the weights cannot be read, or the chat is too long for the agent.
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
        """Return one completion per request, in order, computed together.

        Raises:
            ClientError: the weights cannot be read.
        """
        model, tokenizer = self._load()
        answers: dict[int, Completion | ClientError] = {}
        for designs in (True, False):
            asked = {n: r for n, r in enumerate(requests) if self._designs(r) == designs}
            make = _asked if designs else _acting
            rows = {n: make(tokenizer, request) for n, request in asked.items()}
            fits = {n: row for n, row in rows.items() if len(row.ids) < MAX_TOKENS}
            min_p = MIN_P if designs else 0.0
            found = sample(model, list(fits.values()), end=tokenizer.eos_token_id, min_p=min_p)
            said = dict(zip(fits, found, strict=True))
            for n, row in rows.items():
                if self._acts and n not in said:
                    answers[n] = _too_long(row)
                    continue
                one = said.get(n, Sampled((), ended=False))
                answers[n] = _completion(tokenizer, row, one, self.name, program=designs)
        return [answers[n] for n in range(len(requests))]

    def _designs(self, request: CompletionRequest) -> bool:
        """Return whether a design is asked for."""
        return not self._acts and any(message.role == "system" for message in request.messages)

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


def _acting(tokenizer: Any, request: CompletionRequest) -> Row:
    """Return an episode as the tiny model was trained to read it; texts cannot hold its marks."""

    def ids(text: str, *, mark: bool = False) -> list[int]:
        # Not verbose: a chat that is too long is told here, and not by a warning of the library.
        found = tokenizer(
            text, add_special_tokens=False, split_special_tokens=not mark, verbose=False
        )
        return list(found["input_ids"])

    tokens: list[int] = []
    for message in request.messages:
        if message.role == "assistant":
            tokens += [*ids(ASSISTANT, mark=True), *ids(message.content), *ids(END, mark=True)]
        else:
            tokens += [*ids(USER, mark=True), *ids(message.content)]
    return Row(
        ids=(*tokens, *ids(ASSISTANT, mark=True)),
        seed=request.seed,
        temperature=request.temperature,
        max_tokens=request.max_tokens,
    )


def _completion(
    tokenizer: Any, row: Row, found: Sampled, name: str, *, program: bool
) -> Completion:
    text = str(tokenizer.decode(list(found.ids)))
    return Completion(
        text=f"```python\n{text.rstrip()}\n```\n" if program else text,
        model=name,
        prompt_tokens=len(row.ids),
        completion_tokens=len(found.ids),
        finish_reason="stop" if found.ended else "length",
    )


def _too_long(row: Row) -> ClientError:
    most = MAX_TOKENS - 1
    return ClientError(f"the prompt has {len(row.ids)} tokens, but nano reads {most} at most")


def _unreadable(error: OSError) -> ClientError:
    mend = "install the package again, or make them with spade-train nano bootstrap"
    return ClientError(f"the weights of nano cannot be read ({error}); {mend}")


def _row(tokenizer: Any, condition: Condition, **settings: Any) -> Row:
    text = f"{USER}{condition.line()}{ASSISTANT}"
    return Row(ids=tuple(tokenizer(text, add_special_tokens=False)["input_ids"]), **settings)
