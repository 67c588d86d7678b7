"""Thinking that a model wrote into its answer, taken apart from it."""

from __future__ import annotations

import re

_OPEN = re.compile(r"\s*<(think|thinking|thought|reasoning)>", re.IGNORECASE)
_CLOSE = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.IGNORECASE)


def split_thinking(text: str) -> tuple[str, str]:
    """Return (thinking, answer) of a reply.

    Thinking is what stands before the first end tag if the reply begins with a beginning tag, or
    if there is no beginning tag at all (it stood in the prompt). A reply that never leaves its
    thinking has an empty answer; one without tags, or with tags within a code block, no thinking.
    """
    opened, end = _OPEN.match(text), _CLOSE.search(text)
    if opened is not None:
        if end is None:
            return text[opened.end() :].strip(), ""
        return text[opened.end() : end.start()].strip(), text[end.end() :].lstrip("\n")
    before = text[: end.start()] if end is not None else ""
    if end is None or "```" in before or "~~~" in before or _OPEN.search(before):
        return "", text
    return before.strip(), text[end.end() :].lstrip("\n")
