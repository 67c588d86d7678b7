"""What one attempt comes to: completion, parse, gates, and the chat that asks for a repair."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from spade_envs.design.clients import CompletionRequest
from spade_envs.design.parse import parse
from spade_envs.design.prompting import render_repair
from spade_envs.errors import ClientError, CorpusError, ParseError
from spade_envs.types import Completion, EnvSource, GateResult, Message, RejectionStage, Report

Check = Callable[[EnvSource], Report]


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """What one attempt has come to."""

    request: CompletionRequest
    completion: Completion | None = None
    error: str = ""
    """Why there is no completion, or no source in it."""
    lost: RejectionStage = "client"
    """Where it ended, if there is no completion."""
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


def unread(request: CompletionRequest, error: CorpusError) -> Design:
    """Return the design of an attempt whose passage cannot be read."""
    return Design(request=request, error=" ".join(str(error).split()), lost="corpus")


def parsed(request: CompletionRequest, answer: Completion | ClientError) -> Design:
    """Return the design in an answer, not checked yet."""
    if isinstance(answer, ClientError):
        return Design(request=request, error=" ".join(str(answer).split()))
    tail = "; it was stopped at max_tokens" if answer.finish_reason == "length" else ""
    if not answer.text.strip() and answer.thinking:
        lost = "the completion never leaves its thinking; allow more tokens or shorter thinking"
        return Design(request=request, completion=answer, error=lost + tail)
    try:
        source = parse(answer.text, origin=f"attempt {request.attempt}")
    except ParseError as error:
        return Design(request=request, completion=answer, error=f"{error}{tail}")
    return Design(request=request, completion=answer, source=source)


def repair_chat(design: Design) -> tuple[Message, ...]:
    """Return the chat that asks for a correction of a design that is mendable."""
    findings: Sequence[GateResult | str] = [design.error]
    if design.report is not None:
        findings = design.report.failures or ["not every check could be run in time"]
    answer = design.completion.text if design.completion else ""
    return render_repair(design.request.messages, answer, findings, design.source)
