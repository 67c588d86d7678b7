"""Remove what nothing can reach: what killed writers left, and on request caches and refusals.

No version, tombstone or ledger is ever removed. Everything goes in two steps, a rename out of the
way and then the removal, so that a writer who is still at work finds its folder gone, and begins
anew, instead of publishing what is half there. So a wrong clock costs somebody time, and nothing
else; ages are taken by the file system's own clock all the same, and what comes from the future
stays.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from spade_envs.errors import Corrupt, SpadeError, StorageError
from spade_envs.ids import EnvId
from spade_envs.manifest.canonical import parse_json
from spade_envs.store import layout
from spade_envs.store.cache import CACHE
from spade_envs.store.files import (
    STAGING,
    destroy,
    now_ns,
    open_folder,
    publish_file,
    read_file,
    remove_if_empty,
    take_away,
    told,
)
from spade_envs.store.read import read_version

DAY_S = 86_400.0
Kind = Literal["staging", "empty", "cache", "rejected", "quarantine"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What may go. Ages in seconds, since the newest thing inside was changed."""

    staging_s: float = DAY_S
    """Age of half-written, empty and cached things."""
    caches: frozenset[str] | None = None
    """Paths in `.cache/` that are in use, all others may go; None leaves the caches alone."""
    rejected_s: float | None = None
    """Age of refused designs; None leaves them alone."""
    quarantine_s: float | None = None
    """Age of what was pulled and failed; None leaves it alone."""


@dataclass(frozen=True, slots=True)
class Waste:
    """Something that may go."""

    kind: Kind
    path: str
    """Relative to the store."""
    size: int
    """Bytes of the files in it."""
    age_s: float


def find_waste(root: Path, policy: Policy) -> list[Waste]:
    """Return what may go from the store at `root`, by kind and path; nothing is changed.

    Raises:
        StorageError: a folder cannot be looked at.
    """
    now = _now_ns(root)
    found: list[Waste] = []
    places: list[tuple[Kind, Iterator[str], float | None]] = [
        ("staging", _inside(root, STAGING), policy.staging_s),
        ("empty", _empty(root), policy.staging_s),
        ("cache", _unused(root, policy.caches), policy.staging_s),
        ("rejected", _inside(root, layout.REJECTED), policy.rejected_s),
        ("quarantine", _inside(root, layout.QUARANTINE), policy.quarantine_s),
    ]
    for kind, paths, least_s in places:
        if least_s is None:
            continue
        for path in paths:
            with contextlib.suppress(FileNotFoundError):  # somebody else is removing it
                size, newest_ns = _measured(root / path)
                age_s = (now - newest_ns) / 1e9
                if age_s >= least_s and age_s >= 0:
                    found.append(Waste(kind, path, size, age_s))
    return found


def collect(root: Path, policy: Policy) -> list[Waste]:
    """Remove what may go from the store at `root`, and return it. Safe beside writers.

    Raises:
        StorageError: something cannot be removed.
    """
    removed = []
    for waste in find_waste(root, policy):
        path = root / waste.path
        if waste.kind == "empty":
            if remove_if_empty(path):
                removed.append(waste)
        elif (away := take_away(root, path)) is not None:
            _rescue_tombstone(root, away.relative_to(root).as_posix())
            destroy(away)
            removed.append(waste)
    return removed


def sweep_staging(root: Path, *, older_than_s: float = DAY_S) -> int:
    """Remove what killed writers left behind; gives the number of things removed."""
    return len(collect(root, Policy(staging_s=older_than_s)))


def _now_ns(root: Path) -> int:
    try:
        return now_ns(root)
    except StorageError:  # full or read-only; that is no reason to keep waste
        return time.time_ns()


def _inside(root: Path, *parts: str) -> Iterator[str]:
    """Yield the paths of what lies in a folder of the store, sorted; none if it is a link."""
    try:
        with told("read", root.joinpath(*parts)), open_folder(root, *parts) as handle:
            names = sorted(os.listdir(handle))
    except (FileNotFoundError, Corrupt):
        return
    for name in names:
        yield "/".join((*parts, name))


def _empty(root: Path) -> Iterator[str]:
    """Yield folders of environments without any version: a writer was stopped."""
    for path in _inside(root, layout.ENVS):
        with contextlib.suppress(OSError):
            state = os.lstat(root / path)
            if stat.S_ISDIR(state.st_mode) and state.st_nlink <= 2 and not os.listdir(root / path):
                yield path


def _unused(root: Path, used: frozenset[str] | None, *parts: str) -> Iterator[str]:
    """Yield what lies in the cache and is not in use, as high up as can be."""
    if used is None:
        return
    for path in _inside(root, CACHE, *parts):
        inner = path.removeprefix(f"{CACHE}/")
        if inner in used:
            continue
        holds = any(each.startswith(f"{inner}/") for each in used)
        if holds and stat.S_ISDIR(os.lstat(root / path).st_mode):
            yield from _unused(root, used, *inner.split("/"))
        else:
            yield path


def _measured(path: Path) -> tuple[int, int]:
    """Return the bytes in a file or folder, and the newest time of anything in it."""
    state = os.lstat(path)
    if not stat.S_ISDIR(state.st_mode):
        return state.st_size, state.st_mtime_ns
    size, newest_ns = 0, state.st_mtime_ns
    with told("read", path):
        for entry in os.listdir(path):
            with contextlib.suppress(FileNotFoundError):
                more, time_ns = _measured(path / entry)
                size, newest_ns = size + more, max(newest_ns, time_ns)
    return size, newest_ns


def _rescue_tombstone(root: Path, path: str) -> None:
    """Put back a tombstone that a writer, killed while it renewed a version, had taken away."""
    folder = f"{path}/new"
    try:
        data = read_file(root, f"{folder}/{layout.TOMBSTONE}", max_bytes=layout.MAX_TOMBSTONE_BYTES)
        raw = read_file(root, f"{folder}/{layout.MANIFEST}", max_bytes=layout.MAX_MANIFEST_BYTES)
        manifest = parse_json(raw, folder)
        env_id = EnvId.parse(manifest["id"])
        if read_version(root, env_id).digest != manifest["digest"]:
            return
    except (FileNotFoundError, NotADirectoryError, KeyError, TypeError):
        return
    except StorageError:
        raise
    except SpadeError:
        return
    publish_file(root, root / layout.version_path(env_id) / layout.TOMBSTONE, data)
