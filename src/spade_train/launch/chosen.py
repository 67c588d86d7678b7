"""The stores that a configuration names, and the environments that `pool.ids` names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from spade_envs.errors import ConfigError, NotFound, SpadeError
from spade_envs.store import EnvStore, open_store, starter_path
from spade_envs.types import Record

_MAX_BYTES = 16 << 20


def named_store(key: str, source: str) -> EnvStore:
    """Return the store that a key of the configuration names.

    Args:
        key: such as `pool.source`, for the message.
        source: `starter`, or the path of a store.

    Raises:
        ConfigError: there is no such store.
    """
    try:
        return open_store(starter_path() if source == "starter" else source)
    except NotFound as error:
        raise ConfigError(f'{key} = "{source}": {error}') from None


def chosen(store: EnvStore, ids: Sequence[str]) -> list[Record]:
    """Return the records of some environments, each once, in the order of the ids.

    Args:
        store: holds them.
        ids: ids, names or digests; or one file that ends in `.txt`, with one of these as the first
            word of each line that does not begin with `#`. None at all stand for the whole store.

    Raises:
        ConfigError: the file cannot be read or names nothing, or the store lacks one of them.
    """
    if not ids:
        return store.records()
    refs = list(ids)
    if len(refs) == 1 and refs[0].endswith(".txt"):
        refs = _listed(Path(refs[0]))
    found: dict[str, Record] = {}
    for ref in refs:
        try:
            record = store.get(ref)
        except SpadeError as error:
            text = str(error.args[0]) if error.args else str(error)
            raise ConfigError(f"pool.ids: {text}") from error
        found.setdefault(record.digest, record)
    return list(found.values())


def _listed(path: Path) -> list[str]:
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise ConfigError(f"pool.ids: {path} is too long for a list of environments")
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"pool.ids: cannot read {path}: {error}") from error
    refs = [line.split()[0] for line in lines if line.strip() and not line.startswith("#")]
    if not refs:
        raise ConfigError(f"pool.ids: {path} names no environment")
    return refs
