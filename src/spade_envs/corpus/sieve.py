"""Filters that judge one passage at a time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from spade_envs.corpus.settings import Filters
from spade_envs.errors import CorpusError, MissingExtra

_LANGUAGE_CHARS = 1000
"""Characters in the middle of a passage that its language is told from."""

_NOTICES = re.compile(
    r"all rights reserved|copyright (?:©|\(c\)|\d{4})|©\s*\d{4}|privacy policy|cookie (?:policy|"
    r"settings|preferences)|terms of (?:use|service)|accept (?:all )?cookies|we use cookies|"
    r"subscribe to (?:our|the)|sign up|log ?in|click here|skip to (?:main )?content|"
    r"enable javascript|lorem ipsum|share on (?:facebook|twitter)|back to top|read more",
    re.IGNORECASE,
)
_LINK = re.compile(r"(?:https?://|www\.)\S+", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?;:。！？…][\"'”’)\]]*$")


def sieve(filters: Filters) -> Callable[[str], str | None]:
    """Return a function from a passage to the reason for leaving it out, or None.

    Raises:
        MissingExtra: the language library is not installed.
        CorpusError: a language is not one that it knows.
    """
    checks: list[Callable[[str], str | None]] = []
    if filters.min_words or filters.max_words is not None:
        checks.append(lambda text: _length(text, filters.min_words, filters.max_words))
    if filters.boilerplate:
        checks.append(lambda text: "boilerplate" if is_boilerplate(text) else None)
    if filters.languages:
        wanted = _known(filters.languages)
        checks.append(lambda text: None if language_of(text) in wanted else "language")
    return lambda text: next((why for check in checks if (why := check(text)) is not None), None)


def language_of(text: str) -> str:
    """Return the ISO 639-1 code of a text's likeliest language, told from its middle.

    Raises:
        MissingExtra: the language library is not installed.
    """
    start = max(0, (len(text) - _LANGUAGE_CHARS) // 2)
    return str(_identifier().classify(text[start : start + _LANGUAGE_CHARS])[0])


def is_boilerplate(text: str) -> bool:
    """Whether a passage is furniture of a page rather than prose, tables or code.

    It is if it hardly holds letters, repeats its lines, is mostly links, or consists of short
    lines that are no sentences and name rights, cookies, logins and the like.
    """
    visible = sum(not char.isspace() for char in text)
    if not visible:
        return True
    letters = sum(char.isalpha() for char in text)
    if letters < 0.25 * visible:
        return True
    if sum(map(len, _LINK.findall(text))) > 0.4 * visible:
        return True
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    long = [line for line in lines if len(line) > 20]
    if len(long) >= 4 and sum(n - 1 for n in Counter(long).values()) > 0.3 * len(long):
        return True
    notices = len(_NOTICES.findall(text))
    words = len(text.split())
    unfinished = sum(len(line.split()) < 8 and not _SENTENCE_END.search(line) for line in lines)
    furniture = len(lines) >= 4 and unfinished > 0.7 * len(lines)
    return notices >= 2 and (furniture or notices * 25 > words)


def _length(text: str, least: int, most: int | None) -> str | None:
    count = len(text.split())
    if count < least:
        return "too short"
    return "too long" if most is not None and count > most else None


def _known(languages: tuple[str, ...]) -> frozenset[str]:
    labels = set(_identifier().labels)
    for code in languages:
        if code not in labels:
            raise CorpusError(
                f"{code!r} is no language that can be told; use ISO 639-1 codes such as en: "
                f"{', '.join(sorted(labels))}"
            )
    return frozenset(languages)


@lru_cache(maxsize=1)
def _identifier() -> Any:
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError:
        raise MissingExtra("py3langid", "data") from None
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
