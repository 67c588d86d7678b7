"""Which environments came from elsewhere, and from where: noted by this machine at every pull."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from spade_envs.ids import EnvId, check_digest
from spade_envs.store.read import clean_line
from spade_envs.trust import journal

FILE = "origins.jsonl"
_HERE = re.compile(r"((?:git\+)?file://)?(?=[/~])")
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)
_CONTAINERS = frozenset({"abfs", "abfss", "az"})
"""Schemes with the container before the host, as in `abfs://CONTAINER@ACCOUNT/FOLDER`."""


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Where a version came from, as noted when it was placed."""

    digest: str
    id: str
    """In the store that it was placed in."""
    store: str
    remote: str
    """Address without user names, passwords and tokens."""
    address: str = ""
    """Address that leads there again, with kind and branch and without secrets; empty if that was
    not noted."""
    signed_by: str = ""
    """Name of the allowed signer whose signature held when it was pulled; empty if none did."""
    signed_key: str = ""
    """Their public key: another key of the same name is somebody else's word."""
    signed_as: str = ""
    """The id that was signed, if it was renamed by the pull."""
    trust_certificate: bool = False
    """Whether the user asked not to run the gates again for what allowed signers signed."""
    locked: bool = False
    """Whether a lock file chose the name here, and not the user."""

    @property
    def source(self) -> str:
        """What the remote calls it."""
        return self.signed_as or self.id

    @property
    def namespace(self) -> str:
        """Return the owner in the name, `alice` of `spade/alice.maze-v0`; empty without one.

        Whoever wrote a lock file can call anything `alice.maze`, so then it is the owner in the
        name at the remote.
        """
        name = EnvId.parse(self.source if self.locked else self.id).name
        return name.partition(".")[0] if "." in name else ""


def note_origin(
    root: Path,
    env_id: EnvId,
    digest: str,
    remote: str,
    *,
    address: str = "",
    signed_by: str = "",
    signed_key: str = "",
    signed_as: EnvId | None = None,
    trust_certificate: bool = False,
    locked: bool = False,
) -> None:
    """Note that a version comes from elsewhere. Call it before the version is placed.

    Args:
        root: store that it is placed in.
        env_id: what it is called there.
        digest: of the version.
        remote: address of the remote; what is secret in it is left out.
        address: address that leads there again; must hold no secret.
        signed_by: `Admitted.signed_by`.
        signed_key: `Admitted.signed_key`.
        signed_as: what the remote calls it, if it is renamed.
        trust_certificate: do not run the gates again before the first run, if `signed_by` is
            still an allowed signer then.
        locked: a lock file chose the name.

    Raises:
        StoreError: it cannot be noted; then the version must not be placed.
        IdError: the digest is none.
    """
    origin = Origin(
        digest=check_digest(digest),
        id=str(env_id),
        store=store_text(root),
        remote=public_address(remote),
        address=as_it_is(address),
        signed_by=signed_by,
        signed_key=signed_key,
        signed_as="" if signed_as is None else str(signed_as),
        trust_certificate=trust_certificate,
        locked=locked,
    )
    noted = [each for each in origins_of(digest) if each.store == origin.store]
    if [each for each in noted if each.id == origin.id][-1:] != [origin]:
        journal.append(FILE, [origin])


def store_text(root: Path) -> str:
    """Return the path of a store as notes have it; paths need not be text, and notes must."""
    return one_spelling(str(root)).encode("utf-8", "backslashreplace").decode("utf-8")


def origins_of(digest: str) -> list[Origin]:
    """Return every origin that was noted for a digest, the oldest first; empty for one's own."""
    return [_respelled(each) for each in journal.grouped(FILE, Origin, "digest").get(digest, ())]


def _respelled(noted: Origin) -> Origin:
    """Return a note with its folders in one spelling; earlier releases noted them as given."""
    given = {"remote": noted.remote, "address": noted.address, "store": noted.store}
    other = {key: new for key, text in given.items() if (new := one_spelling(text)) != text}
    return msgspec.structs.replace(noted, **other) if other else noted


def as_it_is(address: str) -> str:
    """Return an address on one line; if it can be printed, unaltered, so that it leads there."""
    return address if address.isprintable() else clean_line(address, 2000)


def one_spelling(address: str) -> str:
    """Return the address of a place on this machine as all notes spell it, others as they are.

    A path has its `~` expanded, and `..`, `.` and doubled slashes are taken out. Links stay, but
    for one that a `..` leads out of, so that the path means what it meant.

    Args:
        address: an absolute path, or a `file://` or `git+file://` with one; anything else is not
            looked at.
    """
    found = _HERE.match(address)
    if found is None:
        return address
    path = os.path.expanduser(address[found.end() :])
    if not path.startswith("/"):
        return address
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            above = f"/{'/'.join(parts)}"
            if os.path.islink(above):
                parts = [each for each in os.path.realpath(above).split("/") if each]
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return f"{found[0]}/{'/'.join(parts)}"


def origin_in(root: Path, env_id: str, origins: Sequence[Origin]) -> Origin | None:
    """Return where a store has its copy of a version from; None if it noted none.

    Others may offer the same bytes, and other stores of the user's may hold copies of theirs.

    Args:
        root: the store.
        env_id: what the version is called there; a note under another name is the next best.
        origins: of the version's digest, the oldest first.
    """
    here = noted_for(root, origins)
    here = [each for each in here if each.id == env_id] or here
    return here[-1] if here else None


def noted_for(root: Path, origins: Sequence[Origin]) -> list[Origin]:
    """Return the origins that were noted for copies in a store, the oldest first.

    The store may have been opened through a link, then or now.
    """
    place = store_text(root)
    here = [each for each in origins if each.store == place]
    if origins and not here:
        real = os.path.realpath(place)
        here = [each for each in origins if os.path.realpath(each.store) == real]
    return here


def sources_in(root: Path, env_id: str, digest: str, remote: str) -> set[str]:
    """Return what a remote called the version that a store has from it; empty if it has none.

    Args:
        root: the store.
        env_id: what the version is called there.
        digest: of the version.
        remote: address of the remote.
    """
    address = public_address(remote)
    noted = noted_for(root, [each for each in origins_of(digest) if each.remote == address])
    return {each.source for each in noted if each.id == env_id}


def others_of(origins: Sequence[Origin], but: str) -> list[str]:
    """Return the remotes but for one that the same bytes were pulled from, the oldest first."""
    return list(dict.fromkeys(each.remote for each in origins if each.remote != but))


def public_address(remote: str) -> str:
    """Return a remote's address, spelt as all notes do, without user, password and query.

    Of a path on this machine nothing is left out: a `?` in it is a letter like any other.
    """
    text = one_spelling(as_it_is(remote))
    scheme = match[1].lower() if (match := _SCHEME.match(text)) else ""
    if not scheme:
        return text
    if scheme.removeprefix("git+") == "file":
        text = text.partition("#")[0].replace("?", "%3F")
    try:
        parts = urlsplit(text)
    except ValueError:
        return f"{scheme}://..."
    return f"{scheme}://{public_host(scheme, parts.netloc)}{parts.path}"


def public_host(scheme: str, netloc: str) -> str:
    """Return what may be shown of a host with a user before it: a container is a place, no user."""
    user, _, host = netloc.rpartition("@")
    return netloc if scheme in _CONTAINERS and ":" not in user else host
