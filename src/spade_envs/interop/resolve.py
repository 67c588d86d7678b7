"""From what a user types to the things to check."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from spade_envs.errors import ConfigError, IdError, NotFound
from spade_envs.interop.files import of_file, of_folder
from spade_envs.interop.frameworks import FRAMEWORKS, library_of
from spade_envs.interop.target import Target
from spade_envs.store import EnvStore

Stores = Callable[[], Iterable[EnvStore]]


def resolve(target: str, stores: Stores = tuple) -> list[Target]:
    """Return what `target` stands for, one or many.

    Args:
        target: a Python file; a folder of them, with or without checksums; `PREFIX:NAME` of a
            framework (see `frameworks.FRAMEWORKS`); or an id, name or digest in a store.
        stores: gives the stores to look ids up in, in order; asked only if it comes to that.

    Raises:
        NotFound: nothing is called that.
        ConfigError: the prefix needs a name after it.
    """
    path = Path(target)
    is_file, is_folder = _kind(path)
    if is_file:
        found = of_file(path)
        if found.error:
            raise ConfigError(f"{target}: {found.error}")
        return [found]
    if is_folder:
        return of_folder(path)
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
    for item in found:
        if item.library is not None and (error := item.library.missing()):
            raise ConfigError(f"{item.label}: {error}")
    return found


def _of_store(ref: str, stores: Stores) -> Target:
    missing: NotFound | None = None
    try:
        for store in stores():
            try:
                record = store.get(ref)
            except NotFound as error:
                missing = missing or error
                continue
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
    except IdError as error:
        raise NotFound(f"{ref!r} is neither a file nor an environment: {error}") from None
    raise missing or NotFound(f"there is no environment {ref!r}")
