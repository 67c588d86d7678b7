"""Indexes of large corpora, kept between processes and rebuilt when they are stale."""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs

from spade_envs.corpus.index import Index, load, save
from spade_envs.errors import CorpusError

_log = logging.getLogger(__name__)

ENV_VARIABLE = "SPADE_CORPUS_CACHE"


def default_cache() -> Path:
    """Return the folder of `SPADE_CORPUS_CACHE`, or one in the user's cache."""
    named = os.environ.get(ENV_VARIABLE)
    return Path(named).expanduser() if named else platformdirs.user_cache_path("spade") / "corpus"


def cached(
    root: Path,
    key: str,
    signature: str,
    build: Callable[[Path], Index],
    begins: Callable[[], None] = lambda: None,
) -> Index:
    """Return the index under a key; it is built if there is none, or a stale or torn one.

    One process builds and others wait for it. What is published is whole: a killed build leaves
    nothing that is read, and the next one clears it away.

    Args:
        root: the folder of all indexes.
        key: name of this one.
        signature: what it must have been built from.
        build: writes the arrays into a fresh folder and returns the index.
        begins: called before that.

    Raises:
        CorpusError: it cannot be written.
    """
    final = root / key
    found = load(final, signature)
    if found is not None:
        return found
    try:
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _alone(root / f"{key}.lock"):
            found = load(final, signature)
            if found is None:
                begins()
                _build(root, key, signature, build)
                found = load(final, signature)
    except OSError as error:
        raise CorpusError(
            f"the index of the corpus cannot be written to {root}: {error}; set {ENV_VARIABLE} to "
            "a folder with room"
        ) from error
    if found is None:
        raise CorpusError(f"the index in {final} cannot be read back; is {root} being cleared?")
    return found


def _build(root: Path, key: str, signature: str, build: Callable[[Path], Index]) -> None:
    for left in root.glob(f"{key}.*.part"):
        shutil.rmtree(left, ignore_errors=True)
    part = Path(tempfile.mkdtemp(prefix=f"{key}.", suffix=".part", dir=root))
    try:
        save(build(part), part, signature)
        final = root / key
        if final.exists():
            final.rename(Path(tempfile.mkdtemp(prefix=f"{key}.", suffix=".part", dir=root)))
        part.rename(final)
    finally:
        for left in root.glob(f"{key}.*.part"):
            shutil.rmtree(left, ignore_errors=True)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold a lock that the system releases if this process dies."""
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _log.warning("another process indexes this corpus; waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
