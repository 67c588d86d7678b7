"""What a policy is: something that completes a chat, reproducibly."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

from spade_envs.errors import ClientError
from spade_envs.types import Completion, Message

T = TypeVar("T")
A = TypeVar("A")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionRequest:
    """One completion to make; what comes back depends on nothing else."""

    messages: tuple[Message, ...]
    seed: int
    """Sampling seed, in [0, 2**31)."""
    max_tokens: int = 4096
    """Most tokens to write, >= 1."""
    temperature: float = 0.8
    """>= 0; 0 takes the likeliest token each time."""
    attempt: int = 0
    """Number of the attempt in its run, >= 0; lets a replay find its line."""
    turn: int = 0
    """0 for the first design of an attempt, then 1 per repair."""


@runtime_checkable
class Policy(Protocol):
    """A language model behind one door, whatever it is asked for: to design, act, hint or audit.

    The same request gives the same completion. `complete_many` may serve
    the requests together, but each must come out as if served alone.
    """

    @property
    def name(self) -> str:
        """What goes into provenance, such as the model's name; no secrets."""
        ...

    def complete(
        self, messages: Sequence[Message], *, seed: int, max_tokens: int, temperature: float
    ) -> Completion:
        """Return the answer to a chat.

        Raises:
            ClientError: there is none; the message says what to do.
        """
        ...

    def complete_many(
        self, requests: Sequence[CompletionRequest]
    ) -> list[Completion | ClientError]:
        """Return one answer or error per request, in order."""
        ...


@runtime_checkable
class ConcurrentPolicy(Policy, Protocol):
    """A policy that may be asked from several threads at once."""

    @property
    def concurrency(self) -> int:
        """Threads that it serves well, >= 1."""
        ...


def shown_name(path: str) -> str:
    """Return the last part of a path or hub name, bytes that are not UTF-8 escaped."""
    return path.rstrip("/").rpartition("/")[2].encode("utf-8", "backslashreplace").decode()


class SerialPolicy(ABC):
    """Base for policies that have no batched way: `complete_many` is a loop."""

    @abstractmethod
    def complete(
        self, messages: Sequence[Message], *, seed: int, max_tokens: int, temperature: float
    ) -> Completion:
        """Return the answer to a chat."""

    def complete_many(
        self, requests: Sequence[CompletionRequest]
    ) -> list[Completion | ClientError]:
        """Return one answer or error per request, in order."""
        return [complete_one(self, request) for request in requests]


class _Completes(Protocol):
    def complete(
        self, messages: Sequence[Message], *, seed: int, max_tokens: int, temperature: float
    ) -> Completion: ...


def complete_one(policy: _Completes, request: CompletionRequest) -> Completion | ClientError:
    """Return the answer to one request, or the client's error as a value."""
    try:
        return policy.complete(
            request.messages,
            seed=request.seed,
            max_tokens=request.max_tokens,
            temperature=request.temperature,
        )
    except ClientError as error:
        return error


def complete_all(
    policy: Policy, requests: Sequence[CompletionRequest]
) -> list[Completion | ClientError]:
    """Return one answer or error per request.

    Raises:
        ClientError: every request failed, so the client is of no use; the first error.
    """
    if not requests:
        return []
    answers = policy.complete_many(requests)
    if len(answers) != len(requests):
        raise ClientError(f"{policy.name} gave {len(answers)} answers to {len(requests)} requests")
    errors = [answer for answer in answers if isinstance(answer, ClientError)]
    if len(errors) == len(answers):
        raise errors[0]
    return answers


def asked_at_once(ask: Callable[[T], A], items: Sequence[T], threads: int) -> list[A]:
    """Return what `ask` gives for each item, in order; `threads` of them are asked at once.

    An interrupt, or what `ask` raises, is not held up by requests that are under way: their
    threads end by themselves when those do.
    """
    pool = ThreadPoolExecutor(min(threads, max(1, len(items))), thread_name_prefix="ask")
    done = False
    try:
        answers = list(pool.map(ask, items))
        done = True
        return answers
    finally:
        pool.shutdown(wait=done, cancel_futures=True)
