"""One block of attempts, from requests to checked designs: completion, parse, gates, repairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from spade_envs.design.clients import CompletionRequest, Policy, complete_all
from spade_envs.design.parse import parse
from spade_envs.design.prompting import render_repair
from spade_envs.errors import ClientError, ParseError
from spade_envs.pipeline.plan import Plan
from spade_envs.types import Completion, EnvSource, GateResult, Message, Report

Check = Callable[[EnvSource], Report]


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """What one attempt has come to."""

    request: CompletionRequest
    completion: Completion | None = None
    error: str = ""
    """Why there is no completion, or no source in it."""
    source: EnvSource | None = None
    report: Report | None = None
    """None if the gates were not asked."""

    @property
    def attempt(self) -> int:
        """Number of the attempt."""
        return self.request.attempt

    @property
    def mendable(self) -> bool:
        """Whether asking the designer for a correction makes sense."""
        refused = self.report is not None and not self.report.accepted
        return self.completion is not None and (self.source is None or refused)


def run_block(
    plan: Plan,
    designer: Policy,
    attempts: Sequence[int],
    check: Check,
    *,
    known: Callable[[EnvSource], bool],
    workers: int,
) -> Iterator[Design]:
    """Yield the designs of some attempts, in order.

    Args:
        plan: settings of the run.
        designer: asked once for all attempts, and once per repair turn for those to mend.
        attempts: their numbers, ascending.
        check: the gates.
        known: whether a source need not be checked, since it is in the store already.
        workers: sources checked at once, >= 1.

    Raises:
        ClientError: the designer answered no request at all.
    """
    requests = [plan.request(attempt) for attempt in attempts]
    if plan.repair_turns == 0:
        yield from _round(designer, requests, check, known, workers)
        return
    designs = {d.attempt: d for d in _round(designer, requests, check, known, workers)}
    for turn in range(1, plan.repair_turns + 1):
        again = [
            plan.request(design.attempt, turn, _chat(design))
            for design in designs.values()
            if design.mendable
        ]
        for design in _round(designer, again, check, known, workers):
            if design.completion is not None:
                designs[design.attempt] = design
    yield from designs.values()


def _round(
    designer: Policy,
    requests: Sequence[CompletionRequest],
    check: Check,
    known: Callable[[EnvSource], bool],
    workers: int,
) -> Iterator[Design]:
    answers = complete_all(designer, requests)
    parsed = [_parsed(*pair) for pair in zip(requests, answers, strict=True)]

    def checked(design: Design) -> Design:
        if design.source is None or known(design.source):
            return design
        return replace(design, report=check(design.source))

    if workers == 1:
        yield from map(checked, parsed)
        return
    pool = ThreadPoolExecutor(workers)
    try:
        yield from pool.map(checked, parsed)
    finally:
        pool.shutdown(cancel_futures=True)


def _parsed(request: CompletionRequest, answer: Completion | ClientError) -> Design:
    if isinstance(answer, ClientError):
        return Design(request=request, error=" ".join(str(answer).split()))
    origin = f"attempt {request.attempt}"
    try:
        source = parse(answer.text, origin=origin)
    except ParseError as error:
        tail = "; it was stopped at max_tokens" if answer.finish_reason == "length" else ""
        return Design(request=request, completion=answer, error=f"{error}{tail}")
    return Design(request=request, completion=answer, source=source)


def _chat(design: Design) -> tuple[Message, ...]:
    findings: Sequence[GateResult | str] = [design.error]
    if design.report is not None:
        findings = design.report.failures or ["not every check could be run in time"]
    answer = design.completion.text if design.completion else ""
    return render_repair(design.request.messages, answer, findings, design.source)
