"""Fingerprints of a whole store, made once and kept in its cache."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import msgspec

from spade_envs.errors import Corrupt, IsolationUnavailable, SandboxError, StoreError
from spade_envs.gates.check import other_sandbox
from spade_envs.gates.context import Fingerprint
from spade_envs.gates.lane import OutOfTimeError, StalledError
from spade_envs.gates.originality import fingerprint
from spade_envs.gates.subject import Subject
from spade_envs.gates.table import GATES_VERSION
from spade_envs.sandbox import sandbox_for
from spade_envs.store import EnvStore
from spade_envs.store.cache import append_line, read_lines
from spade_envs.store.layout import scan
from spade_envs.trust.runs import standing
from spade_envs.types import EnvSource, Record

logger = logging.getLogger(__name__)

DEADLINE_S = 60.0
"""Time for one environment; past it, only its text is compared."""

CACHE_FILE = "fingerprints-2.jsonl"
"""In a store's cache."""


class _Line(msgspec.Struct, frozen=True, array_like=True):
    digest: str
    gates_version: str
    """Fingerprints of two versions are not comparable: the episodes may differ."""
    found: Fingerprint


def stored(
    store: EnvStore, *, jobs: int = 2, done: Callable[[], None] | None = None
) -> tuple[Fingerprint, ...]:
    """Return the fingerprints of a store's environments; each is played once, then cached.

    What is kept is believed only if this user wrote it (`store.cache`), and is found by the digest
    in the version's own manifest, not by what the index says.

    Args:
        store: where from; withdrawn versions are left out.
        jobs: how many are played at a time, >= 1.
        done: called after each.

    Raises:
        Corrupt: a version cannot be read, so that nothing can be compared with it.
        IsolationUnavailable: no sandbox can be started here.
    """
    cached = _read_cache(store)

    def one(env_id: str) -> Fingerprint:
        try:
            record = store.get(env_id)
            found = cached.get(record.digest) or _played(store.source(record), store, record)
        except StoreError as error:
            raise Corrupt(
                f"nothing can be compared with {env_id}: {error}; mend it (spade-envs verify) or "
                "withdraw it"
            ) from None
        if done is not None:
            done()
        return replace(found, name=record.id)

    ids = sorted(env_id for env_id, withdrawn in scan(store.root).items() if not withdrawn)
    pool = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="check")
    try:
        return tuple(pool.map(one, ids))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _played(source: EnvSource, store: EnvStore, record: Record) -> Fingerprint:
    """Return what a version says and pays, and keep it; what its text tells if it cannot be run."""
    if not standing(record.digest).may_run:
        logger.info("only the text of %s is compared: it has not been let run here", record.id)
        return fingerprint(source, name=record.id)
    try:
        found = play(source, record.id)
    except IsolationUnavailable:
        raise
    except SandboxError as error:
        logger.warning("only the text of %s is compared: %s", record.id, error)
        return fingerprint(source, name=record.id)
    keep(store, record, found)
    return found


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
    found = {}
    for line in read_lines(store.root, CACHE_FILE):
        try:
            kept = msgspec.json.decode(line, type=_Line)
        except msgspec.DecodeError:
            continue  # of another release; it is played again
        if kept.gates_version == GATES_VERSION:
            found[kept.digest] = kept.found
    return found


def _write_cache(store: EnvStore, line: _Line) -> None:
    if not store.read_only:
        append_line(store.root, CACHE_FILE, msgspec.json.encode(line))
