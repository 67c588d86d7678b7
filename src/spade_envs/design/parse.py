"""From what a model wrote to the source of one environment."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from spade_envs.design.blocks import Answer, read_answer
from spade_envs.design.imports import add_imports
from spade_envs.design.repair import mend
from spade_envs.design.syntax import Budget, Problem
from spade_envs.errors import ParseError
from spade_envs.types import EnvSource

MAX_COMPLETION_CHARS = 2_000_000
"""Longer completions are refused unread."""

_PYTHON = frozenset({"", "python", "py", "python3", "py3"})
_CLASS = re.compile(r"^[ \t]*class[ \t]+\w", re.MULTILINE)
_END_TOKENS = re.compile(r"(?:\s*(?:<\|[a-z_]{1,20}\|>|</s>|<eos>|<end_of_turn>))+\s*\Z")
_MAX_CANDIDATES = 6


@dataclass(frozen=True, slots=True)
class _Candidate:
    code: str
    note: str | None = None
    bare: bool = False


def parse(completion: str, *, origin: str = "<completion>") -> EnvSource:
    """Return the source of the environment that a completion holds.

    It is the last complete fenced Python block after any thinking that defines a class and parses,
    if need be after repairs; without one, a block that was never closed, or code without a fence.
    `EnvSource.repairs` says what was changed. The code is parsed, not run.

    Args:
        completion: what the model wrote.
        origin: kept in the source, for messages.

    Raises:
        ParseError: there is none; the message says what is missing, with a line number of the code
            where there is one. Nothing else is ever raised.
    """
    if len(completion) > MAX_COMPLETION_CHARS:
        raise ParseError(f"the completion is longer than {MAX_COMPLETION_CHARS} characters")
    budget = Budget()
    text = completion.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    text = text[: _end_of(text)]
    answer = read_answer(text, budget)
    problem: Problem | None = None
    for skipped, candidate in enumerate(_candidates(answer)):
        found = mend(candidate.code, budget, bare=candidate.bare)
        if isinstance(found, Problem):
            problem = problem or found
            continue
        code, tree, repairs = found
        code, added = add_imports(code, tree)
        notes = [candidate.note] if candidate.note else []
        if skipped:
            notes.append(f"took an earlier block; the last one does not parse ({problem})")
        return EnvSource(code=code, origin=origin, repairs=(*notes, *repairs, *added))
    raise ParseError(_reason(answer, problem))


def _end_of(text: str) -> int:
    tail = _END_TOKENS.search(text, max(0, len(text) - 200))
    return tail.start() if tail else len(text)


def _candidates(answer: Answer) -> Iterator[_Candidate]:
    blocks = [b for b in answer.blocks if b.language in _PYTHON and _CLASS.search(b.code)]
    for block in [b for b in reversed(blocks) if b.closed][:_MAX_CANDIDATES]:
        cut = "took an earlier block; the last one is cut off" if not blocks[-1].closed else None
        yield _Candidate(block.code, cut)
    for block in [b for b in reversed(blocks) if not b.closed]:
        yield _Candidate(block.code, "the closing fence was missing", bare=True)
    if not answer.blocks and _CLASS.search(answer.text):
        yield _Candidate(answer.text, "the code stood without a fence", bare=True)


def _reason(answer: Answer, problem: Problem | None) -> str:
    if problem is not None:
        cut = "; it seems to be cut off" if problem.cut_off else ""
        return f"the code does not parse: {problem}{cut}"
    if answer.lost_in_thought:
        return "the completion never leaves its thinking; allow more tokens or shorter thinking"
    if answer.blocks:
        return "no Python block defines a class"
    if not answer.text.strip():
        return "the completion is empty"
    return "the completion holds no Python code that defines a class"
