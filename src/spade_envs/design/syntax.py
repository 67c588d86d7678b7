"""Python syntax of text that nobody vouches for; it is parsed, never run."""

from __future__ import annotations

import ast
import threading
import warnings
from dataclasses import dataclass

_lock = threading.Lock()

MAX_SOURCE_CHARS = 200_000
"""Longer sources are refused; an environment is a few hundred lines."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a text is not Python."""

    message: str
    line: int = 0
    """Line of the error, counted from 1; 0 if unknown."""
    kind: str = "SyntaxError"

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}" if self.line else self.message

    @property
    def cut_off(self) -> bool:
        """Whether the text seems to end too early."""
        words = (
            "unterminated triple-quoted",
            "was never closed",
            "unexpected EOF",
            "indented block",
        )
        return any(word in self.message for word in words)


class Budget:
    """Characters that may still be parsed for one completion, so that its time stays bounded."""

    def __init__(self, chars: int = 3_000_000) -> None:
        self._chars = chars

    def take(self, chars: int) -> bool:
        """Count `chars`; False if there are not that many left."""
        self._chars -= chars + 500  # a parse of nothing costs something as well
        return self._chars >= 0


def parse_python(code: str, budget: Budget | None = None) -> ast.Module | Problem:
    """Return the syntax tree of `code`, or why there is none; never raises."""
    if len(code) > MAX_SOURCE_CHARS:
        return Problem(f"the source is longer than {MAX_SOURCE_CHARS} characters")
    if budget is not None and not budget.take(len(code)):
        return Problem("gave up: too much text to parse", kind="Budget")
    try:
        # Filters of warnings belong to the process, so threads must not change them at once.
        with _lock, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(code)
    except SyntaxError as error:
        return Problem(error.msg[:200], error.lineno or 0, type(error).__name__)
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        text = " ".join(str(error).split())[:200] or "it is nested too deep"
        return Problem(text, kind=type(error).__name__)
