"""Files in a store's `.cache/`: lines that are believed only if they were written here.

A store may come from anybody, and so may its cache. Each line bears a code (HMAC-SHA256) made with
a key that never leaves the user's own folder; any other line is passed over, and what it said is
found out anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import logging
import os
import secrets
import tempfile
from pathlib import Path

from spade_envs.errors import StorageError, StoreError
from spade_envs.store.files import append_shared, read_file

logger = logging.getLogger(__name__)

CACHE = ".cache"
KEY_FILE = "store-cache.key"
_KEY_BYTES = 32
_MAX_BYTES = 256 << 20


def read_lines(root: Path, name: str) -> list[bytes]:
    """Return the lines of a cache file that were written with this user's key, oldest first.

    Args:
        root: folder of the store.
        name: file in its `.cache/`.
    """
    try:
        raw = read_file(root, f"{CACHE}/{name}", max_bytes=_MAX_BYTES)
    except (FileNotFoundError, StoreError):
        return []
    key = _key()
    found = []
    for line in raw.split(b"\n"):
        code, _, payload = line.partition(b" ")
        if payload and hmac.compare_digest(code, _code(key, name, payload)):
            found.append(payload)  # the others are torn or foreign
    return found


def append_line(root: Path, name: str, payload: bytes) -> None:
    """Add a line, which must hold no line end, to a cache file; made if it is not there.

    Where it cannot be kept (a full disk, say) that is logged, and found out anew next time.

    Raises:
        Corrupt: the cache is a link.
    """
    try:
        append_shared(root, root / CACHE / name, _code(_key(), name, payload) + b" " + payload)
    except StorageError as error:
        logger.warning("a line of a cache is not kept: %s", error)


def _code(key: bytes, name: str, payload: bytes) -> bytes:
    text = name.encode() + b"\n" + payload
    return hmac.new(key, text, hashlib.sha256).hexdigest().encode("ascii")


_keys: dict[Path, bytes] = {}


def _key() -> bytes:
    """Return this user's key, made at the first need; one for this process if none can be kept."""
    from platformdirs import user_cache_path

    path = user_cache_path("spade-envs", appauthor=False) / KEY_FILE
    if path not in _keys:
        try:
            _keys[path] = _kept_key(path)
        except OSError as error:
            logger.info("caches of stores are of no use beyond this process: %s", error)
            _keys[path] = secrets.token_bytes(_KEY_BYTES)
    return _keys[path]


def _kept_key(path: Path) -> bytes:
    """Return the key in a file that only its owner can read; whoever comes first makes it."""
    with contextlib.suppress(FileNotFoundError):
        return _whole(path.read_bytes(), path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent) as file:  # readable by its owner alone
        file.write(secrets.token_bytes(_KEY_BYTES))
        file.flush()
        with contextlib.suppress(FileExistsError):
            os.link(file.name, path)
    return _whole(path.read_bytes(), path)


def _whole(key: bytes, path: Path) -> bytes:
    if len(key) != _KEY_BYTES:
        raise OSError(f"{path} does not hold {_KEY_BYTES} bytes")
    return key
