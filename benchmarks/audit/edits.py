"""What can be done to a right answer so that it is right no more, by the gates' names for it."""

from __future__ import annotations

import re
from collections.abc import Callable

Edit = Callable[[str, str], str | None]
"""From an answer and another question's answer to a text, or None if it cannot be done."""

_SEPARATORS = ("\n", ", ", ",", " → ", " -> ", "; ", " ")


def _items(answer: str) -> tuple[str, list[str]]:
    for separator in _SEPARATORS:
        if separator in answer:
            return separator, answer.split(separator)
    return "", [answer]


def _shift(step: Callable[[float], float]) -> Edit:
    def edit(answer: str, other: str) -> str | None:
        if re.fullmatch(r"[+-]?\d+", answer):
            return str(round(step(int(answer))))
        if re.fullmatch(r"[+-]?\d+\.\d+", answer):
            digits = len(answer.partition(".")[2])
            return f"{step(float(answer)):.{digits}f}"
        return None

    return edit


def _other_letter(char: str) -> str:
    if char.isdigit():
        return str((int(char) + 5) % 10)
    return "q" if char.lower() != "q" else "k"


def _last_changed(answer: str, other: str) -> str | None:
    return answer[:-1] + _other_letter(answer[-1]) if answer[-1:].isalnum() else None


def _first_changed(answer: str, other: str) -> str | None:
    return _other_letter(answer[0]) + answer[1:] if answer[:1].isalnum() else None


def _without_last_item(answer: str, other: str) -> str | None:
    separator, found = _items(answer)
    return separator.join(found[:-1]) if len(found) > 1 else None


def _one_item_more(answer: str, other: str) -> str | None:
    separator, found = _items(answer)
    return f"{answer}{separator}{_items(other)[1][0]}" if len(found) > 1 else None


def _reversed_items(answer: str, other: str) -> str | None:
    separator, found = _items(answer)
    return separator.join(found[::-1]) if len(found) > 2 else None


EDITS: dict[str, Edit] = {
    "+1": _shift(lambda value: value + 1),
    "-1": _shift(lambda value: value - 1),
    "+5 %": _shift(lambda value: value * 1.05),
    "-5 %": _shift(lambda value: value * 0.95),
    "the sign changed": _shift(lambda value: -value),
    "its last character changed": _last_changed,
    "its first character changed": _first_changed,
    "its last character left out": lambda answer, other: answer.rstrip(".!?%°$ ")[:-1] or None,
    "its second half left out": lambda answer, other: answer[: (len(answer) + 1) // 2],
    "characters added after it": lambda answer, other: answer + "7x",
    "characters added before it": lambda answer, other: "7" + answer,
    "its letters reversed": lambda answer, other: answer[::-1],
    "its letters sorted": lambda answer, other: "".join(sorted(answer)),
    "its last item left out": _without_last_item,
    "only its first item": lambda answer, other: _items(answer)[1][0],
    "one item too many": _one_item_more,
    "its items reversed": _reversed_items,
    "denied with 'not'": lambda answer, other: f"not {answer}",
    "with '(this is wrong)' after it": lambda answer, other: f"{answer} (this is wrong)",
    "named in prose": lambda answer, other: f"It may be {other} or {answer}, I cannot tell.",
    "among others in one answer": lambda answer, other: f"{other}, {answer}, {other}",
    "taken back in favour of another one": lambda answer, other: f"{answer} no, {other}",
}


def asked(detail: str) -> Edit | None:
    """Return the first known edit of several that are joined by `or`."""
    return next((EDITS[part] for part in detail.split(" or ") if part in EDITS), None)
