"""Bring a store of an older format to the one of this release.

Nothing is changed in place. A new store is built beside the old one, version by version, and takes
its place in one step when it is whole and every version in it reads; the old one stays beside it
under a name that tells its format. A migration that was killed is taken up by the next one.

A later format adds one `Step` to `STEPS`: a pure function of one version's files. There are none
yet, since format 1 is the first.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from spade_envs._version import __version__
from spade_envs.errors import Corrupt, FormatTooNew, NotFound, StoreError
from spade_envs.ids import NAMESPACE, EnvId
from spade_envs.manifest.canonical import FORMAT, canonical_json, parse_json
from spade_envs.store import files, layout
from spade_envs.store.envstore import open_store
from spade_envs.store.exchange import exchange
from spade_envs.store.plays import LEDGER
from spade_envs.store.read import check_report, read_source, read_version

Files: TypeAlias = Mapping[str, bytes]
"""One version's folder: file names and contents."""
Step: TypeAlias = Callable[[Files], Files]
"""From one format to the next: the files of a version as they are from then on.

Must be pure. Raises `Corrupt` for files that are not of its format.
"""

STEPS: Mapping[int, Step] = MappingProxyType({})
"""By the format that a step starts from."""

_DERIVED = frozenset(
    {layout.MARKER, layout.ENVS, layout.INDEX, layout.CATALOG, files.STAGING, ".cache"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Migrated:
    """What a migration did."""

    root: Path
    before: int
    """Format that the store had."""
    after: int
    versions: int
    """How many are in the store now; 0 where there was nothing to do."""
    kept: Path | None = None
    """Where the store of the old format is; None where there was nothing to do."""
    left: tuple[tuple[str, str], ...] = ()
    """Versions that could not be read, with why: they are in `kept` and nowhere else."""


def format_of(root: Path) -> int:
    """Return the number of a store's format, whatever it is.

    Raises:
        NotFound: there is no store.
        Corrupt: its marker is unreadable.
    """
    where = str(root / layout.MARKER)
    try:
        data = files.read_file(root, layout.MARKER, max_bytes=layout.MAX_TOMBSTONE_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound(f"{root} is not an envstore (it has no {layout.MARKER})") from None
    marker = parse_json(data, where)
    found = marker.get("format") if isinstance(marker, dict) else None
    if not isinstance(found, int) or isinstance(found, bool) or found < 0:
        raise Corrupt(f"{where}: format must be a number")
    return found


def migrate(
    root: Path, *, steps: Mapping[int, Step] = STEPS, to: int = FORMAT, dry_run: bool = False
) -> Migrated:
    """Bring the store at `root` to format `to`; may be repeated, and after any kill.

    Args:
        root: folder of the store.
        steps: by format, how a version gets to the next one.
        to: format to reach.
        dry_run: only tell what would be done.

    Raises:
        NotFound: there is no store.
        FormatTooNew: a newer release wrote it.
        Corrupt: its marker is unreadable, or no step leads from its format.
        StoreError: the folder of the store, or the one above it, cannot be written to.
    """
    root = Path(os.path.realpath(root))
    work = _work_of(root, to)
    if not os.path.lexists(root) and work is not None and _is_whole(work, to):
        os.rename(work, root)  # killed between two renames
        work = None
    before = format_of(root)
    if before > to:
        raise FormatTooNew(
            f"{root / layout.MARKER} has format {before}; this release reads up to {to}. "
            "Run: pip install -U spade-envs"
        )
    if before == to:
        return _finish(root, work, steps, to) if work is not None else _nothing(root, to)
    if missing := [number for number in range(before, to) if number not in steps]:
        raise Corrupt(f"{root} has format {before}, and no step leads on from {missing[0]}")
    if dry_run:
        return Migrated(root=root, before=before, after=to, versions=len(layout.scan(root)))
    work = root.parent / f".{root.name}.format-{before}-to-{to}-{__version__}"
    work.mkdir(exist_ok=True)
    carry = partial(_carried, steps=[steps[number] for number in range(before, to)], to=to)
    left = carry(root, work)
    _copy_rest(root, work)
    if not (work / layout.MARKER).exists():
        marker = canonical_json({"format": to, "namespace": NAMESPACE})
        files.publish_file(work, work / layout.MARKER, marker)
    left |= carry(root, work)  # what was published meanwhile
    if to == FORMAT:
        open_store(work).reindex()
    kept = _take_place(root, work, before, to)
    return _told(root, before, to, kept, left | carry(kept, root))


def _nothing(root: Path, to: int) -> Migrated:
    return Migrated(root=root, before=to, after=to, versions=0)


def _told(root: Path, before: int, to: int, kept: Path, left: Mapping[str, str]) -> Migrated:
    _copy_lines(kept, root)
    if to == FORMAT:
        open_store(root).reindex()
    return Migrated(
        root=root,
        before=before,
        after=to,
        versions=len(layout.scan(root)),
        kept=kept,
        left=tuple(sorted(left.items())),
    )


def _work_of(root: Path, to: int) -> Path | None:
    """Return the folder that a killed migration of this release left; None if there is none."""
    found = root.parent.glob(f".{_literal(root.name)}.format-*-to-{to}-{__version__}")
    return next(iter(sorted(found)), None)


def _literal(name: str) -> str:
    return "".join(f"[{char}]" if char in "*?[" else char for char in name)


def _is_whole(work: Path, to: int) -> bool:
    try:
        return format_of(work) == to
    except (NotFound, Corrupt):
        return False


def _finish(root: Path, work: Path, steps: Mapping[int, Step], to: int) -> Migrated:
    """Finish a migration that was killed after the new store took its place."""
    try:
        before = format_of(work)
    except (NotFound, Corrupt):
        return _nothing(root, to)
    if before >= to or any(number not in steps for number in range(before, to)):
        return _nothing(root, to)  # somebody else's
    kept = _set_aside(root, work, before)
    left = _carried(kept, root, steps=[steps[number] for number in range(before, to)], to=to)
    return _told(root, before, to, kept, left)


def _carried(old: Path, new: Path, *, steps: list[Step], to: int) -> dict[str, str]:
    """Bring over what the new store lacks; gives the versions that cannot be read, with why."""
    left: dict[str, str] = {}
    there = layout.scan(new)
    for name, withdrawn in layout.scan(old).items():
        if there.get(name) == withdrawn or there.get(name):
            continue
        env_id = EnvId.parse(name)
        place = layout.version_path(env_id)
        try:
            found: Files = dict(_files(old, place))
            for step in steps:
                found = step(found)
            if name not in there:
                _check(env_id, found, new, to)
                files.publish_folder(new, new / place, found)
            else:  # withdrawn since it was brought over
                tombstone = found[layout.TOMBSTONE]
                files.publish_file(new, new / place / layout.TOMBSTONE, tombstone)
        except (Corrupt, FormatTooNew, NotFound, FileNotFoundError, KeyError) as error:
            left[name] = str(error)
    return left


def _files(root: Path, place: str) -> Iterator[tuple[str, bytes]]:
    for name in sorted(os.listdir(root / place)):
        yield name, files.read_file(root, f"{place}/{name}", max_bytes=layout.MAX_REPORT_BYTES)


def _check(env_id: EnvId, found: Files, new: Path, to: int) -> None:
    """See that a version reads in the format of this release, before it is placed.

    Raises:
        Corrupt: it does not.
    """
    if to != FORMAT:
        return
    with files.staged(new) as stage:
        place = stage / layout.version_path(env_id)
        place.mkdir(parents=True)
        for name, data in found.items():
            files.write_new(place / name, data)
        version = read_version(stage, env_id)
        check_report(stage, env_id, version)
        if layout.SOURCE in found or layout.TOMBSTONE not in found:
            read_source(stage, env_id, version)


def _copy_rest(old: Path, new: Path) -> None:
    """Copy ledgers, refused designs and whatever else no format describes, links as links."""
    for entry in sorted(old.iterdir()):
        target = new / entry.name
        if entry.name in _DERIVED:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(target, ignore_errors=True)  # half of it, perhaps
            shutil.copytree(entry, target, symlinks=True)
        else:
            with contextlib.suppress(FileNotFoundError):
                target.unlink()
            shutil.copy2(entry, target, follow_symlinks=False)


def _copy_lines(old: Path, new: Path) -> None:
    """Bring over the lines that ledgers got after they were copied."""
    for path in sorted((old / LEDGER).glob("*.jsonl")):
        target = new / LEDGER / path.name
        if path.is_symlink() or target.is_symlink():
            continue
        data = path.read_bytes()
        there = target.read_bytes() if target.exists() else b""
        if len(data) > len(there) and data.startswith(there):
            (new / LEDGER).mkdir(exist_ok=True)
            files.replace_file(new, target, data)


def _take_place(root: Path, work: Path, before: int, to: int) -> Path:
    """Put the new store where the old one is, at once where the system can; gives the old one."""
    try:
        exchange(work, root)
        if format_of(root) != to:
            exchange(work, root)  # another migration had been faster
    except StoreError:
        kept = _free(root, before)
        os.rename(root, kept)
        os.rename(work, root)
        files.sync_folder(root.parent)
        return kept
    return _set_aside(root, work, before)


def _set_aside(root: Path, old: Path, before: int) -> Path:
    kept = _free(root, before)
    os.rename(old, kept)
    files.sync_folder(root.parent)
    return kept


def _free(root: Path, before: int) -> Path:
    """Return a name that is free for the old store, beside the new one."""
    number = 0
    while True:
        tail = f"-{number}" if number else ""
        kept = root.parent / f"{root.name}.format-{before}{tail}"
        if not os.path.lexists(kept):
            return kept
        number += 1
