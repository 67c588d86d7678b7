"""What a corpus is made of: documents, and the places on disk that they can be read from again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from spade_envs.types import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One text to cut into passages."""

    text: str
    """Line ends are LF."""
    title: str
    source: str
    """Relative path, path and line of a JSONL row, or topic."""
    offset: int = 0
    """Where `text` starts in the document, in characters; above 0 only in parts of huge files."""
    licence: str | None = None
    """SPDX identifier if the document itself names one."""
    metadata: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A run of bytes in a file that decodes to one document."""

    path: Path
    kind: Literal["text", "html", "jsonl"]
    source: str
    start: int
    """First byte, counted in the uncompressed file."""
    length: int
    """Bytes."""
    offset: int = 0
    title: str = ""


class Unreadable(Exception):
    """A file or row that cannot be used; the message says why and how to mend it."""
