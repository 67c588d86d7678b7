"""Sessions of one question and one answer, and how answers are found in a reply."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from spade_envs.types import Message
from spade_train.suites.base import Fault, Said, Score

_TAGS = re.compile(r"</?answer>", re.IGNORECASE)
_BRACES = re.compile(r"\\boxed\s*\{|[{}]")
MAX_ANSWER_CHARACTERS = 20_000
"""Longer answers count as none: no benchmark asks for so much."""


def tagged(text: str) -> str | None:
    """Return what stands in the last `<answer>...</answer>`, stripped; None without one."""
    begin, found = -1, None
    for mark in _TAGS.finditer(text):
        if not mark.group().startswith("</"):
            begin = mark.end()
        elif begin >= 0:
            begin, found = -1, text[begin : mark.start()].strip()
    return found


def boxed(text: str) -> str | None:
    r"""Return what stands in the last `\boxed{...}` whose braces close; None without one."""
    opened: list[int] = []
    found = (-1, -1)
    for mark in _BRACES.finditer(text):
        if mark.group() != "}":
            opened.append(mark.end() if len(mark.group()) > 1 else -1)
        elif opened:
            found = max(found, (opened.pop(), mark.start()))
    begin, end = found
    return text[begin:end].strip() if begin >= 0 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What one attempt is about."""

    prompt: str
    judge: Callable[[Said], Score | Fault] = field(repr=False)
    """Scores the reply."""
    answer: Said | None = field(default=None, repr=False)
    """A reply that is right; None where nobody knows one."""
    guess: Callable[[random.Random], Said] = field(repr=False)
    """Makes a random reply of the right form."""
    system: str = ""
    """What stands before the question; nothing if empty."""
    earlier: tuple[Message, ...] = ()
    """What was said before the question."""


class SingleSession:
    """One question, one reply."""

    def __init__(self, question: Question) -> None:
        self._question = question
        self._said: Said | None = None
        self._score: Score | Fault | None = None

    @property
    def messages(self) -> tuple[Message, ...]:
        """The question, then the reply."""
        system, prompt = self._question.system, self._question.prompt
        asked = (Message("system", system),) if system else ()
        asked = (*asked, *self._question.earlier, Message("user", prompt))
        return asked if self._said is None else (*asked, Message("assistant", self._said))

    @property
    def done(self) -> bool:
        """Whether there was a reply."""
        return self._said is not None

    def reply(self, said: Said) -> None:
        """Take the reply."""
        if self._said is None:
            self._said = said

    def score(self) -> Score | Fault:
        """Return what the reply is worth, judged once."""
        if self._score is None:
            none = Score(value=0.0, success=False, detail={"error": "no reply"})
            self._score = none if self._said is None else self._question.judge(self._said)
        return self._score

    def reference(self) -> Said | None:
        """Return a right reply."""
        return self._question.answer

    def random(self, rng: random.Random) -> Said:
        """Return a random reply."""
        return self._question.guess(rng)

    def close(self) -> None:
        """Nothing is held."""


def verdict(right: bool, **detail: str) -> Score:
    """Return 1 or 0."""
    return Score(value=float(right), success=right, detail=detail)


def without_answer() -> Score:
    """Return the score of a reply in which no answer was found."""
    return verdict(False, error="no answer found")
