"""Remotes by name, as this machine's user called them; kept outside every store."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec

from spade_envs.errors import ConfigError, NotFound, StorageError
from spade_envs.manifest.canonical import canonical_json
from spade_envs.sharing.remotes.address import Address, Kind, holds_secret, shown

FILE = "remotes.json"
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


def file_path() -> Path:
    """Return where they are, `$XDG_CONFIG_HOME/spade-envs/remotes.json` on Linux."""
    from platformdirs import user_config_path

    return user_config_path("spade-envs", appauthor=False) / FILE


def as_shown(url: str) -> str:
    """Return a named address as it may be printed, without a secret that was written by hand."""
    return shown(url) if holds_secret(url) else url


def readable_remotes() -> tuple[dict[str, str], dict[str, str]]:
    """Return the address of each named remote that can be used, and what is wrong with others.

    Raises:
        ConfigError: the file cannot be read.
    """
    good, bad = {}, {}
    for name, url in known_remotes().items():
        try:
            Address.read(url)
        except ConfigError as error:
            bad[name] = f"{error}; remove it with: spade-envs remote remove {name}"
        else:
            good[name] = url
    return good, bad


def known_remotes() -> dict[str, str]:
    """Return the address of each named remote.

    Raises:
        ConfigError: the file cannot be read.
    """
    path = file_path()
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, str])
    except FileNotFoundError:
        return {}
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read ({error}); mend it or remove it") from None
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read ({error.strerror}); set XDG_CONFIG_HOME to a folder of your own"
        ) from None


def address_of(text: str) -> str:
    """Return the address of a named remote, or what was given if it is an address.

    Raises:
        ConfigError: it is neither.
    """
    remotes = known_remotes()
    if text in remotes:
        return remotes[text]
    found = Address.read(text)
    if found.kind is Kind.FOLDER and _NAME.fullmatch(text) and not os.path.exists(text):
        names = ", ".join(sorted(remotes)) or "none yet"
        raise ConfigError(
            f"{text!r} is neither a remote of yours ({names}) nor a folder; name it with: "
            f"spade-envs remote add {text} URL (for a new folder write ./{text})"
        )
    return text


def add_remote(name: str, url: str) -> None:
    """Note a remote's address under a name.

    Raises:
        ConfigError: the name is taken, or the address holds a password or is none.
        StorageError: it cannot be written down.
    """
    if not _NAME.fullmatch(name) or len(name) > 40:
        raise ConfigError(f"{name!r} is no name of a remote; write a word like team")
    found = Address.read(url)
    if holds_secret(url):
        raise ConfigError(
            f"the address of {name} holds a user name, password or token, which would be written "
            f"to disk; add {shown(url)} and let git's credential helper, the login of the Hub or "
            "the store's own settings keep the secret"
        )
    kept = found.url if found.kind is Kind.FOLDER else url
    if found.kind is Kind.GIT and found.url.startswith("file://"):
        kept = f"git+{found.url}" + (f"#{found.revision}" if found.revision else "")
    remotes = known_remotes()
    if remotes.get(name, kept) not in (kept, url):
        raise ConfigError(
            f"{name} is {as_shown(remotes[name])} already; remove it first with: spade-envs remote "
            f"remove {name}"
        )
    _write({**remotes, name: kept})


def remove_remote(name: str) -> str:
    """Forget a remote, and return its address; nothing at the remote changes.

    Raises:
        NotFound: there is none of that name.
    """
    remotes = known_remotes()
    if name not in remotes:
        raise NotFound(f"there is no remote {name!r}; there are: {', '.join(remotes) or 'none'}")
    url = remotes.pop(name)
    _write(remotes)
    return url


def _write(remotes: Mapping[str, str]) -> None:
    path = Path(os.path.realpath(file_path()))  # where it is a link, the link stays
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, half = tempfile.mkstemp(dir=path.parent, prefix=f".{FILE}.")
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(canonical_json(dict(remotes)))
                stream.flush()
                os.fsync(stream.fileno())
            Path(half).replace(path)
        finally:
            Path(half).unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(
            f"{path} cannot be written ({error.strerror}); set XDG_CONFIG_HOME to a folder of your "
            "own"
        ) from None
