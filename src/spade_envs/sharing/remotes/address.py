"""Addresses of remotes: which kind one is, and what of it may be shown and written down."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from urllib.parse import SplitResult, quote, unquote, urlsplit

from spade_envs.errors import ConfigError
from spade_envs.store.read import clean_line
from spade_envs.trust.origin import as_it_is, one_spelling, public_address, public_host

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)
_SCP = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_.-]*@)?[A-Za-z0-9][A-Za-z0-9.-]*:(?!//)[^\s].*")
_HUB = re.compile(
    r"hf://datasets/([A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*?)(?:@(\w[\w./-]*))?/?", re.ASCII
)
_REVISION = re.compile(r"[\w+=][\w./+=,%@-]{0,199}")
_GIT_SCHEMES = frozenset({"git", "ssh", "http", "https", "file"})
_IPV6 = re.compile(r"(?<=[/@])\[[0-9A-Fa-f:.]+\](?=[:/])")
_LOGINS = frozenset({"s3", "s3a", "gs", "gcs"})
"""Schemes of object stores where a bucket is the same one, whoever asks for it."""
_LAYERS = frozenset({"blockcache", "cached", "dir", "filecache", "generic", "simplecache"})
_LEAST = 5
_CUT_SHORT = re.compile(r"[^@\[\]]*:(?![0-9]*$)[^@]*")
"""Host and port with something else for a port: a password that a bare `/`, `?` or `#` ended."""
_PORT = re.compile(r"[^@\[\]:]*:[0-9]+")
"""Host and port, or a name and the digits of a password; an `@` inside a later part tells which."""
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
            told = "in printable UTF-8 without spaces around it"
            raise ConfigError(f"a remote needs an address: a folder or a URL, on one line, {told}")
        if text.startswith("-"):
            raise ConfigError(f"{shown(text)!r} begins with a hyphen; write ./ before a folder")
        scheme = match[1].lower() if (match := _SCHEME.match(text)) else ""
        text = scheme + text[len(scheme) :]
        if "::" in (_IPV6.sub("", text) if _is_git(scheme) else text):
            raise ConfigError(
                f"{shown(text)!r} is no address of a remote: '::' names a helper program or a "
                "chain of file systems; write a plain URL"
            )
        if scheme and _split(text) is None:
            raise ConfigError(
                f"{shown(text)!r} cannot be read; in a user name or password write / as %2F, "
                "? as %3F, # as %23, in a path @ as %40, and an IPv6 host in brackets"
            )
        if scheme == "hf":
            return _hub(text)
        if _is_git(scheme):
            return _git(text.removeprefix("git+"))
        if scheme == "file":
            url, mark, revision = text.partition("#")
            if not path_of(url):
                raise ConfigError(f"{text!r} names no place; write file:///PATH")
            return _local(path_of(url), mark, revision)
        if scheme and not text.partition("://")[2].strip("/"):
            raise ConfigError(f"{text!r} names no place; write {scheme}://BUCKET/FOLDER")
        if scheme:
            return _objects(scheme, text)
        if _SCP.fullmatch(text) and not os.path.lexists(text):
            return _git(text)
        return _local(*text.partition("#"))

    @property
    def label(self) -> str:
        """The address without user name and password; no two places have the same."""
        return shown(self.url)

    @property
    def known_as(self) -> str:
        """The label, with the branch or revision if one is named: each has a past of its own."""
        return f"{self.label}#{self.revision}" if self.revision else self.label

    @property
    def written(self) -> str:
        """The address as `read` takes it, with kind and revision, and without secrets."""
        text = self.label if holds_secret(self.url) else self.url
        if self.kind is Kind.HUB:
            return f"{text}@{self.revision}" if self.revision else text
        if self.kind is not Kind.GIT:
            return self.label
        text = f"git+{text}" if text.startswith("file://") else text
        return f"{text}#{self.revision}" if self.revision else text


def _is_git(scheme: str) -> bool:
    return scheme.startswith("git+") or scheme in _GIT_SCHEMES - {"file"}


def _hub(text: str) -> Address:
    match = _HUB.fullmatch(text)
    if match is None:
        raise ConfigError(
            f"{shown(text)!r} is no data set on the Hub; write hf://datasets/OWNER/NAME, or "
            "hf://datasets/OWNER/NAME@REVISION"
        )
    return Address(Kind.HUB, f"hf://datasets/{match[1]}", _not_proposed(match[2] or ""))


def _not_proposed(revision: str) -> str:
    """Refuse refs that anybody may make who may propose a change: consent covers them not."""
    if revision.startswith("refs/") and not revision.startswith(("refs/heads/", "refs/tags/")):
        raise ConfigError(f"{revision[:80]!r} is neither a branch nor a tag; name one of these")
    return revision


def _objects(scheme: str, text: str) -> Address:
    """Return an address of fsspec, all of which tells the place, but for a login."""
    if re.search("[?#]", text):
        raise ConfigError(
            f"{shown(text)!r} is followed by a ? or #, which may begin a secret; name a folder "
            "without one, and keep tokens in the store's own settings"
        )
    if scheme == "local":
        raise ConfigError(
            f"{shown(text)} is on the disk of this machine; name a folder by its path"
        )
    if scheme in _LAYERS:
        raise ConfigError(f"{scheme}:// is a layer over another file system; name that one's URL")
    netloc = urlsplit(text).netloc
    if "@" in netloc and scheme not in _LOGINS and public_host(scheme, netloc) != netloc:
        raise ConfigError(
            f"{shown(text)!r} has something before an @, by which {scheme}:// may mean another "
            "place; leave that out, and keep user and password in the settings of fsspec"
        )
    return Address(Kind.OBJECTS, text.rstrip("/"))


def _git(text: str) -> Address:
    url, _, revision = text.partition("#")
    scheme = match[1].lower() if (match := _SCHEME.match(url)) else ""
    if scheme and scheme not in _GIT_SCHEMES:
        raise ConfigError(f"git does not speak {scheme!r} here; use https, ssh or file")
    host = urlsplit(url).netloc.rpartition("@")[2] if scheme else url.rpartition("@")[2]
    if host.startswith("-") or (scheme not in ("", "file") and not host):
        raise ConfigError(f"{shown(url)!r} names no host that git may be given")
    if scheme == "file":
        if not path_of(url):
            raise ConfigError(f"{text!r} names no place; write file:///PATH")
        return _repository(path_of(url), revision)
    if scheme and "?" in url:
        raise ConfigError(
            f"{shown(url)!r} is followed by a query, which may be secret and may mean another "
            "place; leave it out, let git's credential helper keep tokens, and write a ? of the "
            "path as %3F"
        )
    if scheme == "ssh" and re.fullmatch(r"ssh://[^/]*@[^/]*/~(/.*)?", url):
        raise ConfigError(
            f"{shown(url)!r} is in the home of whoever logs in; name whose it is: "
            "ssh://HOST/~USER/PATH, or USER@HOST:PATH"
        )
    return Address(Kind.GIT, url, _checked(revision))


def _checked(revision: str) -> str:
    """Return a revision as git takes it, a branch by its short name."""
    if not revision:
        return ""
    revision = revision.removeprefix("refs/heads/")
    parts = revision.split("/")
    odd = any(not part or part.startswith(".") or part.endswith((".", ".lock")) for part in parts)
    if odd or not _REVISION.fullmatch(revision) or ".." in revision or revision == "HEAD":
        raise ConfigError(f"{revision[:80]!r} is no branch, tag or commit; write URL#main")
    return _not_proposed(revision)


def _repository(path: str, revision: str) -> Address:
    """Return a repository on this machine; git decodes its URL."""
    path = _absolute(path)
    for letter in "%?#":
        path = path.replace(letter, f"%{ord(letter):02X}")
    return Address(Kind.GIT, f"file://{path}", _checked(revision))


def _local(plain: str, mark: str, revision: str) -> Address:
    whole = Path(os.path.expanduser(f"{plain}{mark}{revision}"))
    if mark and _is_bare(whole):
        name = quote(str(whole.absolute()))
        raise ConfigError(
            f"{whole} is a git repository with a # in its path; write git+file://{name}"
        )
    path = Path(os.path.expanduser(plain))
    if _is_bare(path) or (path.suffix == ".git" and not os.path.lexists(path / "ENVSTORE.json")):
        return _repository(plain, revision)
    return Address(Kind.FOLDER, _absolute(f"{plain}{mark}{revision}"))


def _is_bare(path: Path) -> bool:
    # Asked of `os.path`, to which what may not be entered is not there.
    return os.path.isfile(path / "HEAD") and os.path.isdir(path / "objects")


def path_of(url: str) -> str:
    """Return the path that a `file://` URL names on this machine; `%20` in it is a space."""
    host, slash, rest = url.partition("://")[2].partition("/")
    path = unquote(f"{host if host.startswith('~') else ''}{slash}{rest}", errors="replace")
    if host.lower() not in ("", "localhost") and not host.startswith("~"):
        raise ConfigError(f"{shown(url)!r} names another machine; write file:///PATH, or a path")
    if not path.isprintable() or "\ufffd" in path:
        raise ConfigError(f"{shown(url)!r} names no printable path; write % as %25")
    return path


def _absolute(path: str) -> str:
    """Return a printable path from the root of the disk; a home must be that of a user."""
    whole = os.path.expanduser(path)
    if whole.startswith("~"):
        raise ConfigError(
            f"{path}: there is no user of that name; write ./{path} for a folder of yours"
        )
    found = one_spelling(str(Path(whole).absolute()))
    if not found.isprintable():  # notes would call others the same
        raise ConfigError(
            f"{path} lies in {clean_line(found, 300)!r}, which is not printable UTF-8; rename that "
            "folder, or name another place"
        )
    return found


def _split(url: str) -> SplitResult | None:
    """Return the parts of a URL; None if it has none, or if a password may be among the others."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    rest = url.partition("://")[2][len(parts.netloc) :]
    cut = "@" in rest and _CUT_SHORT.fullmatch(parts.netloc)
    cut = cut or (re.search(r"[^/]@", rest) and _PORT.fullmatch(parts.netloc))
    return None if cut else parts


def shown(url: str) -> str:
    """Return an address as it may be printed and logged: without what could be secret."""
    text = as_it_is(url)
    if not _SCHEME.match(text):
        return text
    if _split(text) is None:
        return f"{text.partition('://')[0]}://..."
    return public_address(text)


def holds_secret(url: str) -> bool:
    """Whether an address has a password or token in it, or may have one in its query."""
    if not _SCHEME.match(url):
        return False
    parts = _split(url)
    if parts is None:
        return True
    if parts.scheme.removeprefix("git+") == "file":
        return bool(parts.netloc.rpartition("@")[0])
    user = "" if public_host(parts.scheme, parts.netloc) == parts.netloc else parts.netloc
    user = user.rpartition("@")[0]
    harmless = user in ("", "git") or (parts.scheme.endswith("ssh") and ":" not in user)
    return not harmless or bool(parts.query)


def masked(text: str, url: str) -> str:
    """Return what a program or library said, without what is secret in the address."""
    text = text.replace(url, shown(url))
    parts = _split(url) if _SCHEME.match(url) else None
    user = "" if parts is None else parts.netloc.rpartition("@")[0]
    for part in (user, user.partition(":")[2]):
        if len(part) >= _LEAST:  # a shorter one is in too many words, and git leaves it out itself
            text = text.replace(part, "...")
    return clean_line(_SECRET.sub("", text), 600)
