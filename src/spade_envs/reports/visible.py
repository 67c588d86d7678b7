"""Foreign text made harmless to look at: what is invisible or acts on its surroundings is shown."""

from __future__ import annotations

import re

HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
"""Control, direction, zero-width and tag characters and lone surrogates; not tab and newline."""


def clean(text: str) -> str:
    """Return `text` with hidden and acting characters shown as escapes, not acted upon."""
    return HIDDEN.sub(lambda found: escaped(found[0]), text)


def escaped(char: str) -> str:
    """Return a character as Python would write it, a backslash and its number."""
    return char.encode("unicode_escape").decode("ascii")
