"""Fingerprints of a whole store, made once and kept in its cache."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import msgspec

from spade_envs.errors import SandboxError, StoreError
from spade_envs.gates.check import other_sandbox
from spade_envs.gates.context import Fingerprint
from spade_envs.gates.lane import OutOfTimeError, StalledError
from spade_envs.gates.originality import fingerprint
from spade_envs.gates.subject import Subject
from spade_envs.gates.table import GATES_VERSION
from spade_envs.sandbox import sandbox_for
from spade_envs.store import EnvStore
from spade_envs.store.files import read_file, refuse_links
from spade_envs.types import EnvSource, Record

logger = logging.getLogger(__name__)

DEADLINE_S = 60.0
"""Time for one environment; past it, only its text is compared."""

_CACHE, _NAME = ".cache", "fingerprints-1.jsonl"
_MAX_BYTES = 256 << 20


class _Line(msgspec.Struct, frozen=True, array_like=True):
    digest: str
    gates_version: str
    """Fingerprints of two versions are not comparable: the episodes may differ."""
    found: Fingerprint


def stored(
    store: EnvStore, *, jobs: int = 2, done: Callable[[], None] | None = None
) -> tuple[Fingerprint, ...]:
    """Return the fingerprints of a store's environments; each is played once, then cached.

    Args:
        store: where from; withdrawn versions and what cannot be read are left out.
        jobs: how many are played at a time, >= 1.
        done: called after each.

    Raises:
        IsolationUnavailable: no sandbox can be started here.
    """
    cached = _read_cache(store)

    def one(record: Record) -> Fingerprint | None:
        found = cached.get(record.digest)
        if found is None:
            try:
                found = play(store.source(record), record.id)
            except (StoreError, SandboxError) as error:
                logger.warning("cannot compare with %s: %s", record.id, error)
                return None
            keep(store, record, found)
        if done is not None:
            done()
        return replace(found, name=record.id)

    records = [record for record in store.records() if record.withdrawn is None]
    pool = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="check")
    try:
        return tuple(found for found in pool.map(one, records) if found is not None)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def keep(store: EnvStore, record: Record, found: Fingerprint) -> None:
    """Keep the fingerprint of a version in its store's cache, so that it is not played again."""
    _write_cache(store, _Line(record.digest, GATES_VERSION, found))


def play(source: EnvSource, name: str) -> Fingerprint:
    """Return the fingerprint of one environment; of its text alone if it takes too long.

    Raises:
        SandboxError: it cannot be run.
    """
    subject = Subject(
        source=source,
        sandbox=sandbox_for(source),
        elsewhere=other_sandbox,
        deadline=time.monotonic() + DEADLINE_S,
    )
    try:
        return fingerprint(source, subject, name=name)
    except (OutOfTimeError, StalledError):
        return fingerprint(source, name=name)
    finally:
        subject.close()


def _read_cache(store: EnvStore) -> dict[str, Fingerprint]:
    try:
        raw = read_file(store.root, f"{_CACHE}/{_NAME}", max_bytes=_MAX_BYTES)
    except (FileNotFoundError, StoreError):
        return {}
    found = {}
    for line in raw.split(b"\n"):
        try:
            kept = msgspec.json.decode(line, type=_Line)
        except msgspec.DecodeError:
            continue  # torn or foreign; it is played again
        if kept.gates_version == GATES_VERSION:
            found[kept.digest] = kept.found
    return found


def _write_cache(store: EnvStore, line: _Line) -> None:
    if store.read_only:
        return
    refuse_links(store.root, _CACHE, _NAME)
    path = store.root / _CACHE / _NAME
    path.parent.mkdir(exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(path, flags, 0o644)
    try:
        os.write(handle, b"\n" + msgspec.json.encode(line) + b"\n")
    finally:
        os.close(handle)
