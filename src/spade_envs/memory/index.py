"""The one door to FAISS: exact search over some vectors, or a graph over many.

An exact index is a copy of the vectors and made in no time. A graph (HNSW) takes minutes, so it
is kept beside the vectors. FAISS's reader is C++ and trusts what it reads, so a kept graph is read
only if this user's own key vouches for every byte; any other one is made anew.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import os
import stat
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spade_envs.errors import Corrupt, StoreError
from spade_envs.memory.embedders.base import Fingerprint, Vectors
from spade_envs.memory.vectors import place_of
from spade_envs.store.files import read_file, refuse_links, replace_file

_log = logging.getLogger(__name__)

EXACT_UP_TO = 100_000
"""Most vectors that are compared one by one."""
LINKS, BUILD_WIDTH, SEARCH_WIDTH = 32, 80, 128
_MAX_BYTES = 1 << 36
_KEY_BYTES = 32

Places = NDArray[np.int64]


class Index:
    """Finds the nearest of numbered unit vectors by their inner product.

    Args:
        dimension: of the vectors.
        graph: an approximate graph instead of exact comparison.
    """

    def __init__(self, dimension: int, *, graph: bool = False) -> None:
        faiss = _faiss()
        self.graph = graph
        if graph:
            self._faiss: Any = faiss.IndexHNSWFlat(dimension, LINKS, faiss.METRIC_INNER_PRODUCT)
            self._faiss.hnsw.efConstruction = BUILD_WIDTH
        else:
            self._faiss = faiss.IndexFlatIP(dimension)

    def __len__(self) -> int:
        return int(self._faiss.ntotal)

    def add(self, rows: Vectors) -> None:
        """Add vectors; they get the next numbers."""
        if len(rows):
            self._faiss.add(np.ascontiguousarray(rows, dtype=np.float32))

    def nearest(self, query: Vectors, k: int) -> tuple[Places, Vectors]:
        """Return numbers and inner products of the nearest vectors, best first: at most `k`.

        Args:
            query: one vector.
            k: how many, >= 1; of a smaller index, all.
        """
        k = min(k, len(self))
        if k < 1:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
        settings = None
        if self.graph:
            settings = _faiss().SearchParametersHNSW(efSearch=max(SEARCH_WIDTH, 2 * k))
        row = np.ascontiguousarray(query, dtype=np.float32).reshape(1, -1)
        products, places = self._faiss.search(row, k, params=settings)
        found = places[0] >= 0
        return places[0][found], products[0][found]


def save_graph(
    root: Path, fingerprint: Fingerprint, digests: Sequence[str], index: Index, key: bytes
) -> None:
    """Keep a graph beside the vectors, at once, vouched for by `key`.

    Raises:
        StoreError: it cannot be written.
    """
    body = _faiss().serialize_index(index._faiss).tobytes()
    names = json.dumps([fingerprint.sha256, *digests]).encode()
    head = len(names).to_bytes(8, "big") + names
    path = root / _path(fingerprint, key)
    refuse_links(root, *Path(place_of(fingerprint)).parts)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(root, path, _mac(key, head, body) + head + body)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error}") from None


def load_graph(root: Path, fingerprint: Fingerprint, key: bytes) -> tuple[list[str], Index] | None:
    """Return the digests and the graph that were kept; None if there is none to be trusted."""
    try:
        data = read_file(root, _path(fingerprint, key), max_bytes=_MAX_BYTES)
    except FileNotFoundError:
        return None
    except (Corrupt, OSError) as error:
        _log.warning("the index is made anew: %s", error)
        return None
    length = int.from_bytes(data[_KEY_BYTES : _KEY_BYTES + 8], "big")
    head, body = data[_KEY_BYTES : _KEY_BYTES + 8 + length], data[_KEY_BYTES + 8 + length :]
    if len(data) < _KEY_BYTES + 8 or not hmac.compare_digest(
        data[:_KEY_BYTES], _mac(key, head, body)
    ):
        _log.warning("the index in %s is torn or not ours; it is made anew", root)
        return None
    whose, *digests = json.loads(head[8:])
    found = Index(fingerprint.dimension, graph=True)
    try:
        found._faiss = _faiss().deserialize_index(np.frombuffer(body, dtype=np.uint8))
    except RuntimeError as error:  # another release of FAISS wrote it
        _log.warning("the index in %s is made anew: %s", root, error)
        return None
    if whose != fingerprint.sha256 or len(found) != len(digests):
        return None
    return digests, found


def _faiss() -> Any:
    import faiss

    return faiss


def _path(fingerprint: Fingerprint, key: bytes) -> str:
    owner = hashlib.sha256(b"owner" + key).hexdigest()[:8]
    return f"{place_of(fingerprint)}/graph-{owner}.idx"


def _mac(key: bytes, head: bytes, body: bytes) -> bytes:
    made = hashlib.blake2b(key=key, digest_size=_KEY_BYTES)
    made.update(len(head).to_bytes(8, "big"))
    made.update(head)
    made.update(body)
    return made.digest()


def local_key(folder: Path | None = None) -> bytes | None:
    """Return this user's secret for vouching, made at first use; None where none can be kept.

    Args:
        folder: where it is; None stands for the user's state directory.
    """
    if folder is None:
        from platformdirs import user_state_path

        folder = user_state_path("spade-envs", appauthor=False)
    path = folder / "cache.key"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not path.exists():
            fresh = folder / f".{uuid.uuid4().hex}"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            with os.fdopen(os.open(fresh, flags, 0o600), "wb") as stream:
                stream.write(os.urandom(_KEY_BYTES))
            try:
                os.link(fresh, path)
            except FileExistsError:
                pass  # another process was first
            finally:
                fresh.unlink()
        state = path.stat()
        if state.st_uid != os.geteuid() or stat.S_IMODE(state.st_mode) & 0o077:
            _log.warning("%s may be read or written by others; the index is not kept", path)
            return None
        key = path.read_bytes()
    except OSError as error:
        _log.warning("the index is not kept: %s", error)
        return None
    return key if len(key) == _KEY_BYTES else None
