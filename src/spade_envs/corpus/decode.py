"""Bytes to documents."""

from __future__ import annotations

import json
from pathlib import Path

from spade_envs.corpus.documents import Document, Place, Unreadable
from spade_envs.corpus.markup import html_text
from spade_envs.types import Json

_TITLE_KEYS = ("title", "name", "headline")
_LICENCE_KEYS = ("licence", "license")


def decode_place(place: Place, raw: bytes) -> Document:
    """Return the document that lies at a place.

    Raises:
        Unreadable: the bytes are not text, or not a row with `text`.
    """
    if place.kind == "jsonl":
        return _row(place, decode_bytes(raw, first=place.start == 0))
    text = decode_bytes(raw, first=place.start == 0)
    title = place.title
    if place.kind == "html":
        title, text = html_text(text, Path(place.source).name)
    return Document(text=text, title=title, source=place.source, offset=place.offset)


def decode_bytes(raw: bytes, *, first: bool) -> str:
    """Return UTF-8 text with LF line ends, without a byte order mark.

    Args:
        raw: whole characters only.
        first: whether a byte order mark may stand at the start.

    Raises:
        Unreadable: not UTF-8 text.
    """
    if first and raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise Unreadable("is UTF-16 text; save it as UTF-8")
    if b"\0" in raw:
        raise Unreadable("is binary, not text")
    try:
        text = raw.decode("utf-8-sig" if first else "utf-8")
    except UnicodeDecodeError as error:
        raise Unreadable(
            f"is not UTF-8 (byte {error.start}: {error.reason}); save it as UTF-8"
        ) from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _row(place: Place, line: str) -> Document:
    try:
        row: Json = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"is not JSON: {error}") from error
    if not isinstance(row, dict) or not isinstance(row.get("text"), str):
        raise Unreadable("is not a JSON object with a string `text`")
    if any("\ud800" <= char <= "\udfff" for char in row["text"]):
        raise Unreadable("holds half a surrogate pair in `text`")
    known = {"text", *_TITLE_KEYS[:1], *_LICENCE_KEYS}
    return Document(
        text=row["text"].replace("\r\n", "\n").replace("\r", "\n"),
        title=_first(row, _TITLE_KEYS) or place.source,
        source=place.source,
        licence=_first(row, _LICENCE_KEYS),
        metadata={key: value for key, value in row.items() if key not in known},
    )


def _first(row: dict[str, Json], keys: tuple[str, ...]) -> str | None:
    values = (row.get(key) for key in keys)
    return next((v.strip()[:200] for v in values if isinstance(v, str) and v.strip()), None)
