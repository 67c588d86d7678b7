"""Cut a text into passages of about equal size without changing a character of it."""

from __future__ import annotations

import re
from collections.abc import Iterator

_WORD = re.compile(r"\S+")
_LONGEST_WORD_CHARS = 4096
"""Longer runs without white space (base64, minified code) count as several words."""
_CHARS_PER_WORD = 12
"""A passage never grows beyond this many characters per word asked for, on average."""


def spans(text: str, words: int) -> list[tuple[int, int]]:
    """Return the passages of `text` as spans (start, end) in characters, in order.

    Passages do not overlap and hold every character that is not white space. A passage has at
    most `words` words (white-space separated) and ends, where one lies in its second half, at a
    blank line or else at a line end. A last passage shorter than a quarter of that is joined to
    the one before.

    Args:
        text: the document.
        words: words per passage, >= 1.
    """
    tokens = list(_tokens(text))
    found: list[tuple[int, int]] = []
    first = 0
    while first < len(tokens):
        last = _last_token(text, tokens, first, words)
        found.append((tokens[first][0], tokens[last][1]))
        if found[1:] and last == len(tokens) - 1 and 4 * (last - first + 1) < words:
            found[-2:] = [(found[-2][0], found[-1][1])]
        first = last + 1
    return found


def _tokens(text: str) -> Iterator[tuple[int, int]]:
    for match in _WORD.finditer(text):
        start, end = match.span()
        for piece in range(start, end, _LONGEST_WORD_CHARS):
            yield piece, min(end, piece + _LONGEST_WORD_CHARS)


def _last_token(text: str, tokens: list[tuple[int, int]], first: int, words: int) -> int:
    limit = min(first + words, len(tokens)) - 1
    budget = tokens[first][0] + max(words * _CHARS_PER_WORD, _LONGEST_WORD_CHARS)
    while limit > first and tokens[limit][1] > budget:
        limit -= 1
    if limit == len(tokens) - 1:
        return limit
    line_end = None
    for index in range(limit, first + (limit - first) // 2, -1):
        gap = text[tokens[index][1] : tokens[index + 1][0]].count("\n")
        if gap >= 2:
            return index
        if gap == 1 and line_end is None:
            line_end = index
    return limit if line_end is None else line_end
