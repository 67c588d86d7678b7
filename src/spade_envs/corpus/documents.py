"""What a corpus is made of: documents, and the places on disk that they can be read from again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from spade_envs.types import Json

Kind: TypeAlias = Literal["text", "html", "jsonl", "parquet", "hub", "held"]
"""How a document is read: from a file of this kind, from a Hugging Face dataset, or from memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One text to cut into passages."""

    text: str
    """Line ends are LF."""
    title: str
    source: str
    """Relative path, path and number of a row, or topic."""
    offset: int = 0
    """Where `text` starts in the document, in characters; above 0 only in parts of huge files."""
    licence: str | None = None
    """SPDX identifier if the document itself names one."""
    metadata: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where one document lies."""

    path: Path
    kind: Kind
    source: str
    start: int
    """First byte, counted in the uncompressed file; of a Parquet file, the row group; else the
    number of the row, from 0."""
    length: int
    """Bytes; of a Parquet file, the number of the row in its group, from 0."""
    offset: int = 0
    """Of a part of a huge text: where it starts, in characters."""
    number: int = 0
    """Of a row: its number in the file, from 1."""
    title: str = ""
    text_key: str | None = None
    """Key or column of a row's text; None for `text` or else `orig_doc`."""


class Unreadable(Exception):
    """A file or row that cannot be used; the message says why and how to mend it.

    Attributes:
        reason: what it is counted under, such as `not JSON`.
    """

    def __init__(self, message: str, reason: str = "unreadable") -> None:
        super().__init__(message, reason)
        self.reason = reason

    def __str__(self) -> str:
        return str(self.args[0])
