"""What a remote offers: its listing sorted, and the files of one version checked. Runs nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from spade_envs.ids import EnvId
from spade_envs.store.layout import (
    CARD,
    MANIFEST,
    MAX_MANIFEST_BYTES,
    MAX_REPORT_BYTES,
    MAX_SOURCE_BYTES,
    MAX_TOMBSTONE_BYTES,
    REPORT,
    SIGNATURE,
    SOURCE,
    TOMBSTONE,
)

if TYPE_CHECKING:
    from spade_envs.manifest.models import Manifest

MAX_SIGNATURE_BYTES = 1 << 16
POINTER = "is only a Git LFS pointer (`git lfs pull` fetches the file itself)"
_POINTER_MEND = "run that where it comes from, or ask its publisher to, and share it again"


@dataclass(frozen=True, slots=True)
class Entry:
    """A file that a remote lists."""

    path: str
    """Relative to the store, with `/` between the parts."""
    size: int
    """Bytes, as the remote says; what is read must be held to `Limits.of`."""
    kind: Literal["file", "link", "other", "unreadable"] = "file"
    """Anything but a file is refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much is taken from a remote."""

    entries: int = 1_000_000
    """Most files in a listing."""
    total_bytes: int = 32 << 30
    """Most bytes of all versions together."""
    files: Mapping[str, int] = field(
        default_factory=lambda: MappingProxyType(
            {
                MANIFEST: MAX_MANIFEST_BYTES,
                SOURCE: MAX_SOURCE_BYTES,
                REPORT: MAX_REPORT_BYTES,
                TOMBSTONE: MAX_TOMBSTONE_BYTES,
                CARD: MAX_MANIFEST_BYTES,
                SIGNATURE: MAX_SIGNATURE_BYTES,
            }
        )
    )
    """Most bytes of each file of a version, by its name."""

    def of(self, file: str) -> int:
        """Return the most bytes that may be read of a version's file; 0 for any other."""
        return self.files.get(file, 0)


@dataclass(frozen=True, slots=True)
class Refused:
    """Something that is not taken from a remote."""

    where: str
    """Path or id that it is about."""
    reason: str
    mend: str
    command: str = ""
    """The command at the end of the mend; empty if there is none."""

    def __str__(self) -> str:
        return f"{self.where} {self.reason}; {self.mend}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What a remote lists, sorted."""

    versions: Mapping[EnvId, tuple[Entry, ...]]
    """Whole versions, each with its files in order of path. Nothing of them is checked yet but
    names and sizes."""
    refused: tuple[Refused, ...] = ()
    """What must not even be fetched."""
    unfinished: tuple[Refused, ...] = ()
    """Versions that lack a file, as while they are being pushed."""
    left_alone: tuple[Refused, ...] = ()
    """Caches and the like, which are never taken."""
    others: tuple[Entry, ...] = ()
    """Files of the store as a whole: marker, index, ledgers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The files of one version, whole and consistent; not yet run, and nobody vouches for them."""

    env_id: EnvId
    digest: str
    manifest: Manifest
    files: Mapping[str, bytes]
    """By name in the version's folder."""
    withdrawn: str | None = None
    """Why the version was withdrawn; None if it was not."""

    @property
    def signature(self) -> bytes | None:
        """The detached signature that came along."""
        return self.files.get(SIGNATURE)


def sort_listing(entries: Iterable[Entry], limits: Limits = Limits()) -> Listing:
    """Return what may be fetched of a listing, and what not with the reasons.

    Looks at names and sizes alone. One bad file refuses its whole version.

    Args:
        entries: what the remote lists, in any order; read no further than `limits.entries`.
        limits: how much is taken.
    """
    from spade_envs.trust.sorting import Sorter

    sorter = Sorter(limits)
    for entry in entries:
        if not sorter.take(entry):
            break
    return sorter.listing()


def is_pointer(data: bytes) -> bool:
    """Whether a file is what Git leaves in place of one that Git LFS keeps and nobody fetched.

    Source: https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md
    """
    return len(data) < 1024 and data.startswith(b"version https://git-lfs.github.com/spec/")


def check_files(
    env_id: EnvId,
    files: Mapping[str, bytes],
    limits: Limits = Limits(),
) -> Checked | Refused:
    """Return a version's files if they are whole and belong together, else why not. Runs nothing.

    Args:
        env_id: where the remote keeps them; the manifest must say the same.
        files: content by name in the version's folder, such as `manifest.json`.
        limits: how much is taken.
    """
    from spade_envs.errors import SpadeError
    from spade_envs.trust.contents import flaw_of, open_version

    mend = "leave it out, or ask its publisher for a new version"
    where = str(env_id)
    for name in sorted(files):
        if limits.of(name) == 0:
            return Refused(where, f"holds {name[:80]!r}, which is no file of a version", mend)
        if len(files[name]) > limits.of(name):
            reason = f"has a {name} of more than {limits.of(name)} bytes"
            return Refused(where, reason, mend)
        if is_pointer(files[name]):
            return Refused(where, f"is refused: {name} {POINTER}", _POINTER_MEND)
    try:
        version = open_version(env_id, files)
    except SpadeError as error:
        return Refused(where, f"is refused: {error}", mend)
    if flaw := flaw_of(version):
        return Refused(where, flaw, mend)
    return version
