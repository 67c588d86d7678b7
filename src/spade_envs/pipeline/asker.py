"""Requests to a policy, as futures: many threads for a server, whole batches for the others."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial

from spade_envs.design.clients import CompletionRequest, ConcurrentPolicy, Policy
from spade_envs.design.clients.base import complete_one
from spade_envs.errors import ClientError
from spade_envs.types import Completion

Answered = list[tuple[CompletionRequest, Completion | ClientError]]
"""What one future gives: requests with their answers."""


class Asker:
    """Hands requests to a policy: one by one if it may be asked from many threads, else batched."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.lanes = policy.concurrency if isinstance(policy, ConcurrentPolicy) else None
        """Requests in flight at once; None if the policy is asked in batches."""
        self._pool = ThreadPoolExecutor(self.lanes or 1, thread_name_prefix="ask")
        self._waiting: deque[CompletionRequest] = deque()
        self.running: dict[Future[Answered], int] = {}
        """What is under way, each with its number of requests."""

    def put(self, request: CompletionRequest) -> None:
        """Line a request up."""
        self._waiting.append(request)

    def start(self) -> None:
        """Send what may be sent: a batch goes when the last one is back."""
        if self.lanes is None:
            if self._waiting and not self.running:
                batch = tuple(self._waiting)
                self._waiting.clear()
                self.running[self._pool.submit(_ask_all, self._policy, batch)] = len(batch)
            return
        while self._waiting and len(self.running) < self.lanes:
            one = self._waiting.popleft()
            self.running[self._pool.submit(partial(_ask, self._policy), one)] = 1

    def take(self, future: Future[Answered]) -> Answered:
        """Return what a finished future gives.

        Raises:
            ClientError: the policy failed as a whole.
        """
        self.running.pop(future)
        return future.result()

    @property
    def in_flight(self) -> int:
        """Requests that are being answered."""
        return sum(self.running.values())

    def close(self, patience_s: float) -> Answered:
        """Send nothing more, and return the answers that still come within `patience_s`.

        Threads that wait longer end by themselves when their requests do.
        """
        self._waiting.clear()
        self._pool.shutdown(wait=False, cancel_futures=True)
        under_way = [future for future in self.running if not future.cancelled()]
        done, _ = wait(under_way, timeout=patience_s)
        return [pair for future in done if future.exception() is None for pair in future.result()]


def _ask(policy: Policy, request: CompletionRequest) -> Answered:
    return [(request, complete_one(policy, request))]


def _ask_all(policy: Policy, batch: Sequence[CompletionRequest]) -> Answered:
    answers = policy.complete_many(batch)
    if len(answers) != len(batch):
        raise ClientError(f"{policy.name} gave {len(answers)} answers to {len(batch)} requests")
    return list(zip(batch, answers, strict=True))
