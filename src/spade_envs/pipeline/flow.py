"""Attempts on their way: asked, parsed, checked and repaired at once, handed out in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any

from spade_envs.design.clients import CompletionRequest, Policy, Usage
from spade_envs.errors import ClientError, CorpusError
from spade_envs.pipeline.answers import Answers
from spade_envs.pipeline.asker import Answered, Asker
from spade_envs.pipeline.budget import most
from spade_envs.pipeline.design import Check, Design, parsed, repair_chat, unread
from spade_envs.pipeline.plan import Plan
from spade_envs.types import Completion, EnvSource

_AHEAD = 2
"""Attempts begun for each request that may be in flight: the rest is in the gates."""


class Flow:
    """Turns numbers of attempts into designs.

    An attempt is begun when one before it was handed out, so what it can know of the store is a
    function of the attempts alone, not of who was faster.

    Args:
        plan: settings of the run.
        policy: who writes.
        check: the gates.
        answers: where every answer is noted as it comes, and looked up before it is asked for.
        known: whether a source need not be checked, since it is in the store already.
        workers: sources checked at once, >= 1.
        block: attempts that are begun together, >= 1.
        told: called after each answer that came.
    """

    def __init__(
        self,
        plan: Plan,
        policy: Policy,
        check: Check,
        answers: Answers,
        *,
        known: Callable[[EnvSource], bool],
        workers: int,
        block: int,
        told: Callable[[], None],
    ) -> None:
        self._plan, self._check, self._answers = plan, check, answers
        self._known, self._told = known, told
        self._asker = Asker(policy)
        self._width = max(block, _AHEAD * (self._asker.lanes or 0))
        self._checks = ThreadPoolExecutor(workers, thread_name_prefix="check-design")
        self._checking: set[Future[Design]] = set()
        self._open: set[int] = set()
        self._reserved: dict[int, Usage] = {}
        self._drawn: CompletionRequest | None = None
        self._best: dict[int, Design] = {}
        self._done: dict[int, Design] = {}
        self._filling = True
        self._failures = 0
        self._first_failure: ClientError | CorpusError | None = None
        self._answered = False

    @property
    def in_flight(self) -> int:
        """Requests that are being answered."""
        return self._asker.in_flight

    @property
    def reserved(self) -> Usage:
        """What the attempts under way may still take at most."""
        return sum(self._reserved.values(), Usage())

    def run(
        self,
        attempts: Iterable[int],
        old: Callable[[int], bool],
        more: Callable[[int, Usage], bool],
    ) -> Iterator[tuple[int, Design | None]]:
        """Yield attempts in order, each with its design, or None for an old one.

        Args:
            attempts: their numbers, ascending.
            old: whether an attempt was finished before.
            more: whether one more attempt may begin, from the number of those under way and what
                it may take at most.

        Raises:
            ClientError: the policy answers nothing any more.
            CorpusError: no passage can be read any more.
        """
        upcoming = iter(attempts)
        ahead = next(upcoming, None)
        queue: deque[int] = deque()
        while True:
            while ahead is not None and (old(ahead) or self._begin(ahead, more)):
                queue.append(ahead)
                ahead = next(upcoming, None)
                if len(queue) == 1 and old(queue[0]):
                    break
            if not queue:
                break
            if old(queue[0]):
                yield queue.popleft(), None
            elif queue[0] in self._done:
                design = self._done.pop(queue.popleft())
                self._open.discard(design.attempt)
                self._answers.drop(design.attempt)
                yield design.attempt, design
            else:
                self._advance()
        if self._first_failure is not None and not self._answered:
            raise self._first_failure

    def close(self, patience_s: float) -> None:
        """End: what is paid for and still comes within `patience_s` is noted."""
        self._checks.shutdown(wait=patience_s > 0, cancel_futures=True)
        for request, answer in self._asker.close(patience_s):
            if isinstance(answer, Completion):
                self._answers.add(request, answer)

    def _begin(self, attempt: int, more: Callable[[int, Usage], bool]) -> bool:
        """Begin an attempt if there is room for it."""
        if self._asker.lanes is None:
            # A batch is worth most when it is full, so it is filled when all of the last is done.
            self._filling = self._filling or not self._open
            if not self._filling:
                return False
            # Batches end at multiples of their size, so that a run that was stopped makes the same.
            if self._open and attempt // self._width != min(self._open) // self._width:
                return False
        if len(self._open) >= self._width:
            return False
        if self._drawn is None or self._drawn.attempt != attempt:
            try:
                self._drawn = self._plan.request(attempt)
            except CorpusError as error:
                self._unread(attempt, error)
                return True
        request = self._drawn
        reserve = most(request, self._plan.repair_turns)
        if not more(len(self._open), self.reserved + reserve):
            return False
        self._open.add(attempt)
        self._reserved[attempt] = reserve
        self._ask(request)
        return True

    def _unread(self, attempt: int, error: CorpusError) -> None:
        """Give an attempt up whose passage is not there any more: people edit their documents."""
        self._failed(error)
        self._open.add(attempt)
        self._done[attempt] = unread(self._plan.empty(attempt), error)

    def _failed(self, error: ClientError | CorpusError) -> None:
        self._failures += 1
        self._first_failure = self._first_failure or error
        if isinstance(error, CorpusError) and self._failures >= self._width:
            raise self._first_failure

    def _ask(self, request: CompletionRequest) -> None:
        recorded = self._answers.get(request)
        if recorded is None:
            self._asker.put(request)
        else:
            self._took(request, recorded)

    def _advance(self) -> None:
        """Wait until something is answered or checked, and let it go on."""
        self._filling = False
        if self._asker.lanes is not None or not self._checking:
            self._asker.start()
        running: list[Future[Any]] = [*self._asker.running, *self._checking]
        if not running:
            return
        done, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in [future for future in running if future in done]:
            if future in self._checking:
                self._checking.remove(future)
                self._judged(future.result())
            else:
                self._heard(self._asker.take(future))

    def _heard(self, pairs: Answered) -> None:
        for request, answer in pairs:
            if isinstance(answer, Completion):
                self._answers.add(request, answer)
                self._failures, self._first_failure, self._answered = 0, None, True
            else:
                self._failed(answer)
        if self._failures >= self._width and self._first_failure is not None:
            raise self._first_failure
        for request, answer in pairs:
            self._took(request, answer)
        self._told()

    def _took(self, request: CompletionRequest, answer: Completion | ClientError) -> None:
        design = parsed(request, answer)
        if design.completion is None or design.source is None:
            self._judged(design)
            return
        self._checking.add(self._checks.submit(self._checked, design))

    def _checked(self, design: Design) -> Design:
        if design.source is None or self._known(design.source):
            return design
        return replace(design, report=self._check(design.source))

    def _judged(self, design: Design) -> None:
        attempt = design.attempt
        if design.completion is None and attempt in self._best:
            design = self._best[attempt]  # no repair came: the design stays as it was
        elif design.mendable and design.request.turn < self._plan.repair_turns:
            self._best[attempt] = design
            turn = design.request.turn + 1
            self._ask(self._plan.request(attempt, turn, repair_chat(design)))
            return
        self._best.pop(attempt, None)
        self._reserved.pop(attempt, None)
        self._done[attempt] = design
