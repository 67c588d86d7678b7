"""How the designer is asked and how its answer is read: a full prompt, or nano's one line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from spade_envs.design.prompting import render_prompt
from spade_envs.types import Brief, Message
from spade_train.nano.model import WEIGHTS
from spade_train.nano.programs import condition_of
from spade_train.tokens import ChatTokenizer


@dataclass(frozen=True, slots=True)
class Speech:
    """One way of talking with a designer."""

    ask: Callable[[Brief], tuple[Message, ...]]
    """The messages that ask for the environment of a brief."""
    read: Callable[[str], str]
    """From what the model said to a completion that `design.parse` reads."""


def speech_of(tokenizer: ChatTokenizer) -> Speech:
    """Return the way for the model of a tokenizer: nano's own if it has nano's chat template."""
    template = (WEIGHTS / "chat_template.jinja").read_text(encoding="utf-8")
    return NANO if str(tokenizer.chat_template or "").strip() == template.strip() else CHAT


def _condition(brief: Brief) -> tuple[Message, ...]:
    passage = brief.passage
    text = "" if passage is None else f"{passage.title}\n{passage.text}"
    condition = condition_of(brief.skill, brief.kind, brief.challenge, text, avoid=brief.avoid)
    return (Message("user", condition.line()),)


def _fenced(said: str) -> str:
    return f"```python\n{said.rstrip()}\n```\n"


CHAT = Speech(render_prompt, str)
NANO = Speech(_condition, _fenced)
