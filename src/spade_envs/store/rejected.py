"""Reading the designs that a store refused. They are looked at, never run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from spade_envs.errors import Corrupt
from spade_envs.manifest.canonical import decode_report, parse_json
from spade_envs.store.files import read_file
from spade_envs.store.layout import MAX_MANIFEST_BYTES, MAX_REPORT_BYTES, REJECTED, REPORT, SOURCE
from spade_envs.store.read import clean_line

NOTE = "rejection.json"
_GATE = re.compile(r"(L\d+\.\d+): ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """One refused design, as kept in a store."""

    key: str
    """Name of its folder under `rejected/`."""
    stage: str
    """`client`, `parse`, `gates` or `novelty`."""
    gate: str | None
    """The gate to name first (`Report.gravest`), if gates refused it."""
    reason: str
    attempt: int
    """Number of the attempt in its run, from 0."""
    entry: str | None
    """Name of its class, if it could be loaded."""
    source: Path | None
    """Its code, if there was any."""


def read_rejected(root: Path) -> list[Refused]:
    """Return the refused designs of the store at `root`, by attempt; unreadable notes say so."""
    folder = root / REJECTED
    if folder.is_symlink() or not folder.is_dir():
        return []
    found = [_read(root, path.name) for path in folder.iterdir() if path.is_dir()]
    return sorted(found, key=lambda item: (item.attempt, item.key))


def _read(root: Path, key: str) -> Refused:
    path = f"{REJECTED}/{key}"
    stage, reason, attempt = "unknown", "its note cannot be read", 0
    try:
        note = parse_json(read_file(root, f"{path}/{NOTE}", max_bytes=MAX_MANIFEST_BYTES), path)
        stage, reason = clean_line(str(note["stage"]), 20), clean_line(str(note["reason"]), 600)
        attempt = int(note["attempt"])
    except (Corrupt, OSError, KeyError, TypeError, ValueError):
        pass
    gate, entry = _from_report(root, f"{path}/{REPORT}")
    named = _GATE.match(reason)
    source = root / path / SOURCE
    return Refused(
        key=key,
        stage=stage,
        gate=gate or (named[1] if named else None),
        reason=reason,
        attempt=attempt,
        entry=entry,
        source=source if source.is_file() else None,
    )


def _from_report(root: Path, path: str) -> tuple[str | None, str | None]:
    """Return the gate of the gravest failure and the name of the class."""
    try:
        report = decode_report(read_file(root, path, max_bytes=MAX_REPORT_BYTES), path)
    except (Corrupt, OSError):
        return None, None
    gate = report.gravest.gate if report.gravest is not None else None
    return gate, report.interface.entry if report.interface is not None else None
