"""What is known of the environments of a store, worked out once and kept in its cache.

The sources are the truth; every file here may be deleted. An environment is known by the digest in
its own manifest, never by what the index says, which may be stale or forged.
"""

from __future__ import annotations

import base64
import binascii
import logging
import zlib
from collections.abc import Iterator
from functools import lru_cache

import msgspec
import numpy as np

from spade_envs.design.novelty import ast_hash, shape_hash
from spade_envs.errors import SpadeError, StoreError, Withdrawn
from spade_envs.novelty.behaviour import DIMENSION, PROBE_VERSION, Vector, unit
from spade_envs.store import EnvStore
from spade_envs.store.cache import append_line, read_lines
from spade_envs.store.layout import scan
from spade_envs.types import EnvSource, Record

_log = logging.getLogger(__name__)

_PROGRAMS = "programs-3.jsonl"
_BEHAVIOURS = f"behaviours-{PROBE_VERSION}.jsonl"
CACHE_FILES = (_PROGRAMS, _BEHAVIOURS)
"""Files in a store's cache that this release reads."""
_NOTHING = ""
"""Stands for an environment whose behaviour cannot be told."""


class Hashes(msgspec.Struct, frozen=True, array_like=True):
    """What the text of a source tells."""

    text: str
    program: str
    """`design.novelty.ast_hash`."""
    shape: str
    """`design.novelty.shape_hash`."""

    @staticmethod
    @lru_cache(256)
    def of(source: EnvSource) -> Hashes:
        """Return the hashes of a source; several steps ask for them."""
        return Hashes(source.sha256, ast_hash(source), shape_hash(source))


class _Program(msgspec.Struct, frozen=True, array_like=True):
    digest: str
    hashes: Hashes


class _Behaviour(msgspec.Struct, frozen=True, array_like=True):
    digest: str
    vector: str


def present(store: EnvStore) -> Iterator[Record]:
    """Yield the versions in use, as their own manifests tell; unreadable ones are logged."""
    for env_id, withdrawn in sorted(scan(store.root).items()):
        if withdrawn:
            continue
        try:
            yield store.get(env_id)
        except Withdrawn:
            continue  # just now
        except SpadeError as error:
            _log.warning("nothing is compared with %s: %s", env_id, error)


def hashes_of(store: EnvStore, records: list[Record]) -> dict[str, Hashes]:
    """Return the hashes of some environments by digest; of unreadable ones there are none."""
    kept: dict[str, Hashes] = {}
    for line in read_lines(store.root, _PROGRAMS):
        try:
            found = msgspec.json.decode(line, type=_Program)
        except msgspec.DecodeError:
            continue  # of another release; the source is hashed again
        kept[found.digest] = found.hashes
    result: dict[str, Hashes] = {}
    for record in records:
        hashes = kept.get(record.digest)
        if hashes is None:
            try:
                hashes = Hashes.of(store.source(record))
            except StoreError as error:
                _log.warning("nothing is compared with %s: %s", record.id, error)
                continue
            keep_hashes(store, record.digest, hashes)
        result[record.digest] = hashes
    return result


def keep_hashes(store: EnvStore, digest: str, hashes: Hashes) -> None:
    """Keep the hashes of an environment."""
    _append(store, _PROGRAMS, _Program(digest, hashes))


def behaviours_of(store: EnvStore) -> dict[str, Vector | None]:
    """Return the behaviours that are kept, by digest; None for those that cannot be told."""
    found: dict[str, Vector | None] = {}
    for line in read_lines(store.root, _BEHAVIOURS):
        try:
            kept = msgspec.json.decode(line, type=_Behaviour)
            found[kept.digest] = _decoded(kept.vector)
        except (msgspec.DecodeError, ValueError, zlib.error, binascii.Error):
            continue  # it is played again
    return found


def keep_behaviour(store: EnvStore, digest: str, vector: Vector | None) -> None:
    """Keep what an environment does."""
    _append(store, _BEHAVIOURS, _Behaviour(digest, _encoded(vector)))


def _append(store: EnvStore, name: str, line: _Program | _Behaviour) -> None:
    if not store.read_only:
        append_line(store.root, name, msgspec.json.encode(line))


def _encoded(vector: Vector | None) -> str:
    if vector is None:
        return _NOTHING
    coarse = np.rint(vector / np.abs(vector).max() * 127).astype(np.int8)
    return base64.b85encode(zlib.compress(coarse.tobytes())).decode("ascii")


def _decoded(text: str) -> Vector | None:
    if text == _NOTHING:
        return None
    raw = zlib.decompressobj().decompress(base64.b85decode(text), DIMENSION + 1)
    coarse = np.frombuffer(raw, dtype=np.int8)
    if coarse.shape != (DIMENSION,):
        raise ValueError("not a behaviour")
    return unit(coarse)
