"""The policy as an auditor: it remarks on sources, for the log and never for a verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

from spade_envs.audit import audit_all
from spade_envs.design.clients import CompletionRequest
from spade_envs.errors import ClientError
from spade_envs.types import Completion, EnvSource, Message
from spade_train.engines import Engine, SampleRequest
from spade_train.loop.ports import Audited
from spade_train.tokens import ChatFormat

_TOKENS = 1024
"""Most tokens of one answer."""


class PolicyClient:
    """Answers chats with an engine, as any client of a language model does."""

    def __init__(
        self,
        engine: Engine,
        form: ChatFormat,
        name: str,
        *,
        timed: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """Take the engine.

        Args:
            engine: samples the answers.
            form: chat format.
            name: of the model.
            timed: gives what counts the time of sampling.
        """
        self._engine, self._form, self._name, self._timed = engine, form, name, timed

    @property
    def name(self) -> str:
        """Name of the model."""
        return self._name

    def complete(
        self, messages: Sequence[Message], *, seed: int, max_tokens: int, temperature: float
    ) -> Completion:
        """Return the answer to a chat.

        Raises:
            ClientError: the chat leaves no room for an answer.
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
        """Return one answer or error per request, in order, sampled together."""
        begun = [self._form.begin(request.messages) for request in requests]
        rows = [row for row, dialogue in enumerate(begun) if dialogue.awaits_turn]
        asked = [
            SampleRequest(
                key=f"chat/{row}",
                ids=tuple(begun[row].ids.tolist()),
                seed=requests[row].seed,
                max_tokens=min(requests[row].max_tokens, begun[row].room(self._form.window)),
                temperature=requests[row].temperature,
            )
            for row in rows
        ]
        with self._timed():
            turns = self._engine.sample(asked) if asked else []
        self._engine.forget([request.key for request in asked])
        answers: list[Completion | ClientError] = [
            ClientError("the chat leaves no room for an answer") for _ in requests
        ]
        for row, turn in zip(rows, turns, strict=True):
            dialogue = self._form.sampled(begun[row], turn.ids, turn.logprobs)
            answers[row] = Completion(
                text=self._form.turn(dialogue).text,
                model=self._name,
                prompt_tokens=len(begun[row]),
                completion_tokens=len(turn.ids),
            )
        return answers


class _Counted:
    """A client that adds up the tokens of its answers."""

    def __init__(self, client: PolicyClient) -> None:
        self._client, self.tokens = client, 0
        self.name, self.complete = client.name, client.complete

    def complete_many(
        self, requests: Sequence[CompletionRequest]
    ) -> list[Completion | ClientError]:
        answers = self._client.complete_many(requests)
        self.tokens += sum(
            answer.completion_tokens or 0 for answer in answers if isinstance(answer, Completion)
        )
        return answers


def audited(sources: Sequence[EnvSource], client: PolicyClient) -> Audited:
    """Return what the policy remarks on each source, and the tokens that it took."""
    counted = _Counted(client)
    audits = audit_all(sources, counted, max_tokens=_TOKENS)
    return Audited(tuple(audits), counted.tokens)
