"""Strategy hints: how to go about an environment, written by a model that read its source.

They lie beside the environments in `ledger/hints-<ending>.jsonl`, append-only, so that writing one
changes no environment and no digest. Only hints that passed the gates on hints are kept.
"""

from __future__ import annotations

import hashlib
import os
import re
import uuid
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from spade_envs.errors import ConfigError, Corrupt
from spade_envs.store.files import make_folders, open_folder, publish_file, read_file
from spade_envs.store.plays import LEDGER

MAX_CHARS = 4000
GATES = ("L4.1", "L4.2", "L4.3")
"""Gates that a strategy hint has to pass."""
_FILE = re.compile(r"hints-[a-z0-9-]+\.jsonl")
_MAX_BYTES = 64 << 20

Text = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_CHARS)]
Short = Annotated[str, msgspec.Meta(max_length=300)]


class Strategy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A hint for every instance of one environment."""

    digest: Annotated[str, msgspec.Meta(pattern=r"^sha256:[0-9a-f]{64}$")]
    """Of the environment."""
    text: Text
    model: Short
    """Who wrote it."""
    prompt: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{12}$")]
    """First digits of the sha256 of the prompt's template."""
    gates_version: Short
    verdicts: dict[Short, Literal["pass", "warn"]]
    """What the gates said, by their id; a failure is not kept."""
    written_at: Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")]
    """UTC."""

    @property
    def hint(self) -> str:
        """What the ledger of plays calls it: `strategy:` and the first digits of its sha256."""
        return f"strategy:{hashlib.sha256(self.text.encode()).hexdigest()[:12]}"

    @property
    def sound(self) -> bool:
        """Whether it passed every gate that it has to."""
        return set(GATES) <= set(self.verdicts) and bool(self.text.strip())


def add(root: Path, strategy: Strategy) -> Path:
    """Keep a strategy hint; it is on disk when this returns. Returns its file.

    Raises:
        ConfigError: it did not pass its gates, or a field is out of range.
        Corrupt: the ledger's folder is a link.
        StorageError: the disk failed; nothing is kept.
    """
    data = msgspec.json.encode(strategy, order="sorted")
    if _decoded(data) is None:
        raise ConfigError(f"this strategy hint did not pass its gates or is too long: {strategy}")
    path = make_folders(root, LEDGER) / f"hints-{uuid.uuid4().hex[:12]}.jsonl"
    publish_file(root, path, data + b"\n")
    return path


def strategies(root: Path) -> list[Strategy]:
    """Return all strategy hints of a store, the oldest first; unsound lines are passed over."""
    found: dict[tuple[str, str], Strategy] = {}
    for name in _names(root):
        try:
            data = read_file(root, f"{LEDGER}/{name}", max_bytes=_MAX_BYTES)
        except (FileNotFoundError, Corrupt):
            continue
        for raw in data[: data.rfind(b"\n") + 1].splitlines():
            strategy = _decoded(raw)
            if strategy is not None:
                key = strategy.digest, strategy.hint
                known = found.get(key)
                if known is None or strategy.written_at < known.written_at:
                    found[key] = strategy
    return sorted(found.values(), key=lambda each: (each.written_at, each.hint))


def newest(root: Path, digest: str) -> Strategy | None:
    """Return the strategy hint of an environment that was written last; None without one."""
    mine = [each for each in strategies(root) if each.digest == digest]
    return mine[-1] if mine else None


def _names(root: Path) -> list[str]:
    try:
        with open_folder(root, LEDGER) as handle, os.scandir(handle) as entries:
            return sorted(
                entry.name
                for entry in entries
                if _FILE.fullmatch(entry.name) and entry.is_file(follow_symlinks=False)
            )
    except (FileNotFoundError, Corrupt):
        return []


def _decoded(raw: bytes) -> Strategy | None:
    try:
        strategy = msgspec.json.decode(raw, type=Strategy)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return strategy if strategy.sound else None
