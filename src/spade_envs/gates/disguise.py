"""The ways in which an answer can be written so that a plain search misses it."""

from __future__ import annotations

import base64
import codecs
import functools
import re
from collections.abc import Mapping

MIN_LETTERS = 3
MOST_CHARS = 4000
MOST_SPELT = 200
MOST_DIGITS = 18
_NAMES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
)
_ONES = tuple(_NAMES.split())
_BASES: Mapping[str, int] = {
    {2: "binary", 8: "octal", 16: "hexadecimal"}.get(base, f"base {base}") + " digits": base
    for base in range(2, 37)
    if base != 10
}
_FIGURES = "0123456789abcdefghijklmnopqrstuvwxyz"
_USUAL_BASES = (2, 8, 16)
_GAP = r"[\W_]{0,3}"
_LIST_GAP = r"[\W_]{0,5}"
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")


def spelt(answer: str) -> str:
    """Return a pattern for an answer; words in a row may be separated in any usual way."""
    words = re.split(r"[\s,;]+", answer.strip(" ,;"))
    gap = r"(?:[\s,;/|>\u2192-]|\b(?:then|and)\b)+"
    return _alone(gap.join(map(re.escape, words)))


@functools.lru_cache(maxsize=1024)
def squeezed(text: str) -> str:
    """Return the letters and digits of `text` alone, without regard to case."""
    if text.isascii():
        return text.lower().translate(_NO_WORD_ASCII)
    return _NO_WORD.sub("", text.casefold())


_NO_WORD = re.compile(r"[\W_]+")
_NO_WORD_ASCII = dict.fromkeys(code for code in range(128) if not chr(code).isalnum())


def spellings(answer: str, inside: str) -> dict[str, str]:
    """Return patterns by name for the spellings of an answer that a text may hold.

    The plain one has an empty name. All are meant for a search that ignores case. Answers of one or
    two characters have few disguises, since a chance match would mean nothing.

    Args:
        answer: what to look for.
        inside: `squeezed` of the text, which rules most spellings out at once.
    """
    found: dict[str, str] = {}
    core = squeezed(answer)
    if not core or len(core) > len(inside):
        return found  # no spelling is shorter than the plain one
    if core in inside:
        found[""] = spelt(answer)
    keys = _keys(answer.strip(), core)
    if any(key in inside for key in keys):
        found |= _disguises(answer, inside)
    return found


@functools.lru_cache(maxsize=256)
def _keys(text: str, core: str) -> tuple[str, ...]:
    """Return what a text must hold, squeezed, if it holds a disguise."""
    if not text or not core or len(text) > MOST_CHARS:
        return ()
    keys = [core[::-1], core] if len(core) >= MIN_LETTERS else []
    keys.append(squeezed(codecs.encode(text, "rot13")))
    raw = text.encode("utf-8", "replace")
    if len(raw) > 1:
        keys += [squeezed(base64.b64encode(raw).decode()), raw.hex()]
        keys.append("".join(map(str, raw)))
        keys.append(_base32(raw))
    text = _unsigned(text)
    if _is_number(text):
        keys.append("".join(number_words(int(text))))
        keys.append("".join(_ONES[int(digit)] for digit in text))
    if _has_digits(text):
        keys += _in_bases(int(text)).values()
        keys += [text.strip("0"), f"{int(text) // 1000}thousand"]
    return tuple(key for key in keys if key)


def _unsigned(text: str) -> str:
    """Return a whole number without its sign, any other text as it is."""
    return text[1:] if text[:1] in ("-", "+") and text[1:].isdecimal() else text


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 6


def _has_digits(text: str) -> bool:
    """Whether a text is a whole number that is long enough for no match to be chance."""
    return text.isascii() and text.isdecimal() and MIN_LETTERS <= len(text) <= MOST_DIGITS


def _in_bases(number: int) -> dict[str, str]:
    """Return how a number is written in bases other than ten, by what that is called.

    The unusual bases only where no match would be chance.
    """
    forms = {name: in_base(number, base) for name, base in _BASES.items()}
    return {
        name: form
        for name, form in forms.items()
        if len(form) >= MIN_LETTERS or _BASES[name] in _USUAL_BASES
    }


def in_base(number: int, base: int) -> str:
    """Return the digits of a whole number from 0 on in a base from 2 to 36."""
    digits = ""
    while number or not digits:
        number, digit = divmod(number, base)
        digits = _FIGURES[digit] + digits
    return digits


def _base32(raw: bytes) -> str:
    return base64.b32encode(raw).decode().rstrip("=").lower()


def _disguises(answer: str, inside: str) -> dict[str, str]:
    text = answer.strip()
    if not text or len(text) > MOST_CHARS:
        return {}
    found: dict[str, str] = {}
    if len(text) >= MIN_LETTERS and text[::-1].casefold() != text.casefold():
        found["backwards"] = _alone(r"\s+".join(map(re.escape, text[::-1].split())))
    letters = _NO_WORD.sub("", text)
    if MIN_LETTERS <= len(letters) <= MOST_SPELT and len(set(letters)) > 1:
        found["letter by letter"] = _alone(r"[\W_]{1,8}".join(letters))
    turned = codecs.encode(text, "rot13")
    if turned != text and sum(c.isalpha() for c in text) >= MIN_LETTERS:
        found["in rot13"] = _alone(re.escape(turned))
    raw = text.encode("utf-8", "replace")
    if len(raw) > 1:
        coded = base64.b64encode(raw).decode().rstrip("=")
        found["in base64"] = rf"(?-i:(?<![\w+/]){re.escape(coded)}(?![\w+/]))"
        found["in base32"] = _alone(f"{_base32(raw)}=*")
        found["in hexadecimal"] = _alone(r"(?:0x)?" + r"[\s:]?".join(f"{b:02x}" for b in raw))
        found["as character codes"] = _alone(r"[\s,;-]+".join(map(str, raw)))
    text = _unsigned(text)
    if _is_number(text):
        if len(text) >= MIN_LETTERS:
            digits = r"[\W_]+".join(_ONES[int(digit)] for digit in text)
            found["digit by digit in words"] = _alone(digits)
        found["in words"] = _alone(r"(?:[\s-]|\band\b)*".join(number_words(int(text))))
    return found | _numerals(text, inside) if _has_digits(text) else found


def _numerals(text: str, inside: str) -> dict[str, str]:
    """Return patterns for a whole number in other figures than the plain ones."""
    number = int(text)
    found = {
        f"in {name}": _alone(f"(?:0[box])?{_GAP}(?:0{_GAP})*{_GAP.join(form)}")
        for name, form in _in_bases(number).items()
        if form in inside
    }
    found["with leading zeros"] = _alone(f"0+{text}")
    apart = r"[\W_]+".join(text)  # which is letter by letter
    found["in groups of digits"] = _alone(
        rf"(?!0*{text}(?!\w))(?!{apart}(?!\w))0*{_GAP.join(text)}"
    )
    found["in scientific notation"] = _alone(_scientific(text))
    if number >= 1000:
        rest = rf"[\s,]*(?:and\s+)?0*{number % 1000}" if number % 1000 else ""
        found["in thousands"] = _alone(rf"{number // 1000}[\s-]*thousands?{rest}")
    return found


def _scientific(text: str) -> str:
    """Return a pattern for a whole number as a smaller one times a power of ten."""
    times = r"(?:e|\s?[x*\u00b7\u00d7]\s?10\s?(?:\^|\*\*)?\s?)"
    ways = []
    for size in range(1, len(text)):
        tail = text[size:].rstrip("0")
        point = rf"\.{tail}0*" if tail else r"(?:\.0*)?"
        ways.append(rf"{text[:size]}{point}{times}\+?0*{len(text) - size}")
    return "|".join(ways)


def shows(text: str, answer: str, how: str) -> bool:
    """Whether a text holds an answer in such a disguise, however its letters are grouped there.

    For what a task shows anyway: bits with gaps, or as a part of a longer number.
    """
    core = _unsigned(answer.strip())
    forms = _in_bases(int(core)) if _has_digits(core) else {}
    pattern = _disguises(answer, squeezed(text)).get(how, "")
    if how.removeprefix("in ") in forms:
        pattern = _LIST_GAP.join(forms[how.removeprefix("in ")])
    return bool(pattern) and re.search(pattern, text, re.IGNORECASE) is not None


def number_words(number: int) -> list[str]:
    """Return an integer in [0, 999999] in English words."""
    if number < 20:
        return [_ONES[number]]
    if number < 100:
        rest = [_ONES[number % 10]] if number % 10 else []
        return [_TENS[number // 10 - 2], *rest]
    size, name = (1000, "thousand") if number >= 1000 else (100, "hundred")
    rest = number_words(number % size) if number % size else []
    return [*number_words(number // size), name, *rest]


def _alone(pattern: str) -> str:
    return rf"(?<!\w)(?:{pattern})(?!\w)"
