"""Asking a model for a strategy hint, and reading its answer."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Template

from spade_envs.design.clients.thinking import split_thinking
from spade_envs.types import Completion, EnvSource, GateResult, Message

MAX_WORDS = 150
"""Words that a model is asked for."""
_MOST_WORDS = 300
"""Words above which an answer is no hint."""
_MAX_CHARS = 4000


@dataclass(frozen=True, slots=True)
class NoHint:
    """Why an answer is no hint."""

    reason: str


def strategy_prompt(
    source: EnvSource, *, tried: str = "", why: Sequence[GateResult | NoHint] = ()
) -> tuple[Message, ...]:
    """Return the chat that asks for the strategy hint of an environment.

    Args:
        source: of the environment.
        tried: a hint that was refused; empty at the first try.
        why: what refused it.
    """
    text = Template(_template()).substitute(
        code=source.code.strip(), words=MAX_WORDS, evidence=_evidence(tried, why)
    )
    return (Message("user", text),)


def prompt_id() -> str:
    """Return the first 12 digits of the sha256 of the template."""
    return hashlib.sha256(_template().encode()).hexdigest()[:12]


def read_strategy(completion: Completion) -> str | NoHint:
    """Return the hint that a model answered with, or why there is none."""
    if completion.finish_reason == "length":
        return NoHint(
            "the answer was cut off; allow more tokens, or take a model with room for them"
        )
    text = split_thinking(completion.text)[1].strip()
    if not text:
        return NoHint("the answer is empty")
    if "```" in text or "~~~" in text:
        return NoHint("it holds code; write prose")
    if len(text.split()) > _MOST_WORDS or len(text) > _MAX_CHARS:
        return NoHint(f"it has {len(text.split())} words; write at most {MAX_WORDS}")
    return text


def _evidence(tried: str, why: Sequence[GateResult | NoHint]) -> str:
    if not why:
        return ""
    reasons = "\n".join(
        f"- {each.reason if isinstance(each, NoHint) else each.message}" for each in why
    )
    quoted = "\n".join(f"> {line}" for line in tried.splitlines())
    before = (
        f"\nThis hint was refused:\n\n{quoted}\n" if quoted else "\nThe last answer was refused.\n"
    )
    return f"{before}\n{reasons}\n\nWrite another one.\n"


@cache
def _template() -> str:
    path = files("spade_envs.design") / "prompts" / "strategy.md"
    return path.read_text(encoding="utf-8")
