"""What a path that a stranger offers may be; names only, no file is opened."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from spade_envs.errors import IdError
from spade_envs.ids import EnvId, check_name
from spade_envs.store.layout import (
    CARD,
    CATALOG,
    ENVS,
    INDEX,
    MANIFEST,
    MARKER,
    REJECTED,
    REPORT,
    SIGNATURE,
    SOURCE,
    TOMBSTONE,
)

VERSION_FILES = frozenset({MANIFEST, SOURCE, REPORT, TOMBSTONE, CARD, SIGNATURE})
TOP_FILES = frozenset({MARKER, INDEX, CATALOG, "README.md", ".gitattributes", ".gitignore"})
LEFT_ALONE = {
    ".cache": "caches and indexes of another machine are never taken; they are made anew here",
    ".staging": "half-written things of another machine are never taken",
    "lost+found": "what a check of the file system found is no part of a store",
    ".git": "a repository's own files are no part of a store",
    REJECTED: "refused designs are not shared",
    "quarantine": "what another machine refused is not shared",
}
MAX_PATH_CHARS = 240
_VERSION = re.compile(r"v(0|[1-9][0-9]{0,8})")
_DRIVE = re.compile(r"[A-Za-z]:")
_LEDGER = re.compile(r"[a-z0-9][a-z0-9_.-]{0,120}\.jsonl")


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a store a path lies."""

    env_id: EnvId | None
    """The version; None for files of the store as a whole."""
    file: str
    """Name in the version's folder, or the path in the store."""
    left_alone: str = ""
    """Why it is passed over without being a fault."""


def place_of(path: str) -> Place | str:
    """Return where a path of a store lies, or what is wrong with it, as a sentence's end."""
    if flaw := _flaw(path):
        return flaw
    parts = path.split("/")
    if parts[0] in LEFT_ALONE:
        return Place(None, path, LEFT_ALONE[parts[0]])
    if len(parts) == 1 and path in TOP_FILES:
        return Place(None, path)
    if parts[0] == "ledger" and len(parts) == 2 and _LEDGER.fullmatch(parts[1]):
        return Place(None, path)
    if parts[0] != ENVS:
        return _stranger(parts[0], (*TOP_FILES, *LEFT_ALONE, ENVS, "ledger"), "an envstore")
    if len(parts) != 4:
        return "is no file of a version (envs/<name>/v<N>/<file>)"
    return _in_version(*parts[1:])


def _in_version(name: str, version: str, file: str) -> Place | str:
    if name != name.lower():
        return f"names {name!r}, but there are no upper-case names"
    try:
        check_name(name)
    except IdError as error:
        return f"has a name that no environment may have: {error}"
    number = _VERSION.fullmatch(version)
    if number is None:
        return f"has {version[:40]!r} for a version; write v0, v1 and so on"
    if file not in VERSION_FILES:
        return _stranger(file, VERSION_FILES, "the folder of a version")
    return Place(EnvId(name, int(number[1])), file)


def _stranger(part: str, known: tuple[str, ...] | frozenset[str], where: str) -> str:
    near = next((item for item in known if item.casefold() == part.casefold()), "")
    if near and near != part:
        return f"holds {part!r}, which differs from {near!r} in case alone"
    return f"holds {part[:80]!r}, which does not belong into {where}"


def _flaw(path: str) -> str:
    """Return what is wrong with a path whatever it names; empty if nothing is."""
    if not path or len(path) > MAX_PATH_CHARS:
        return f"is empty or longer than {MAX_PATH_CHARS} characters"
    for char in path:
        if not (char.isascii() and char.isprintable()):
            name = unicodedata.name(char, "a character without a name")
            return f"holds U+{ord(char):04X} ({name}); paths of a store are plain ASCII"
    if "\\" in path or path.startswith(("/", "~")) or _DRIVE.match(path):
        return "is not relative to the store, or has a backslash"
    parts = path.split("/")
    if any(part in ("", ".", "..") for part in parts):
        return "leads out of its folder: a part is empty, '.' or '..'"
    if any(part != part.strip(" ") or part.endswith(".") or ":" in part for part in parts):
        return "holds a part that some file systems change: a colon, or a space or dot at an end"
    return ""
