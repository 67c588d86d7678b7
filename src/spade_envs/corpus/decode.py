"""Bytes and rows to documents."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from spade_envs.corpus.documents import Document, Place, Unreadable
from spade_envs.corpus.markup import html_text
from spade_envs.types import Json

WHOLE_BYTES = 16 << 20
"""Largest HTML page and largest row."""

TEXT_KEYS = ("text", "orig_doc")
_TITLE_KEYS = ("title", "name", "headline")
_LICENCE_KEYS = ("licence", "license")


def decode_place(place: Place, raw: bytes) -> Document:
    """Return the document that lies at a place in a file of text, HTML or JSONL.

    Raises:
        Unreadable: the bytes are not text, or not a row with a text.
    """
    text = decode_bytes(raw, first=place.start == 0)
    if place.kind == "jsonl":
        return _row(place, text)
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
        raise Unreadable("is UTF-16 text; save it as UTF-8", "not UTF-8")
    if b"\0" in raw:
        raise Unreadable("is binary, not text", "binary")
    try:
        text = raw.decode("utf-8-sig" if first else "utf-8")
    except UnicodeDecodeError as error:
        why = f"is not UTF-8 (byte {error.start}: {error.reason}); save it as UTF-8"
        raise Unreadable(why, "not UTF-8") from error
    return _with_lf(text)


def row_document(place: Place, row: Mapping[str, Json]) -> Document:
    """Return the document that a row holds; its other keys become metadata.

    Raises:
        Unreadable: there is no text in it, or one that is too long or broken.
    """
    keys = TEXT_KEYS if place.text_key is None else (place.text_key,)
    key = next((key for key in keys if isinstance(row.get(key), str)), None)
    text = None if key is None else row[key]
    if not isinstance(text, str):
        names = " or ".join(f"`{key}`" for key in keys)
        raise Unreadable(f"has no text named {names}", "no text")
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        why = f"holds half a surrogate pair in `{key}`"
        raise Unreadable(why, "half a character") from error
    if size > WHOLE_BYTES:
        raise Unreadable(f"is longer than {WHOLE_BYTES >> 20} MiB", "too large")
    known = {key, *_TITLE_KEYS[:1], *_LICENCE_KEYS}
    return Document(
        text=_with_lf(text),
        title=_first(row, _TITLE_KEYS) or place.source,
        source=place.source,
        licence=_first(row, _LICENCE_KEYS),
        metadata={name: value for name, value in row.items() if name not in known},
    )


def _row(place: Place, line: str) -> Document:
    try:
        row: Json = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"is not JSON: {error}", "not JSON") from error
    return row_document(place, row if isinstance(row, dict) else {})


def _with_lf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _first(row: Mapping[str, Json], keys: tuple[str, ...]) -> str | None:
    values = (row.get(key) for key in keys)
    found = next((v.strip()[:200] for v in values if isinstance(v, str) and v.strip()), None)
    return None if found is None else found.encode("utf-8", "replace").decode()
