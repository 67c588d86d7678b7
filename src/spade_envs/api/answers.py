r"""Reading an answer out of a message, the one convention of every environment here.

A model may think aloud, wrap its answer in `\boxed{}`, in `<answer>` tags, or on a line that begins
with `Answer:`. An environment that reads actions with `answer_of` accepts all of these alike.
"""

from __future__ import annotations

_THINK_OPEN, _THINK_CLOSE = "<think>", "</think>"
_LINE_MARKS = ("final answer:", "answer:")
_WRAPPERS = ("**", "`", "$", '"', "'")


def without_thinking(message: str) -> str:
    """Return `message` without its thinking: what follows the last `</think>`, or all of it.

    Of an unclosed `<think>` at the start only the tag is left out, since a cut-off message still
    deserves a reading.
    """
    _, closed, rest = message.rpartition(_THINK_CLOSE)
    return rest if closed else message.lstrip().removeprefix(_THINK_OPEN)


def answer_of(message: str) -> str:
    r"""Return the answer that `message` gives, stripped.

    Looked for in this order, after any thinking: the last `\boxed{...}`, the last
    `<answer>...</answer>`, the last line that begins with `Answer:`, the whole message. Code
    fences, emphasis, quotes and one trailing full stop around the answer are removed.

    Example:
        >>> answer_of(r"Let me see. 6 * 7 is \boxed{42}.")
        '42'
        >>> answer_of("Answer: north.")
        'north'
    """
    text = without_thinking(message)
    for find in (_boxed, _tagged, _marked_line):
        found = find(text)
        if found is not None:
            return _bare(found)
    return _bare(text)


def _boxed(text: str) -> str | None:
    start = text.rfind("\\boxed{")
    if start < 0:
        return None
    begin = position = start + len("\\boxed{")
    depth = 1
    while (close := text.find("}", position)) >= 0:
        depth += text.count("{", position, close) - 1
        if depth == 0:
            return text[begin:close]
        position = close + 1
    return None


def _tagged(text: str) -> str | None:
    end = text.rfind("</answer>")
    start = text.rfind("<answer>", 0, max(end, 0))
    return None if end < 0 or start < 0 else text[start + len("<answer>") : end]


def _marked_line(text: str) -> str | None:
    for line in reversed(text.splitlines()):
        plain = line.strip().lstrip("*#> ")
        for mark in _LINE_MARKS:
            if plain[: len(mark)].lower() == mark:
                rest = plain[len(mark) :]
                return rest.replace("**", "") if rest.count("**") == 1 else rest
    return None


def _bare(text: str) -> str:
    text = text.strip()
    if text.startswith("```") and text.endswith("```") and len(text) > 6:
        first_line, newline, rest = text[3:-3].partition("\n")
        has_language = newline and first_line.strip().isalnum()
        text = (rest if has_language else text[3:-3]).strip()
    if text.endswith(".") and not text.endswith(".."):
        text = text[:-1].rstrip()
    for wrapper in _WRAPPERS:
        size = len(wrapper)
        if len(text) > 2 * size and text.startswith(wrapper) and text.endswith(wrapper):
            text = text[size:-size].strip()
    return text
