"""What a remote offers: its listing, sorted, and what its index says about it."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import msgspec

from spade_envs.errors import Corrupt, FormatTooNew, NotFound, RemoteError
from spade_envs.ids import EnvId
from spade_envs.manifest.models import StoreMarker, read_model
from spade_envs.sharing.local import greatest, next_free
from spade_envs.sharing.remotes.protocol import LOST, Remote
from spade_envs.sharing.transfer import Reader, again
from spade_envs.store.index import IndexLine, line_of
from spade_envs.store.layout import (
    ENVS,
    INDEX,
    MANIFEST,
    MARKER,
    MAX_INDEX_BYTES,
    MAX_TOMBSTONE_BYTES,
    TOMBSTONE,
    version_path,
)
from spade_envs.store.read import parse_version
from spade_envs.trust.incoming import POINTER, Entry, Listing, is_pointer, sort_listing

_VERSION = re.compile(rf"{ENVS}/([^/]+)/v([0-9]{{1,9}})/", re.ASCII)

logger = logging.getLogger(__name__)


class _Report(msgspec.Struct):
    gates_version: str = ""


class _Manifest(msgspec.Struct):
    report: _Report


@dataclass(kw_only=True)
class Offered:
    """A look at a remote. What is read of it is kept, so that nothing is read twice."""

    remote: Remote
    reader: Reader
    listing: Listing
    entries: Mapping[str, Entry]
    """Every file that is listed, by path."""
    manifests: dict[EnvId, bytes] = field(default_factory=dict)
    _lost: dict[EnvId, str] = field(default_factory=dict)

    @property
    def is_store(self) -> bool:
        """Whether the remote holds an envstore."""
        return MARKER in self.entries

    def sizes(self, env_id: EnvId) -> dict[str, int]:
        """Return the sizes of a version's files by name."""
        return {_name(entry): entry.size for entry in self.listing.versions.get(env_id, ())}

    def next_free(self, name: str, taken: set[EnvId]) -> EnvId:
        """Return the first id after the greatest version there, whole or not, that is not taken."""
        return next_free(name, self._greatest, taken)

    @cached_property
    def _greatest(self) -> dict[str, int]:
        found = (_VERSION.match(path) for path in self.entries)
        return greatest((match[1], int(match[2])) for match in found if match)

    def is_withdrawn(self, env_id: EnvId) -> bool:
        """Whether a version has a tombstone there."""
        return f"{version_path(env_id)}/{TOMBSTONE}" in self.entries

    def index(self) -> dict[EnvId, IndexLine]:
        """Return the lines of the remote's index for versions that are listed; hearsay."""
        if INDEX not in self.entries:
            return {}
        try:
            data = self.reader.read(INDEX, MAX_INDEX_BYTES)
        except (RemoteError, FileNotFoundError) as error:
            logger.warning("the index of %s is passed over: %s", self.remote.label, error)
            return {}
        lines = {}
        for text in data.splitlines():
            try:
                line = msgspec.json.decode(text, type=IndexLine)
                lines[EnvId.parse(line.id)] = line
            except (msgspec.DecodeError, UnicodeDecodeError, ValueError):
                continue
        return {env_id: line for env_id, line in lines.items() if env_id in self.listing.versions}

    def fetch_manifests(self, wanted: Iterable[EnvId]) -> None:
        """Read the manifests of these versions, several at a time; unreadable ones are empty."""
        missing = [env_id for env_id in wanted if env_id not in self.manifests]
        self.manifests.update(self.reader.each(missing, self._manifest))

    def _manifest(self, env_id: EnvId) -> bytes:
        path = f"{version_path(env_id)}/{MANIFEST}"
        try:
            return self.reader.read(path, self.sizes(env_id).get(MANIFEST, 0))
        except FileNotFoundError:
            self._lost[env_id] = f"{path} is gone since it was listed; pull again"
        except LOST as error:
            self._lost[env_id] = str(error)
        return b""

    def line(self, env_id: EnvId) -> IndexLine | str:
        """Return what a manifest that was read says, or why it says nothing that counts."""
        if env_id in self._lost:
            return self._lost[env_id]
        where = f"{self.remote.label}/{version_path(env_id)}/{MANIFEST}"
        if is_pointer(self.manifests.get(env_id, b"")):
            return f"{where} {POINTER}"
        try:
            version = parse_version(self.manifests[env_id], env_id, where)
        except (Corrupt, FormatTooNew, KeyError) as error:
            return str(error)
        reason = "withdrawn" if self.is_withdrawn(env_id) else None
        return line_of(version.to_record(self.reader.place, reason))

    def gates_version(self, env_id: EnvId) -> str:
        """Return which gates certified a version, by its manifest that was read."""
        try:
            return msgspec.json.decode(self.manifests[env_id], type=_Manifest).report.gates_version
        except (msgspec.DecodeError, UnicodeDecodeError):
            return ""

    def index_holds_for(self, env_ids: Sequence[EnvId]) -> bool:
        """Whether the remote's index says of these versions what their manifests say."""
        said = self.index()
        self.fetch_manifests(env_ids)
        for env_id in env_ids:
            line, true = said.get(env_id), self.line(env_id)
            if line is None or isinstance(true, str):
                continue  # it was read from the manifest, or is refused for what that says
            if (line.digest, line.skills) != (true.digest, true.skills):
                return False
        return True

    def lines(self, *, hearsay: bool = True) -> dict[EnvId, IndexLine]:
        """Return what is known of every version: from the index, else from its manifest.

        Args:
            hearsay: believe the index, which may be stale or lie; else all manifests are read.
        """
        known = self.index() if hearsay else {}
        missing = self.listing.versions.keys() - known.keys()
        self.fetch_manifests(sorted(missing))
        for env_id in missing:
            line = self.line(env_id)
            if isinstance(line, IndexLine):
                known[env_id] = line
        for env_id, line in known.items():
            if (line.withdrawn is not None) != self.is_withdrawn(env_id):
                reason = "withdrawn" if self.is_withdrawn(env_id) else None
                known[env_id] = msgspec.structs.replace(line, withdrawn=reason)
        return known


def look(remote: Remote, reader: Reader, *, must_exist: bool) -> Offered:
    """Return what a remote offers now.

    Raises:
        NotFound: there is no store, and `must_exist` is set.
        FormatTooNew: a newer release wrote it.
        Corrupt: what says that it is a store cannot be read.
        RemoteError: the remote cannot be reached.
    """
    listed = again(remote.entries)
    offered = Offered(
        remote=remote,
        reader=reader,
        listing=sort_listing(listed),
        entries={entry.path: entry for entry in listed},
    )
    if offered.is_store:
        try:
            marker = reader.read(MARKER, MAX_TOMBSTONE_BYTES)
        except FileNotFoundError:
            raise RemoteError(f"{remote.label} changed while it was looked at; try again") from None
        if is_pointer(marker):
            raise Corrupt(f"{remote.label}/{MARKER} {POINTER}")
        read_model(StoreMarker, marker, f"{remote.label}/{MARKER}")
    elif must_exist:
        why = remote.absent or f"it has no {MARKER}"
        raise NotFound(f"there is no envstore at {remote.known_as} ({why})")
    return offered


def _name(entry: Entry) -> str:
    return entry.path.rpartition("/")[2]
