"""Addresses of remotes: which kind one is, and what of it may be shown and written down."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from spade_envs.errors import ConfigError
from spade_envs.store.read import clean_line

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)
_SCP = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_.-]*@)?[A-Za-z0-9][A-Za-z0-9.-]*:(?!//)[^\s].*")
_HUB = re.compile(
    r"hf://datasets/([A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*?)(?:@(\w[\w./-]*))?/?", re.ASCII
)
_REVISION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]{0,199}")
_GIT_SCHEMES = frozenset({"git", "ssh", "http", "https", "file"})
_LEAST = 5
_SECRET = re.compile(r"(?<=//)[^/@\s]+@")


class Kind(StrEnum):
    """Sorts of remotes."""

    FOLDER = "folder"
    GIT = "git"
    OBJECTS = "objects"
    HUB = "hub"


@dataclass(frozen=True, slots=True)
class Address:
    """Where a remote is."""

    kind: Kind
    url: str
    """As the library or program that reaches it wants it; may hold a password."""
    revision: str = ""
    """Branch, tag or commit; empty for the usual one."""

    @classmethod
    def read(cls, text: str) -> Address:
        """Return what an address means; a plain path is a folder, or a bare git repository.

        Raises:
            ConfigError: it cannot be an address, or one that could run programs.
        """
        if not text or text != text.strip() or not text.isprintable():
            raise ConfigError("a remote needs an address: a folder or a URL, on one line")
        if text.startswith("-"):
            raise ConfigError(f"{shown(text)!r} begins with a hyphen; write ./ before a folder")
        if "::" in text:
            raise ConfigError(
                f"{shown(text)!r} is no address of a remote: '::' names a helper program or a "
                "chain of file systems; write a plain URL"
            )
        scheme = match[1].lower() if (match := _SCHEME.match(text)) else ""
        if scheme == "hf":
            return _hub(text)
        if scheme.startswith("git+") or scheme in ("git", "ssh", "http", "https"):
            return _git(text.removeprefix("git+"))
        if scheme == "file":
            return _local(text[len("file://") :])
        if scheme:
            return cls(Kind.OBJECTS, text.rstrip("/"))
        if _SCP.fullmatch(text) and not os.path.lexists(text):
            return _git(text)
        return _local(text)

    @property
    def label(self) -> str:
        """The address without user name, password, query and fragment."""
        return shown(self.url)


def _hub(text: str) -> Address:
    match = _HUB.fullmatch(text)
    if match is None:
        raise ConfigError(
            f"{shown(text)!r} is no data set on the Hub; write hf://datasets/OWNER/NAME, or "
            "hf://datasets/OWNER/NAME@REVISION"
        )
    return Address(Kind.HUB, f"hf://datasets/{match[1]}", match[2] or "")


def _git(text: str) -> Address:
    url, _, revision = text.partition("#")
    if revision and (not _REVISION.fullmatch(revision) or ".." in revision):
        raise ConfigError(f"{revision[:80]!r} is no branch, tag or commit; write URL#main")
    scheme = match[1].lower() if (match := _SCHEME.match(url)) else ""
    if scheme and scheme not in _GIT_SCHEMES:
        raise ConfigError(f"git does not speak {scheme!r} here; use https, ssh or file")
    host = urlsplit(url).netloc.rpartition("@")[2] if scheme else url.rpartition("@")[2]
    if host.startswith("-") or (scheme not in ("", "file") and not host):
        raise ConfigError(f"{shown(url)!r} names no host that git may be given")
    if scheme in ("", "file") and not _SCP.fullmatch(url):
        path = Path(url.removeprefix("file://")).expanduser().absolute()
        return Address(Kind.GIT, f"file://{path}", revision)
    return Address(Kind.GIT, url, revision)


def _local(text: str) -> Address:
    plain, _, _ = text.partition("#")
    path = Path(plain).expanduser()
    bare = (path / "HEAD").is_file() and (path / "objects").is_dir()
    if bare or (path.suffix == ".git" and not (path / "ENVSTORE.json").exists()):
        return _git(text)
    return Address(Kind.FOLDER, str(Path(text).expanduser().absolute()))


def shown(url: str) -> str:
    """Return an address as it may be printed and logged: without what could be secret."""
    text = clean_line(url, 500)
    if not _SCHEME.match(text):
        return text
    try:
        parts = urlsplit(text)
    except ValueError:
        return f"{text.partition('://')[0]}://..."
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


def holds_secret(url: str) -> bool:
    """Whether an address has a password or token in it, or may have one in its query."""
    if not _SCHEME.match(url):
        return False
    parts = urlsplit(url)
    user = parts.netloc.rpartition("@")[0]
    harmless = user in ("", "git") or (parts.scheme.endswith("ssh") and ":" not in user)
    return not harmless or bool(parts.query)


def masked(text: str, url: str) -> str:
    """Return what a program or library said, without what is secret in the address."""
    text = text.replace(url, shown(url))
    user = urlsplit(url).netloc.rpartition("@")[0] if _SCHEME.match(url) else ""
    for part in (user, user.partition(":")[2]):
        if len(part) >= _LEAST:  # a shorter one is in too many words, and git leaves it out itself
            text = text.replace(part, "...")
    return clean_line(_SECRET.sub("", text), 600)
