"""What an audit is: remarks on a source, or why there are none to be had."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

RemarkKind: TypeAlias = Literal["unsolvable", "type-mismatch", "unreachable", "underivable"]

KINDS: dict[RemarkKind, str] = {
    "unsolvable": "for some seed or level no sequence of actions earns the success reward",
    "type-mismatch": "values of different types are compared or combined, so that a right answer "
    "cannot be accepted or a wrong one is",
    "unreachable": "a state, branch or task that no sequence of actions can reach",
    "underivable": "an answer or argument that follows from nothing the agent is shown or can ask",
}
"""What an auditor may remark on, and what each kind means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """One thing that an auditor says about a source, with the words that it says it about."""

    kind: RemarkKind
    line: int
    """Line of the source, from 1, in which the quote begins."""
    quote: str
    """Text of the source, word for word."""
    explanation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What a language model remarked on one source. It never changes a verdict of the gates."""

    status: Literal["audited", "not audited"]
    model: str
    remarks: tuple[Remark, ...] = ()
    dropped: int = 0
    """Remarks whose quote does not occur in the source; they are not shown."""
    reason: str = ""
    """Why it was not audited; empty if it was."""
