"""Mend what is safe to mend in a model's code, and say so.

Each repair applies only to code that does not parse, and none invents program text: they undo
damage that chat formatting does to a program that was meant to be right.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Callable

from spade_envs.design.syntax import Budget, Problem, parse_python

_MAX_ROUNDS = 60
_SMART = str.maketrans({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "‚": "'"})
_INVISIBLE = re.compile("[\ufeff\u200b\u200c\u200d\u2060]")
_SPACES = re.compile("[\u00a0\u2000-\u200a\u202f\u205f\u3000]")
_F_QUOTE = re.compile(r"""(?<![A-Za-z0-9_])(?:[fF][rR]?|[rR][fF])(?:'|")""")
_F_TRIPLE = re.compile(r"""(?<![A-Za-z0-9_])(?:[fF][rR]?|[rR][fF])(?:'''|\"\"\")""")
_GROUP = re.compile(r"(?<!\{)\{([^{}\n]{0,200})\}(?!\})")
_CONVERSION = re.compile(r"(?:![rsa])?(?::[^{}]*)?$")
_CODE_START = re.compile(r"(?:import |from \S+ import |class |def |@|\"\"\"|'''|#)")

Fix = Callable[[str, Problem, Budget], tuple[str, str] | None]


def mend(
    code: str, budget: Budget, *, bare: bool
) -> tuple[str, ast.Module, tuple[str, ...]] | Problem:
    """Return code that parses, its tree, and one sentence per kind of repair; or the first problem.

    Args:
        code: a block's content.
        budget: what may still be parsed.
        bare: True if nothing marks where the code ends, so that prose around it is cut off.
    """
    repairs: list[str] = []
    code = code.strip("\n") + "\n"
    first: Problem | None = None
    for _ in range(_MAX_ROUNDS):
        found = parse_python(code, budget)
        if not isinstance(found, Problem):
            return code, found, tuple(repairs)
        first = first or found
        fixes = (*_FIXES, _cut_prose) if bare else _FIXES
        for fix in fixes:
            mended = fix(code, found, budget)
            if mended is not None and mended[0] != code:
                code = mended[0]
                if mended[1] not in repairs:
                    repairs.append(mended[1])
                break
        else:
            return first
    return first or Problem("gave up after many repairs")


def _dedent(code: str, problem: Problem, budget: Budget) -> tuple[str, str] | None:
    if problem.kind != "IndentationError":
        return None
    return textwrap.dedent(code), "removed the indentation that all lines shared"


def _tabs(code: str, problem: Problem, budget: Budget) -> tuple[str, str] | None:
    if problem.kind not in ("TabError", "IndentationError") or "\t" not in code:
        return None
    for width in (4, 8):
        lines = (_spaced(line, width) for line in code.split("\n"))
        mended = "\n".join(lines)
        if not isinstance(parse_python(mended, budget), Problem):
            return mended, "replaced tabs in the indentation by spaces"
    return None


def _spaced(line: str, width: int) -> str:
    body = line.lstrip(" \t")
    return line[: len(line) - len(body)].expandtabs(width) + body


def _characters(code: str, problem: Problem, budget: Budget) -> tuple[str, str] | None:
    if not problem.message.startswith("invalid") or "character" not in problem.message:
        return None

    def plain(line: str) -> str:
        return _SPACES.sub(" ", _INVISIBLE.sub("", line)).translate(_SMART)

    return _on_line(code, problem.line, plain), "replaced typographic quotes and spaces in code"


def _braces(code: str, problem: Problem, budget: Budget) -> tuple[str, str] | None:
    lines = code.split("\n")
    end = problem.line - 1
    if not 0 <= end < len(lines):
        return None
    plain = _F_QUOTE.search(lines[end]) is not None
    if not plain and "f-string" not in problem.message:
        return None
    # The error may be told of a later line than the string's: the end of the expression around it.
    near = range(end if plain else max(0, end - 80), end + 1)
    triple = next((i for i in reversed(near) if _F_TRIPLE.search(lines[i])), None)
    if triple is not None and not (plain and triple == end):
        changed = _in_triple(lines, triple, end, problem, budget)
    else:
        for number in near:
            if (found := _F_QUOTE.search(lines[number])) is not None:
                head, tail = lines[number][: found.start()], lines[number][found.start() :]
                lines[number] = head + _escape_groups(tail, problem, budget)
        changed = "\n".join(lines)
    if "single '}'" in problem.message and changed == code:
        lines[end] = re.sub(r"(?<!\})\}(?!\})", _lone, lines[end])
        changed = "\n".join(lines)
    return changed, "doubled braces in f-strings that hold no expression"


def _in_triple(lines: list[str], start: int, end: int, problem: Problem, budget: Budget) -> str:
    """Return the code with groups escaped in the triple-quoted f-string that begins on a line."""
    text = "\n".join(lines[start : end + 1])
    opened = _F_TRIPLE.search(text)
    if opened is None:
        return "\n".join(lines)
    closed = text.find(opened[0][-3:], opened.end())
    stop = len(text) if closed < 0 else closed
    inside = [
        _escape_groups(line, problem, budget) for line in text[opened.end() : stop].split("\n")
    ]
    text = text[: opened.end()] + "\n".join(inside) + text[stop:]
    return "\n".join([*lines[:start], text, *lines[end + 1 :]])


def _escape_groups(line: str, problem: Problem, budget: Budget) -> str:
    def escape(match: re.Match[str]) -> str:
        expression = _CONVERSION.sub("", match[1]).strip()
        tree = parse_python(f"({expression})", budget) if expression else problem
        return f"{{{{{match[1]}}}}}" if isinstance(tree, Problem) else match[0]

    return _GROUP.sub(escape, line)


def _lone(match: re.Match[str]) -> str:
    before = match.string[: match.start()]
    return "}}" if before.count("{") <= before.count("}") else "}"


def _cut_prose(code: str, problem: Problem, budget: Budget) -> tuple[str, str] | None:
    lines = code.rstrip("\n").split("\n")
    start = next((i for i, line in enumerate(lines) if _CODE_START.match(line)), 0)
    at = problem.line - 1
    if at < start:
        return "\n".join(lines[start:]) + "\n", "cut off prose before the code"
    class_line = next((i for i, line in enumerate(lines) if line.startswith("class ")), len(lines))
    if not class_line + 1 < at < len(lines) or lines[at][:1].isspace() or problem.cut_off:
        return None
    return "\n".join(lines[:at]).rstrip() + "\n", "cut off prose after the code"


def _on_line(code: str, number: int, change: Callable[[str], str]) -> str:
    lines = code.split("\n")
    if 0 < number <= len(lines):
        lines[number - 1] = change(lines[number - 1])
    return "\n".join(lines)


_FIXES: tuple[Fix, ...] = (_dedent, _tabs, _characters, _braces)
