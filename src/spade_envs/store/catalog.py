"""`CATALOG.md`: the derived table of a store, for people who browse it."""

from __future__ import annotations

import re
from pathlib import Path

from spade_envs.store.index import IndexLine, order_of
from spade_envs.store.insertion import insert
from spade_envs.store.layout import CATALOG

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>()#|!~])")
_HEAD = """# Environments

Derived from the manifests by `spade-envs reindex`; edits here are lost.

| id | what it is | skills | levels | turns | licence |
|---|---|---|---|---|---|
"""


def render(lines: list[IndexLine]) -> bytes:
    """Return the catalogue of these versions."""
    return f"{_HEAD}{''.join(_row(line) for line in lines)}".encode("utf-8", "replace")


def insert_row(root: Path, line: IndexLine) -> bool:
    """Put one more version into the catalogue; False if that must be made anew.

    Raises:
        StorageError: the disk failed.
    """
    row = _row(line).encode("utf-8", "replace")
    return insert(root, CATALOG, row, _order, at=len(_HEAD.encode()))


def _order(row: bytes) -> tuple[str, int]:
    return order_of(row.decode().removeprefix("| `").partition("`")[0])


def _row(line: IndexLine) -> str:
    what = escape(line.summary or line.title)
    if line.withdrawn is not None:
        what = f"withdrawn: {escape(line.withdrawn)}"
    skills = escape(", ".join(line.skills))
    cells = (f"`{line.id}`", what, skills, line.levels, line.max_turns, escape(line.licence))
    return f"| {' | '.join(str(cell) for cell in cells)} |\n"


def escape(text: str) -> str:
    """Return `text` on one line, without what cannot be seen, and with Markdown's marks escaped."""
    line = "".join(char for char in " ".join(text.split()) if char.isprintable())
    return _MARKDOWN.sub(r"\\\1", line)
