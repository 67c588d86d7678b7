"""What can be picked from a text without understanding it."""

from __future__ import annotations

import functools
import re

_QUOTED = re.compile(r"'([^'\n]{1,40})'|\"([^\"\n]{1,40})\"|`([^`\n]{1,40})`")
_TOKEN = re.compile(r"-?\d+(?:\.\d+)?|[^\W\d_]+(?:[-'][^\W\d_]+)*")
_LISTED = re.compile(r"^\s*(?:[-*\u2022]|\d+[.)])\s+(.{1,40})$", re.MULTILINE)
_EXAMPLE = re.compile(
    r"\b(?:for example|for instance|such as|e\.g\.|example)[:,]?\s+", re.IGNORECASE
)
_CLAUSE_END = re.compile(r"[,;\n]|[.!?](?:\s|$)|\s(?:to|in|if|for|and|means?)\s|$")
_SENTENCE_END = re.compile(r"[;\n]|[.!?](?:\s|$)|\s(?:to|in|if|for|means?)\s|$")
_BOX = re.compile(r"\\boxed\{([^{}\n]{1,80})\}")
_BRACKETED = re.compile(r"(?<=\S)[ \t]*(\[[^\[\]\n]{1,30}\])")
MAX_EXAMPLE_CHARS = 80


def tokens(text: str) -> list[str]:
    """Return the numbers and words of `text`, in order."""
    return list(_tokens(text))


@functools.lru_cache(maxsize=512)
def _tokens(text: str) -> tuple[str, ...]:
    return tuple(_TOKEN.findall(text))


def quoted(text: str) -> list[str]:
    """Return what stands in quotes or backticks in `text`, in order."""
    return [next(filter(None, groups)) for groups in _QUOTED.findall(text)]


@functools.lru_cache(maxsize=512)
def vocabulary(text: str) -> tuple[str, ...]:
    """Return what an agent without understanding could say after reading `text`."""
    listed = [item.strip() for item in _LISTED.findall(text)]
    found = [*quoted(text), *listed, *tokens(text), *map(str, range(10)), "yes", "no"]
    return tuple(dict.fromkeys(found))


@functools.lru_cache(maxsize=512)
def integers(text: str) -> tuple[str, ...]:
    """Return the short integers of the vocabulary of `text`."""
    return tuple(w for w in vocabulary(text) if w.lstrip("-").isdecimal() and len(w) < 9)


def examples(text: str) -> list[str]:
    """Return the worked examples of `text`: what follows "for example" and its like, and boxes."""
    return list(_examples(text))


@functools.lru_cache(maxsize=512)
def _examples(text: str) -> tuple[str, ...]:
    found = [box.strip() for box in _BOX.findall(text)]
    for match in _EXAMPLE.finditer(text):
        rest = text[match.end() : match.end() + MAX_EXAMPLE_CHARS]
        marked = _QUOTED.match(rest)
        if marked:
            found.append(next(filter(None, marked.groups())))
            continue
        for end in (_CLAUSE_END, _SENTENCE_END):
            stop = end.search(rest)
            found.append((rest[: stop.start()] if stop else rest).strip(" ,"))
    return tuple(dict.fromkeys(item for item in found if item))


def commands(text: str) -> tuple[str, ...]:
    """Return what `text` shows as ways to act: brackets in running text, or what is quoted.

    What is quoted is boxed where the text speaks of boxes.
    """
    bracketed = _BRACKETED.findall(text)
    found = dict.fromkeys(bracketed or [*examples(text), *quoted(text)])
    form = "\\boxed{%s}" if "\\boxed" in text and not bracketed else "%s"
    plain = [one for one in found if "\\boxed" not in one and any(map(str.isalnum, one))]
    return tuple(form % one for one in plain)
