"""Where refused things are kept for study, as mere data under other names; nothing reads them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from spade_envs.manifest.canonical import canonical_json, stamp
from spade_envs.store.files import publish_folder
from spade_envs.store.layout import QUARANTINE
from spade_envs.store.read import clean_line
from spade_envs.trust.incoming import Refused

NOTE = "refused.json"
MOST_BYTES = 2 << 20
"""Kept of one file; the rest is cut off, and the note says so."""
MOST_FILES = 16
MOST_FOLDERS = 200
"""A remote with a thousand bad versions does not fill the disk: what comes later is not kept."""


def quarantine(root: Path, refused: Refused, files: Mapping[str, bytes]) -> Path | None:
    """Keep what was refused under `quarantine/` of a store, and return its folder.

    No file keeps its name: `0.data`, `1.data` and so on, so that nothing can import, load or run
    them by mistake; `refused.json` says what they were called and why they were refused.

    Args:
        root: the store; the only place that is written to.
        refused: what was refused, and why.
        files: what was fetched of it, by any name.

    Returns:
        The folder, or None if there are too many already.

    Raises:
        OSError: the store cannot be written to.
    """
    folder = root / QUARANTINE
    kept = dict(sorted(files.items())[:MOST_FILES])
    note = {
        "where": clean_line(_storable(refused.where)),
        "reason": clean_line(_storable(refused.reason), 1000),
        "mend": clean_line(_storable(refused.mend)),
        "files": [
            {
                "kept_as": f"{number}.data",
                "name": clean_line(_storable(name)),
                "sha256": stamp(data).sha256,
                "size": len(data),
                "cut": len(data) > MOST_BYTES,
            }
            for number, (name, data) in enumerate(kept.items())
        ],
        "left_out": len(files) - len(kept),
    }
    text = canonical_json(note)
    target = folder / stamp(text).sha256[:12]
    if not os.path.lexists(target) and _count(folder) >= MOST_FOLDERS:
        return None
    held = {f"{number}.data": data[:MOST_BYTES] for number, data in enumerate(kept.values())}
    publish_folder(root, target, {**held, NOTE: text})
    return target


def _count(folder: Path) -> int:
    if folder.is_symlink() or not folder.is_dir():
        return 0
    return len(os.listdir(folder))


def _storable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
