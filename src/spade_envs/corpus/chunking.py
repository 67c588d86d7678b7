"""Cut a text into passages of about equal size without changing a character of it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice
from operator import itemgetter, methodcaller

_WORD = re.compile(r"\S+")
_BLANK_LINE = re.compile(r"\n\s*\n")
_LONGEST_WORD_CHARS = 4096
"""Longer runs without white space (base64, minified code) count as several words."""
_CHARS_PER_WORD = 12
"""A passage never grows beyond this many characters per word asked for, on average."""

_span = methodcaller("span")


def spans(text: str, words: int) -> list[tuple[int, int]]:
    """Return the passages of `text` as spans (start, end) in characters, in order.

    Passages do not overlap and hold every character that is not white space. A passage has at
    most `words` words (white-space separated) and ends, where one lies in its second half, at a
    blank line or else at a line end. A last passage shorter than a quarter of that is joined to
    the one before. Beside the text, memory for one passage is needed.

    Args:
        text: the document.
        words: words per passage, >= 1.
    """
    if len(text) <= _LONGEST_WORD_CHARS and len(text.split()) <= words:
        core = text.strip()
        start = len(text) - len(text.lstrip())
        return [(start, start + len(core))] if core else []
    found: list[tuple[int, int]] = []
    ahead = _Ahead(text)
    while window := ahead.window(words + 1):
        ends = len(window) <= words
        last = _last_token(text, window, words)
        found.append((window[0][0], window[last][1]))
        if found[1:] and ends and last == len(window) - 1 and 4 * (last + 1) < words:
            found[-2:] = [(found[-2][0], found[-1][1])]
        ahead.drop(last + 1)
    return found


class _Ahead:
    """The next tokens of a text, a few at a time."""

    def __init__(self, text: str) -> None:
        self._spans: Iterator[tuple[int, int]] = map(_span, _WORD.finditer(text))
        self._held: list[tuple[int, int]] = []

    def window(self, count: int) -> list[tuple[int, int]]:
        """Return the next `count` tokens, fewer only at the end of the text."""
        while len(self._held) < count:
            more = list(islice(self._spans, count - len(self._held)))
            if not more:
                break
            if more[-1][1] - more[0][0] > _LONGEST_WORD_CHARS:
                more = [piece for token in more for piece in _pieces(*token)]
            self._held += more
        return self._held[:count]

    def drop(self, count: int) -> None:
        """Go on behind the next `count` tokens."""
        self._held = self._held[count:]


def _pieces(start: int, end: int) -> Iterator[tuple[int, int]]:
    for piece in range(start, end, _LONGEST_WORD_CHARS):
        yield piece, min(end, piece + _LONGEST_WORD_CHARS)


def _last_token(text: str, window: list[tuple[int, int]], words: int) -> int:
    """Return the number of the last token of the passage.

    Args:
        text: the document.
        window: the tokens that the passage may have, and the one behind them if there is one.
        words: as many as it may have.
    """
    limit = min(words, len(window)) - 1
    budget = window[0][0] + max(words * _CHARS_PER_WORD, _LONGEST_WORD_CHARS)
    while limit > 0 and window[limit][1] > budget:
        limit -= 1
    if limit == len(window) - 1:
        return limit
    start, end = window[limit // 2 + 1][1], window[limit + 1][0]
    line_end = text.rfind("\n", start, end)
    if line_end < 0:
        return limit
    if _BLANK_LINE.search(text, start, end):
        for index in range(limit, limit // 2, -1):
            if text.count("\n", window[index][1], window[index + 1][0]) > 1:
                return index
    return bisect_right(window, line_end, key=itemgetter(1)) - 1
