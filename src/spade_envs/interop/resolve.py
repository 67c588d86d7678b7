"""From what a user types to the things to check."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from spade_envs.errors import ConfigError, IdError, NotFound, StoreError
from spade_envs.ids import EnvId
from spade_envs.interop.files import of_file
from spade_envs.interop.folders import of_folder
from spade_envs.interop.frameworks import FRAMEWORKS, library_of
from spade_envs.interop.target import Target
from spade_envs.store import EnvStore, open_store
from spade_envs.store.layout import MARKER, scan
from spade_envs.types import Record

Stores = Callable[[], Iterable[EnvStore]]


def resolve(target: str, stores: Stores = tuple) -> list[Target]:
    """Return what `target` stands for, one or many.

    Args:
        target: a Python file; a folder of them, with or without checksums; the folder of an
            envstore, which stands for all its versions that are not withdrawn; `PREFIX:NAME` of a
            framework (see `frameworks.FRAMEWORKS`); or an id, name or digest in a store.
        stores: gives the stores to look ids up in, in order; asked only if it comes to that.

    Raises:
        NotFound: nothing is called that.
        ConfigError: it is empty, or the prefix needs a name after it.
        Corrupt: a pool's list of its files cannot be read.
    """
    if not target.strip():
        raise ConfigError("a target has an empty name; is a variable of your shell not set?")
    path = Path(target)
    is_file, is_folder = _kind(path)
    if is_file:
        return [of_file(path)]
    if is_folder:
        return _of_whole_store(path) if (path / MARKER).is_file() else of_folder(path)
    prefix, colon, rest = target.partition(":")
    if colon and prefix in FRAMEWORKS:
        return _of_framework(prefix, rest)
    if path.suffix == ".py":
        raise NotFound(f"{target} is not a file; give a Python file or an id like spade/maze-v0")
    return [_of_store(target, stores)]


def _kind(path: Path) -> tuple[bool, bool]:
    """Return whether it is a file, and a folder; a long list of names is neither."""
    try:
        return path.is_file(), path.is_dir()
    except OSError:
        return False, False


def _of_framework(prefix: str, rest: str) -> list[Target]:
    framework = FRAMEWORKS[prefix]
    if not rest:
        raise ConfigError(f"{prefix}: needs a name; write {framework.how}")
    found = [framework.wrap(name) for name in framework.names(rest) if name]
    return [_with_its_library(item) for item in found]


def _with_its_library(target: Target) -> Target:
    """Return a target, or why it cannot be checked if its library is not installed."""
    error = target.library.missing() if target.library is not None else ""
    return Target(label=target.label, error=error) if error else target


def _of_whole_store(folder: Path) -> list[Target]:
    store = open_store(folder)
    ids = [EnvId.parse(env_id) for env_id, withdrawn in scan(store.root).items() if not withdrawn]
    if not ids:
        raise NotFound(f"{folder} is an envstore without environments")
    return [_version(store, str(env_id)) for env_id in sorted(ids, key=_by_name)]


def _by_name(env_id: EnvId) -> tuple[str, int]:
    return env_id.name, env_id.version or 0


def _version(store: EnvStore, env_id: str) -> Target:
    """Return a version of a store; what is wrong with it is the target's `error`."""
    try:
        return _stored(store, store.get(env_id))
    except StoreError as error:
        return Target(label=env_id, error=str(error))


def _stored(store: EnvStore, record: Record) -> Target:
    source = store.source(record)
    return Target(
        label=record.id,
        source=source,
        library=library_of(source),
        may_weaken=False,
        licence=record.licence,
        title=record.title,
        certificate=store.report(record),
    )


def _of_store(ref: str, stores: Stores) -> Target:
    missing: NotFound | None = None
    try:
        for store in stores():
            try:
                record = store.get(ref)
            except NotFound as error:
                missing = missing or error
                continue
            return _stored(store, record)
    except IdError as error:
        raise NotFound(f"{ref!r} is neither a file nor an environment: {error}") from None
    raise missing or NotFound(f"there is no environment {ref!r}")
