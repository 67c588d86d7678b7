"""Near misses: texts that are almost an answer, by the kind of carelessness that accepts them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from spade_envs.gates.slots import Case, Slot, items_of

Miss = tuple[str, str, str]
"""Family, kind and text."""

NUMBER, START, PART, EXTRA, LETTERS, ORDER, FEWER, MORE = (
    "number",
    "start",
    "part",
    "extra",
    "letters",
    "order",
    "fewer",
    "more",
)
FAMILIES = {
    NUMBER: "compare numbers exactly, or say in the prompt how near is near enough",
    START: "compare the whole answer, not its first or last characters",
    PART: "refuse an answer that is cut short",
    EXTRA: "compare the whole answer, not whether it occurs in what was said",
    LETTERS: "compare the characters in their order",
    ORDER: "compare the items in their order, or say in the prompt that any order will do",
    FEWER: "refuse a list that lacks items",
    MORE: "refuse a list that holds more items than asked for",
}
"""How to mend what accepts a family of near misses."""

OFFSETS = (1, -1, 2, -2, 3, -3, 10, -10)
"""Differences whose acceptance tells a slack verifier from a task with many answers."""
PER_CENT = (2, 5)
SHARES = (2, 5, 10, 20, 50)
LEAST_SHARED = 50
"""Least number whose shares of 2 % are worth a try."""
_INTEGER = re.compile(r"[+-]?\d{1,15}")
_DECIMAL = re.compile(r"[+-]?\d{1,15}\.\d+")
_LAST_NUMBER = re.compile(r"(?:^|[\s,;:=(\[\"'])[+-]?\d+(?:\.\d+)?$")
_ENDINGS = ".!?%\u00b0\u20ac$)]}\"' \t\n"
MANY = 4


def near_misses(slot: Slot, case: Case) -> Iterator[Miss]:
    """Yield near misses of a case's answer, written without what stands around it."""
    answer, other = case.answer, slot.other(case) or ""
    if not answer.strip():  # such as no moves at all, where nothing is to be done
        return
    separator, items = items_of(answer)
    seen = {answer.casefold()}
    for family, kind, text in (
        *_numbers(answer),
        *_characters(slot, answer),
        *(_lists(slot, case, separator, items, other) if len(items) > 1 else ()),
    ):
        if text.casefold() not in seen and text.strip():
            seen.add(text.casefold())
            yield family, kind, text


def _numbers(answer: str) -> Iterator[Miss]:
    if _INTEGER.fullmatch(answer):
        value = int(answer)
        for offset in OFFSETS[:2]:
            yield NUMBER, f"{offset:+d}", str(value + offset)
        for share in PER_CENT:
            step = abs(value) * share // 100
            if step >= 2:
                yield NUMBER, f"+{share} %", str(value + step)
                yield NUMBER, f"-{share} %", str(value - step)
        yield NUMBER, "the sign changed", str(-value)
    elif _DECIMAL.fullmatch(answer):
        digits = len(answer.partition(".")[2])
        for share in PER_CENT:
            for sign in (1, -1):
                text = f"{float(answer) * (1 + sign * share / 100):.{digits}f}"
                yield NUMBER, f"{sign * share:+d} %", text


def offsets_of(answer: str) -> dict[int, str]:
    """Return neighbouring numbers by their difference from an answer that is a whole number."""
    if not _INTEGER.fullmatch(answer):
        return {}
    return {offset: str(int(answer) + offset) for offset in OFFSETS}


def shares_of(answer: str) -> dict[int, str]:
    """Return numbers by their difference in per cent from a whole number that is not small."""
    if not _INTEGER.fullmatch(answer) or abs(int(answer)) < LEAST_SHARED:
        return {}
    value = int(answer)
    return {
        sign * share: str(value + sign * (abs(value) * share // 100))
        for share in SHARES
        for sign in (1, -1)
    }


def _characters(slot: Slot, answer: str) -> Iterator[Miss]:
    alphabet = sorted({char for case in slot.cases for char in case.answer if char.isalnum()})
    size = len(answer)
    # Changing the last digits of a number gives a near number, which is another question.
    is_number = _LAST_NUMBER.search(answer.rstrip(_ENDINGS)) is not None
    if size >= 2 and not is_number:
        yield START, "its last character changed", answer[:-1] + _altered(answer[-1], alphabet)
    if size >= 2:
        yield START, "its first character changed", _altered(answer[0], alphabet) + answer[1:]
    for kept, name in ((1, "first character"), (2, "first two characters")):
        if size > kept + 1 and not is_number:
            rest = "".join(_altered(char, alphabet) for char in answer[kept:])
            yield START, f"only its {name} right", answer[:kept] + rest
    core = answer.rstrip(_ENDINGS)  # a unit's sign or a full stop may be left out
    if len(core) >= 3 and not _DECIMAL.fullmatch(core):
        yield PART, "its last character left out", core[:-1]
        yield PART, "its second half left out", core[: (len(core) + 1) // 2]
    filler = answer[-1] if answer[-1].isalnum() else "x"
    more = "7" if is_number else _altered(filler, alphabet)  # a leading zero would change nothing
    if not slot.is_spelt_plan and not _DECIMAL.fullmatch(answer):
        # Moves after the last one that counts may be ignored, and so may further decimals.
        yield EXTRA, "characters added after it", f"{answer}{more}{filler}"
    yield EXTRA, "characters added before it", f"{more}{answer}"
    yield from _letters(slot, answer)


def _letters(slot: Slot, answer: str) -> Iterator[Miss]:
    if answer.isalpha() and len(answer) >= 3 and not slot.is_spelt_plan:
        yield LETTERS, "its letters reversed", answer[::-1]
        yield LETTERS, "its letters sorted", "".join(sorted(answer))
        yield LETTERS, "two neighbouring letters swapped", _swapped(answer)
    elif answer.isdecimal() and len(answer) >= 3:  # two swapped digits may be a near number
        yield LETTERS, "its digits reversed", answer[::-1]
        yield LETTERS, "its digits sorted", "".join(sorted(answer))
    else:
        separator, items = items_of(answer)
        words = all(item.isalpha() and len(item) >= 3 for item in items)
        numbers = all(item.isdecimal() for item in items)
        if len(items) > 1 and (words or numbers):
            turned = [item[::-1] for item in items]
            yield LETTERS, "the characters of its items reversed", separator.join(turned)
        arrow = "->" if "->" in answer else ">"
        if len(items) > 1 and all(item.count(arrow) == 1 for item in items):
            turned = [arrow.join(item.split(arrow)[::-1]) for item in items]
            yield LETTERS, "its arrows turned around", separator.join(turned)


def _swapped(answer: str) -> str:
    for place in range(len(answer) - 1, 0, -1):
        if answer[place] != answer[place - 1]:
            pair = answer[place] + answer[place - 1]
            return answer[: place - 1] + pair + answer[place + 1 :]
    return answer


def _altered(char: str, alphabet: Sequence[str]) -> str:
    """Return another character of the same kind, from the answers' own ones if possible."""
    if char.isdigit():
        return str((int(char) + 5) % 10) if char.isascii() else "5"
    if not char.isalnum():
        return char
    like = [one for one in alphabet if one.isalpha() and one.isupper() == char.isupper()]
    others = [one for one in like if one.casefold() != char.casefold()] or (
        ["Q", "q"] if char in "kK" else ["K", "k"]
    )
    return others[ord(char) % len(others)]


def _lists(slot: Slot, case: Case, separator: str, items: list[str], other: str) -> Iterator[Miss]:
    if slot.is_spelt_plan:
        return
    join = separator.join
    known = {item for one in slot.cases for item in items_of(one.answer)[1]}
    strange = sorted(known - set(items))
    if not separator.strip() and "\n" not in separator and len(items) < 3:
        return  # words, or a number with its unit
    yield FEWER, "its last item left out", join(items[:-1])
    if len(items) > 2:
        yield FEWER, "only its first item", items[0]
    for count, name in ((1, "one item"), (MANY, f"{MANY} items")):
        if len(strange) >= count:
            yield MORE, f"{name} too many", join([*items, *strange[:count]])
    if strange:
        yield START, "its last item changed", join([*items[:-1], strange[0]])
        yield START, "its first item changed", join([strange[-1], *items[1:]])
    if len(items) > 2 and all(any(map(str.isalnum, item)) for item in items):
        # An expression, or a pair, may well be written the other way round.
        yield ORDER, "its items reversed", join(items[::-1])
        yield ORDER, "its items rotated", join([*items[1:], items[0]])
        yield ORDER, "its last two items swapped", join([*items[:-2], items[-1], items[-2]])
