"""Find the code blocks in what a model wrote, after any thinking."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from spade_envs.design.syntax import Budget, Problem, parse_python

_OPEN_TAG = re.compile(r"<(think|thinking|thought|reasoning)>", re.IGNORECASE)
_CLOSE_TAG = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_INFO = re.compile(r"[A-Za-z0-9_+#.-]*")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block."""

    code: str
    language: str
    """First word after the opening fence, in lower case."""
    closed: bool
    """False if the text ended before the closing fence."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What is left of a completion without its thinking."""

    blocks: tuple[Block, ...]
    text: str
    """The answer verbatim, fences included."""
    lost_in_thought: bool
    """True if the completion ended inside its thinking."""


def read_answer(text: str, budget: Budget) -> Answer:
    """Split a completion into thinking, which is dropped, and an answer with its blocks.

    Thinking stands between tags; an end tag without a beginning ends thinking that began in the
    prompt. Inside a block tags are code. A fence inside a triple-quoted string of a block does not
    end it. Takes time linear in the text, plus what the budget allows.
    """
    lines = text.split("\n")
    blocks: list[Block] = []
    kept: list[str] = []
    index, lost = 0, False
    while index < len(lines):
        line = lines[index]
        if _OPEN_TAG.match(line.lstrip()):
            end = _end_of_thinking(lines, index)
            if end is None:
                lost = True
                break
            index, lines[end] = end, _after_thinking(lines[end])
            continue
        if _CLOSE_TAG.search(line):
            blocks, kept = [], []
            lines[index] = _after_thinking(line)
            continue
        fence = _fence(line)
        if fence is None:
            kept.append(line)
            index += 1
            continue
        end, tag = _end_of_block(lines, index, fence, budget)
        if tag is not None:
            blocks, kept, index = [], [], tag + 1  # the draft was never closed before thinking was
            continue
        code = "\n".join(lines[index + 1 : end])
        blocks.append(Block(code, _language(line, fence), end < len(lines)))
        kept += lines[index : end + 1]
        index = end + 1
    return Answer(tuple(blocks), "\n".join(kept), lost)


def _end_of_thinking(lines: Sequence[str], start: int) -> int | None:
    return next((i for i in range(start, len(lines)) if _CLOSE_TAG.search(lines[i])), None)


def _after_thinking(line: str) -> str:
    # Behind the last end tag: one cut per line keeps the whole linear in the text.
    *_, last = _CLOSE_TAG.finditer(line)
    return line[last.end() :]


def _fence(line: str) -> str | None:
    """Return the fence that opens a block on this line, such as three backticks."""
    text = line.lstrip()
    mark = text[:1]
    if mark not in ("`", "~") or text[:3] != mark * 3:
        return None
    fence = text[: len(text) - len(text.lstrip(mark))]
    return fence if mark == "~" or "`" not in text[len(fence) :] else None


def _language(line: str, fence: str) -> str:
    found = _INFO.match(line.strip()[len(fence) :].strip().lstrip("{."))
    return found[0].lower() if found else ""


def _end_of_block(
    lines: Sequence[str], start: int, fence: str, budget: Budget
) -> tuple[int, int | None]:
    """Return the line that closes a block (len(lines) if none does), or where thinking ended."""
    first_end, quotes, tag = None, False, None
    for index in range(start + 1, len(lines)):
        text = lines[index].strip()
        quotes = quotes or '"""' in text or "'''" in text
        if first_end is None and _CLOSE_TAG.fullmatch(text):
            tag = index  # the last one counts: all before it is thinking
        if not (text.startswith(fence) and not text.strip(fence[0])):
            continue
        if not quotes and tag is None:
            return index, None
        found = parse_python("\n".join(lines[start + 1 : index]) + "\n", budget)
        if not isinstance(found, Problem):
            return index, None
        if first_end is None:
            first_end = index
        if "unterminated triple-quoted" not in found.message:
            break
    if tag is not None:
        return len(lines), tag
    return (len(lines) if first_end is None else first_end), None
