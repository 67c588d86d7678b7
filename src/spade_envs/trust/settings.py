"""Whom this machine's user trusts: one TOML file in the configuration folder, outside every store.

```toml
trust_certificate = false   # true: what an allowed signer signed runs without the gates run again
require_signatures = false  # true: a pull takes nothing that no allowed signer signed

[[signers]]
name = "alice@example.org"
key = "ssh-ed25519 AAAA..."
namespaces = ["alice"]      # owners in names; "*" for any, "" for names without an owner

[[namespaces]]
name = "alice"              # "" for names without an owner
remote = "https://..."      # "" for any remote
```
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from spade_envs.errors import ConfigError, IdError, StorageError
from spade_envs.ids import EnvId, check_name
from spade_envs.trust.origin import Origin, one_spelling, public_address
from spade_envs.trust.signatures import Signer

FILE = "trust.toml"
_MAX_BYTES = 1 << 20
_ELSEWHERE = "set XDG_CONFIG_HOME to a folder of your own"
_HEAD = "# Whom spade-envs trusts; see docs/trust.md. Edit it, or use spade-envs trust.\n\n"


class Allowed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Consent to run what carries a namespace, as one remote offers it."""

    name: str
    """Owner in the names; empty for names without one."""
    remote: str = ""
    """Address without secrets; empty for any remote."""


class _Key(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    key: str
    namespaces: tuple[str, ...] = ("*",)


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    trust_certificate: bool = False
    require_signatures: bool = False
    signers: tuple[_Key, ...] = ()
    namespaces: tuple[Allowed, ...] = ()


class Settings(msgspec.Struct, frozen=True):
    """What the user decided; the defaults trust nobody."""

    trust_certificate: bool = False
    require_signatures: bool = False
    signers: tuple[Signer, ...] = ()
    namespaces: tuple[Allowed, ...] = ()

    def allows(self, namespace: str, remote: str) -> bool:
        """Whether the user consented to run what carries a namespace and comes from a remote."""
        return any(
            each.name == namespace and each.remote in ("", remote) for each in self.namespaces
        )

    def signer(self, name: str) -> Signer | None:
        """Return the allowed signer of this name."""
        return next((each for each in self.signers if each.name == name), None)

    def vouches_for(self, origin: Origin) -> bool:
        """Whether the key that signed what was pulled is still that of an allowed signer."""
        signer = self.signer(origin.signed_by) if origin.signed_by else None
        if signer is None or signer.key != origin.signed_key:
            return False
        return signer.covers(EnvId.parse(origin.signed_as or origin.id))


def settings_path() -> Path:
    """Return where the settings are, `$XDG_CONFIG_HOME/spade-envs/trust.toml` on Linux."""
    from platformdirs import user_config_path

    return user_config_path("spade-envs", appauthor=False) / FILE


def load() -> Settings:
    """Return the user's settings; the defaults if there is no file.

    Raises:
        ConfigError: the file cannot be read; the message names the key.
    """
    path = settings_path()
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise ConfigError(f"{path} has more than {_MAX_BYTES} bytes")
        raw = tomllib.loads(path.read_text("utf-8"))
        found = msgspec.convert(raw, _File)
        signers = tuple(Signer(each.name, each.key, each.namespaces) for each in found.signers)
        # A pattern such as ali* would match nothing, and whoever wrote it would not know.
        for name in [each for signer in signers for each in signer.namespaces if each != "*"]:
            check_namespace(name)
        for allowed in found.namespaces:
            check_namespace(allowed.name)
    except FileNotFoundError:
        return Settings()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read ({error.strerror}); {_ELSEWHERE}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from None
    except msgspec.ValidationError as error:
        raise ConfigError(f"{path}: {error}{_keys_there(str(error))}") from None
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    allowed_ones = tuple(Allowed(each.name, one_spelling(each.remote)) for each in found.namespaces)
    return Settings(found.trust_certificate, found.require_signatures, signers, allowed_ones)


def _keys_there(said: str) -> str:
    """Return which keys there are where a key is unknown."""
    if "unknown field" not in said:
        return " (docs/trust.md)"
    tables = {"$.signers": _Key, "$.namespaces": Allowed}
    kind = next((each for place, each in tables.items() if place in said), _File)
    return f"; the keys there are {', '.join(kind.__struct_fields__)} (docs/trust.md)"


def check_namespace(name: str) -> str:
    """Return an owner as it stands in names; the empty word stands for names without one.

    Raises:
        ConfigError: no name can have this owner.
    """
    try:
        if name and (check_name(name) != name or "." in name):
            raise IdError("it must hold no dot")
    except IdError as error:
        raise ConfigError(f"{name!r} is no namespace: {error}") from None
    return name


def allow(namespace: str, remote: str) -> Allowed:
    """Consent to run what carries a namespace and comes from a remote; any remote if empty.

    Raises:
        ConfigError: the namespace is none, or the settings cannot be read.
        StorageError: they cannot be written.
    """
    allowed = Allowed(check_namespace(namespace), public_address(remote))
    if allowed not in load().namespaces:
        _edit(lambda file: _table(file, "namespaces", msgspec.to_builtins(allowed)))
    return allowed


def allow_signer(signer: Signer) -> None:
    """Let a signer's signatures count; one of the same name is replaced.

    Raises:
        ConfigError: a namespace is none, or the settings cannot be read.
        StorageError: they cannot be written.
    """
    for name in signer.namespaces:
        if name != "*":
            check_namespace(name)
    entry = {"name": signer.name, "key": signer.key, "namespaces": list(signer.namespaces)}

    def change(file: Any) -> None:
        _drop(file, "signers", lambda each: each.get("name") == signer.name)
        _table(file, "signers", entry)

    _edit(change)


def remove(name: str, remote: str | None = None) -> int:
    """Take back what was allowed to a signer or a namespace of this name; gives how much it was.

    Args:
        name: of a signer or a namespace.
        remote: only the consent for this remote; None for all.

    Raises:
        ConfigError: the settings cannot be read.
        StorageError: they cannot be written.
    """
    address = None if remote is None else public_address(remote)
    gone = []

    def change(file: Any) -> None:
        if address is None:
            gone.append(_drop(file, "signers", lambda each: each.get("name") == name))
        gone.append(
            _drop(
                file,
                "namespaces",
                lambda each: (
                    each.get("name") == name
                    and (address is None or one_spelling(each.get("remote", "")) == address)
                ),
            )
        )

    if settings_path().exists():
        _edit(change)
    return sum(gone)


def _table(file: Any, key: str, entry: dict[str, Any]) -> None:
    import tomlkit

    table = tomlkit.table()
    table.update(entry)
    if key not in file:
        file[key] = tomlkit.aot()
    file[key].append(table)


def _drop(file: Any, key: str, unwanted: Callable[[Any], bool]) -> int:
    held = file.get(key, [])
    places = [place for place, each in enumerate(held) if unwanted(each)]
    for place in reversed(places):
        del held[place]
    if key in file and not len(held):
        del file[key]
    return len(places)


def _edit(change: Callable[[Any], None]) -> None:
    """Change the file and keep what else the user wrote in it; it is replaced at once."""
    import tomlkit

    path = Path(os.path.realpath(settings_path()))  # where it is a link, the link stays
    load()  # refuse to touch what cannot be read
    try:
        with _locked(path):
            text = path.read_text("utf-8") if path.exists() else _HEAD
            file = tomlkit.parse(text)
            change(file)
            half = path.with_name(f".{path.name}.{os.getpid()}")
            try:
                half.write_text(tomlkit.dumps(file), "utf-8")
                half.chmod(0o600)
                half.replace(path)
            finally:
                half.unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(f"{path} cannot be written ({error.strerror}); {_ELSEWHERE}") from None


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(f".{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
