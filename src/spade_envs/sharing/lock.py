"""Lock files: which environments a training run used, to the digest, and where they are kept.

`envstore.lock` is canonical JSON: ids, digests, and the addresses of remotes. It says nothing about
whether its environments may be trusted; `install` asks of them what `pull` asks.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import msgspec

from spade_envs.errors import ConfigError, Corrupt, FormatTooNew, IdError
from spade_envs.ids import EnvId
from spade_envs.manifest.canonical import canonical_json, parse_json
from spade_envs.sharing.remotes.address import Address, Kind, holds_secret
from spade_envs.sharing.wanted import EVERYTHING, Wanted
from spade_envs.store import EnvStore
from spade_envs.store.lookup import check_index
from spade_envs.store.outside import write_whole
from spade_envs.store.plays import PlayReader
from spade_envs.store.trouble import storage_error
from spade_envs.trust.origin import origin_in, origins_of, public_address

LOCK_FILE = "envstore.lock"
LOCK_FORMAT = 1
_MAX_BYTES = 64 << 20

Word = Annotated[str, msgspec.Meta(max_length=100)]
Url = Annotated[str, msgspec.Meta(min_length=1, max_length=2000)]


class Locked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One environment, to the digest."""

    id: Word
    digest: Annotated[str, msgspec.Meta(pattern=r"^sha256:[0-9a-f]{64}$")]
    remote: Word = ""
    """Name of the remote in the lock; empty if none is known."""


class Lock(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a lock file holds."""

    environments: tuple[Locked, ...]
    remotes: dict[Word, Url] = {}
    """Addresses by name; no secrets."""
    format: int = LOCK_FORMAT

    def encode(self) -> bytes:
        """Return the bytes of the file."""
        return canonical_json(msgspec.to_builtins(self))


def make_lock(
    store: EnvStore,
    wanted: Wanted = EVERYTHING,
    *,
    known: Mapping[str, str] | None = None,
    remote: str | None = None,
) -> Lock:
    """Return the lock of what a store holds; withdrawn versions are left out.

    Args:
        store: what was used.
        wanted: what of it.
        known: addresses of named remotes; what came from one is locked to its name.
        remote: address or name of the remote that has what did not come from one, such as that
            to which it was pushed.

    Raises:
        NotFound: a ref names nothing in the store.
        ConfigError: nothing is left to lock, or an address holds a secret.
        Corrupt: a manifest cannot be read, or the index gives it another digest.
    """
    names = {_plain(url): name for name, url in (known or {}).items()}
    used: dict[str, str] = {}
    cells = PlayReader(store.root).cells() if wanted.success is not None else {}
    found = [each for each in wanted.choose(store.records(), cells) if each.withdrawn is None]
    if not found:
        raise ConfigError(f"{store.root} holds nothing to lock; choose other environments")
    locked = []
    for record in found:
        check_index(store.root, EnvId.parse(record.id), record.digest)
        came = [each for each in origins_of(record.digest) if each.id == record.id]
        # Where this store has it from counts, not where another store of the user's has it from.
        origin = origin_in(store.root, record.id, came) or next(iter(came), None)
        address = (origin.address or origin.remote) if origin else remote
        name = ""
        if address:
            name = _named(address, names, known or {}, used)
        locked.append(Locked(record.id, record.digest, name))
    for url in used.values():
        if holds_secret(url):
            raise ConfigError(f"{public_address(url)} is given with a secret; leave that out")
    return Lock(environments=tuple(locked), remotes=dict(sorted(used.items())))


def _named(
    address: str, names: dict[str, str], known: Mapping[str, str], used: dict[str, str]
) -> str:
    """Return the name of an address, made up if it has none, and note that it is used."""
    if address in known:
        used[address] = _kept(known[address])
        return address
    name = names.get(_plain(address))
    if name is None:
        taken = {*names.values(), *known, *used}
        name = next(text for n in range(len(taken) + 1) if (text := f"r{n}") not in taken)
        names[_plain(address)] = name
    used.setdefault(name, _kept(known.get(name, address)))
    return name


def _plain(url: str) -> str:
    """Return an address in one way of writing it: `/x.git` and `git+file:///x.git` are one."""
    return Address.read(url).written


def _kept(url: str) -> str:
    """Return an address as a lock keeps it: a folder from anywhere on this machine."""
    found = Address.read(url)
    return found.url if found.kind is Kind.FOLDER else url


def write_lock(lock: Lock, path: Path) -> None:
    """Write a lock file, whole or not at all; an older one is replaced.

    Raises:
        ConfigError: the path names no ordinary file.
        StorageError: it cannot be written there.
    """
    if not path.name or os.path.isdir(path):
        raise ConfigError(f"{path} is a folder; name the lock file, such as {LOCK_FILE}")
    write_whole(path, lock.encode())


def read_lock(path: Path) -> Lock:
    """Return what a lock file holds.

    Raises:
        ConfigError: there is none, or it cannot be used; the message names the key.
        FormatTooNew: a newer release wrote it.
    """
    if os.path.isdir(path):
        raise ConfigError(f"{path} is a folder; name the lock file, such as {LOCK_FILE}")
    try:
        with path.open("rb") as stream:  # it may be a pipe or a device, which tells no size
            data = stream.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise ConfigError(f"{path} has more than {_MAX_BYTES} bytes")
        raw = parse_json(data, str(path))
        told = raw.get("format") if isinstance(raw, dict) else None
        if isinstance(told, int) and told > LOCK_FORMAT:
            raise FormatTooNew(
                f"{path} has format {told}; this release reads up to {LOCK_FORMAT}. "
                "Run: pip install -U spade-envs"
            )
        lock = msgspec.convert(raw, Lock)
        if lock.format < LOCK_FORMAT:
            raise ConfigError(f"{path} is no lock file: there is no format {lock.format}")
    except FileNotFoundError:
        raise ConfigError(f"{path} is not there; make it with: spade-envs lock") from None
    except (Corrupt, msgspec.ValidationError) as error:
        raise ConfigError(f"{path} is no lock file: {error}") from None
    except OSError as error:
        told_why = storage_error(error, "read", path, other="another lock file")
        raise ConfigError(str(told_why)) from None
    seen: set[str] = set()
    for each in lock.environments:
        try:
            named = EnvId.parse(each.id)
        except IdError as error:
            raise ConfigError(f"{path}: {error}") from None
        if str(named) != each.id or named.version is None:
            raise ConfigError(f"{path}: {each.id!r} must be written like 'spade/maze-v0'")
        if each.id in seen:
            raise ConfigError(f"{path}: {each.id} is locked twice")
        if each.remote and each.remote not in lock.remotes:
            raise ConfigError(f"{path}: {each.id} names the remote {each.remote!r}, of no address")
        seen.add(each.id)
    for name, url in lock.remotes.items():
        if holds_secret(url):
            raise ConfigError(f"{path}: the address of {name} holds a secret; leave it out")
        Address.read(url)
    return lock
