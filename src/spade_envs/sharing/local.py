"""What a store of ours holds, as a transfer needs to know it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from spade_envs.ids import EnvId
from spade_envs.store import EnvStore
from spade_envs.store.files import read_file
from spade_envs.store.layout import (
    MANIFEST,
    MARKER,
    MAX_MANIFEST_BYTES,
    REPORT,
    SOURCE,
    TOMBSTONE,
    create_store,
    version_path,
)
from spade_envs.trust.incoming import Limits
from spade_envs.trust.paths import VERSION_FILES
from spade_envs.types import Record


@dataclass(frozen=True, kw_only=True)
class Holdings:
    """Every version of a store, by id and by digest."""

    root: Path
    records: Mapping[EnvId, Record]
    ids_of: Mapping[str, tuple[EnvId, ...]]
    """By digest; those in use first."""

    @classmethod
    def of(cls, store: EnvStore) -> Holdings:
        """Look at a store."""
        records = {EnvId.parse(record.id): record for record in store.records()}
        ids_of: dict[str, tuple[EnvId, ...]] = {}
        for env_id, record in sorted(
            records.items(), key=lambda item: (item[1].withdrawn is not None, item[0])
        ):
            ids_of[record.digest] = (*ids_of.get(record.digest, ()), env_id)
        return cls(root=store.root, records=records, ids_of=ids_of)

    def next_free(self, name: str, taken: set[EnvId]) -> EnvId:
        """Return the first id after the greatest version of a name here that is not taken."""
        return next_free(name, self._greatest, taken)

    @cached_property
    def _greatest(self) -> dict[str, int]:
        return greatest((each.name, each.version or 0) for each in self.records)

    def looks_the_same(self, mine: EnvId, theirs: EnvId, sizes: Mapping[str, int]) -> bool:
        """Whether a version here has the files of another, by their sizes; the cheap question."""
        longer = len(str(mine)) - len(str(theirs))
        folder = self.root / version_path(mine)
        for name in (SOURCE, REPORT, MANIFEST):
            more = longer if name == MANIFEST else 0
            try:
                here = os.stat(folder / name, follow_symlinks=False).st_size
            except OSError:
                here = -1
            if name not in sizes or here != sizes[name] + more:
                return False
        return True


def greatest(versions: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Return the greatest version of each name."""
    found: dict[str, int] = {}
    for name, number in versions:
        found[name] = max(number, found.get(name, -1))
    return found


def next_free(name: str, used: Mapping[str, int], taken: set[EnvId]) -> EnvId:
    """Return the first id after the greatest version used of a name that is not taken."""
    number = used.get(name, -1) + 1
    while EnvId(name, number) in taken:
        number += 1
    return EnvId(name, number)


def files_of(root: Path, env_id: EnvId) -> dict[str, bytes]:
    """Return the files of a version by name.

    Raises:
        Corrupt: one is a link, or too long.
        OSError: one cannot be read.
    """
    limits, folder = Limits(), version_path(env_id)
    names = sorted(set(os.listdir(root / folder)) & VERSION_FILES)
    return {
        name: read_file(root, f"{folder}/{name}", max_bytes=limits.of(name) or MAX_MANIFEST_BYTES)
        for name in names
    }


def without_tombstone(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return a version's files but for what says that it was withdrawn."""
    return {name: data for name, data in files.items() if name != TOMBSTONE}


def duplicates(ids: Mapping[EnvId, EnvId]) -> Iterator[EnvId]:
    """Yield the sources that would get an id that an earlier one gets."""
    seen: set[EnvId] = set()
    for source, target in ids.items():
        if target in seen:
            yield source
        seen.add(target)


_making = threading.Lock()


def is_made(root: Path) -> bool:
    """Whether a store is there."""
    return (root / MARKER).exists()


def make(root: Path) -> None:
    """Make a store where none is yet; a pull that fails before that leaves no folder behind."""
    if not is_made(root):
        with _making:  # versions are placed by many threads, and half a store is none
            create_store(root)
