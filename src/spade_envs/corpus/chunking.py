"""Cut a text into passages of about equal size without changing a character of it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from operator import itemgetter
from typing import Any

import numpy as np

_SPACE = re.compile(r"\s")
_IS_SPACE = np.array([chr(code).isspace() for code in range(0x3002)])
"""By code point; beyond, there is no white space."""
_PIECE = 1 << 13
"""Characters that are looked at together."""
_BLANK_LINE = re.compile(r"\n\s*\n")
_LONGEST_WORD_CHARS = 4096
"""Longer runs without white space (base64, minified code) count as several words."""
_CHARS_PER_WORD = 12
"""A passage never grows beyond this many characters per word asked for, on average."""


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
    """The next tokens of a text, some thousand at a time."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._read = 0
        self._held: list[tuple[int, int]] = []
        self._first = 0

    def window(self, count: int) -> list[tuple[int, int]]:
        """Return the next `count` tokens, fewer only at the end of the text."""
        while len(self._held) - self._first < count and self._read < len(self._text):
            self._held = self._held[self._first :] + self._more()
            self._first = 0
        return self._held[self._first : self._first + count]

    def drop(self, count: int) -> None:
        """Go on behind the next `count` tokens."""
        self._first += count

    def _more(self) -> list[tuple[int, int]]:
        start, text = self._read, self._text
        codes = np.frombuffer(
            text[start : start + _PIECE].encode("utf-32-le", "surrogatepass"), "<u4"
        )
        edges = _word_edges(codes)
        self._read = start + len(codes)
        if len(edges) and edges[-1] == len(codes) and self._read < len(text):
            # The last word goes on behind the piece: it is read with the next one, or by itself.
            self._read, edges = start + int(edges[-2]), edges[:-2]
            if not len(edges):
                end = _SPACE.search(text, self._read)
                begin, self._read = self._read, end.start() if end else len(text)
                return list(_pieces(begin, self._read))
        ends = (edges + start).tolist()
        tokens = list(zip(ends[::2], ends[1::2], strict=True))
        if len(edges) and (edges[1::2] - edges[::2]).max() > _LONGEST_WORD_CHARS:
            return [piece for token in tokens for piece in _pieces(*token)]
        return tokens


def _word_edges(codes: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return where words start and end, in turns."""
    outside = np.ones(len(codes) + 2, dtype=np.bool_)
    outside[1:-1] = _IS_SPACE[np.minimum(codes, len(_IS_SPACE) - 1)]
    return np.flatnonzero(outside[1:] != outside[:-1])


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
