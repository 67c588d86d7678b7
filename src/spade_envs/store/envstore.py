"""`EnvStore`: one envstore on disk, as a value with methods. It caches nothing.

Reading loads no pydantic, so `gym.make` stays light; writing and full validation do.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from spade_envs.errors import Corrupt, NotCertified, StorageError, StoreError, Withdrawn
from spade_envs.ids import EnvId
from spade_envs.manifest.canonical import FileStamp, decode_report, digest_of, stamp
from spade_envs.store import index, layout
from spade_envs.store.catalog import insert_row, render
from spade_envs.store.discovery import default_path, is_shipped
from spade_envs.store.files import now_ns, read_file, replace_file
from spade_envs.store.gc import sweep_staging
from spade_envs.store.insertion import is_large
from spade_envs.store.lookup import find
from spade_envs.store.read import Version, check_report, read_source, read_tombstone, read_version
from spade_envs.store.room import check_room
from spade_envs.types import EnvSource, Interface, Json, Record, Rejection, Report

if TYPE_CHECKING:
    from spade_envs.manifest.models import Manifest, Provenance
    from spade_envs.store.verify import Gates, Problem

__all__ = ["EnvStore", "open_store", "planned_store"]

logger = logging.getLogger(__name__)


def open_store(where: str | os.PathLike[str] | None = None, *, create: bool = False) -> EnvStore:
    """Return the envstore at `where`, or the default store.

    Args:
        where: folder of the store; None stands for `$SPADE_ENVSTORE`, else `./envstore` if that is
            an envstore, else a folder in the user's data directory.
        create: make the store if it is not there yet.

    Raises:
        NotFound: there is no store and `create` is false.
        FormatTooNew: a newer release wrote it.
        Corrupt: its marker is unreadable.
        ConfigError: `create` is asked for a folder that holds something else.
    """
    root = default_path() if where is None else Path(os.path.expanduser(where)).absolute()
    if create:
        layout.create_store(root)
    else:
        layout.check_marker(root)
    return EnvStore(root)


def planned_store(where: str | os.PathLike[str] | None = None) -> EnvStore:
    """Return the envstore at `where`, or one without versions that a pull makes once it needs it.

    Args:
        where: as `open_store` takes it.

    Raises:
        FormatTooNew: a newer release wrote it.
        Corrupt: its marker is unreadable.
        ConfigError: the folder holds something else.
    """
    root = default_path() if where is None else Path(os.path.expanduser(where)).absolute()
    check_room(root)
    return EnvStore(root)


class EnvStore:
    """One envstore on disk. Make it with `open_store`.

    Attributes:
        root: folder of the store, absolute.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def __repr__(self) -> str:
        return f"EnvStore({str(self.root)!r})"

    @property
    def read_only(self) -> bool:
        """Whether nothing can be added: the shipped starter store, or a folder without rights."""
        return is_shipped(self.root) or not os.access(self.root, os.W_OK)

    # Reading

    def records(self, skill: str | None = None) -> list[Record]:
        """Return every version, sorted by name and version, withdrawn ones included.

        Args:
            skill: keep only versions that exercise this skill.
        """
        records = [line.to_record(self.root) for line in index.load(self.root)]
        return [record for record in records if skill is None or skill in record.skills]

    def get(self, ref: str, *, withdrawn: bool = False) -> Record:
        """Return the version that `ref` names.

        Args:
            ref: an id such as `spade/maze-v0`, a name (its newest version that is not withdrawn),
                a digest, or the first 12 or more hexadecimal digits of one.
            withdrawn: give withdrawn versions as well, instead of raising.

        Raises:
            NotFound: nothing has this name; the message says what comes close.
            Withdrawn: the version was withdrawn; the message says why and when.
            IdError: `ref` cannot name an environment.
            Corrupt: the version cannot be read.
        """
        env_id = find(self.root, ref)
        reason = read_tombstone(self.root, env_id)
        if reason is not None and not withdrawn:
            raise Withdrawn(f"{env_id} was withdrawn: {reason}")
        return read_version(self.root, env_id).to_record(self.root, reason)

    def source(self, record: Record) -> EnvSource:
        """Return the source of a version, verified against the digest in `record`.

        Raises:
            Withdrawn: the version was withdrawn.
            Corrupt: source, manifest or report are not, byte for byte, what was published, or the
                report does not certify the source.
            NotFound: the version is gone.
        """
        env_id, version = self._verified(record)
        if reason := read_tombstone(self.root, env_id):
            raise Withdrawn(f"{env_id} was withdrawn: {reason}")
        check_report(self.root, env_id, version)
        return read_source(self.root, env_id, version)

    def holding(self, source: EnvSource, interface: Interface) -> list[Record]:
        """Return the versions, withdrawn ones included, that have this very content.

        Raises:
            ConfigError: the interface cannot be stored.
        """
        code = source.code.encode("utf-8", "surrogatepass")
        digest = digest_of({layout.SOURCE: FileStamp(stamp(code).sha256, len(code))}, interface)
        return [record for record in self.records() if record.digest == digest]

    def interface(self, record: Record) -> Interface:
        """Return the interface that a version was certified with.

        Raises:
            Corrupt: the manifest is not the one that `record` was read from.
            NotFound: the version is gone.
        """
        return self._verified(record)[1].full_interface()

    def manifest(self, record: Record) -> Manifest:
        """Return the manifest of a version, validated in full.

        Raises:
            Corrupt: it is not valid, or not the one that `record` was read from.
            NotFound: the version is gone.
        """
        from spade_envs.manifest.models import Manifest, read_model

        env_id, _ = self._verified(record)
        path = f"{layout.version_path(env_id)}/{layout.MANIFEST}"
        data = read_file(self.root, path, max_bytes=layout.MAX_MANIFEST_BYTES)
        return read_model(Manifest, data, f"{self.root}/{path}")

    def report(self, record: Record) -> Report:
        """Return the report that admitted a version, verified against the manifest.

        Raises:
            Corrupt: the report is missing, unreadable or not the one in the manifest.
            NotFound: the version is gone.
        """
        manifest = self.manifest(record)
        path = f"{layout.version_path(EnvId.parse(record.id))}/{layout.REPORT}"
        try:
            data = read_file(self.root, path, max_bytes=layout.MAX_REPORT_BYTES)
        except FileNotFoundError:
            raise Corrupt(f"{self.root}/{path} is missing") from None
        if stamp(data).sha256 != manifest.report.sha256:
            raise Corrupt(f"{self.root}/{path} differs from its manifest")
        return decode_report(data, f"{self.root}/{path}")

    def _verified(self, record: Record) -> tuple[EnvId, Version]:
        env_id = EnvId.parse(record.id)
        version = read_version(self.root, env_id)
        if version.digest != record.digest:
            raise Corrupt(
                f"{env_id} in {self.root} has digest {version.digest[:19]}..., "
                f"but {record.digest[:19]}... was asked for"
            )
        return env_id, version

    # Writing

    def add(
        self,
        source: EnvSource,
        report: Report,
        provenance: Provenance | Mapping[str, Json],
        *,
        name: str | None = None,
        skills: Iterable[str] = (),
        title: str | None = None,
        licence: str = "MIT",
        refresh: bool = True,
    ) -> Record:
        """Publish a certified source and return its record.

        The same content under the same name keeps the version that it has.

        Args:
            source: what to publish.
            report: the gates' verdict on exactly this source; it must accept it.
            provenance: where the environment comes from.
            name: `maze` or `owner.maze`; None makes one of class name and digest.
            skills: what the environment exercises; see `types.Skill`.
            title: one line for people; None makes one of the class name.
            licence: SPDX identifier of the source's licence.
            refresh: bring index and catalogue up to date; with many versions in a row, leave it out
                and call `reindex` once.

        Raises:
            NotCertified: the report does not admit this source.
            Withdrawn: this content was withdrawn under this name.
            ConfigError: an argument cannot be used.
            IdError: `name` cannot name an environment.
            StoreError: the store cannot be written to.
        """
        from spade_envs.store import publish

        self.require_writable()
        item = publish.draft(
            source, report, provenance, skills=tuple(skills), title=title, licence=licence
        )
        env_id = publish.publish(self.root, item, name)
        if refresh:
            self._note(env_id)
        return self.get(str(env_id))

    def renew(
        self,
        record: Record,
        report: Report,
        *,
        skills: Iterable[str] | None = None,
        title: str | None = None,
        licence: str | None = None,
    ) -> Record:
        """Certify a version anew, or correct its texts, in place; id, digest and origin stay.

        The report that is there is kept, unless the new one is of other gates.

        Args:
            record: the version.
            report: the gates' verdict on exactly its source; it must accept it.
            skills: None keeps those that are there; so for the others.
            title: one line for people.
            licence: SPDX identifier of the source's licence.

        Raises:
            NotCertified: the report does not admit the source, or is of another interface.
            Withdrawn: the version was withdrawn.
            ConfigError: an argument cannot be used.
            StoreError: the store cannot be written to, or not at once.
        """
        from spade_envs.store import publish

        self.require_writable()
        source, manifest, before = self.source(record), self.manifest(record), self.report(record)
        item = publish.draft(
            source,
            before if before.gates_version == report.gates_version else report,
            manifest.provenance,
            skills=manifest.skills if skills is None else tuple(skills),
            title=title or manifest.title,
            licence=licence or manifest.licence,
        )
        if item.digest != record.digest:
            raise NotCertified(f"the report is of another interface than {record.id} has")
        env_id = EnvId.parse(record.id)
        new = item.files(env_id)[layout.MANIFEST]
        if new != manifest.to_json():
            publish.renew(self.root, item, env_id)
            self.reindex()
        return self.get(record.id)

    def withdraw(self, ref: str, reason: str) -> Record:
        """Withdraw a version: it stays on disk, but nothing gives it out any more.

        The number is never used again. A version that is withdrawn already keeps its first reason.

        Raises:
            NotFound: no such version.
            ConfigError: the reason is empty.
            StoreError: the store cannot be written to.
        """
        from spade_envs.store import publish

        self.require_writable()
        env_id = find(self.root, ref)
        publish.bury(self.root, env_id, reason)
        self.refresh()
        return self.get(str(env_id), withdrawn=True)

    def reject(self, rejection: Rejection) -> Path:
        """Keep a refused design under `rejected/` for study, and return its folder.

        Raises:
            StoreError: the store cannot be written to.
        """
        from spade_envs.store import publish

        self.require_writable()
        return publish.keep_rejected(self.root, rejection)

    def reindex(self) -> int:
        """Rebuild index and catalogue from the manifests; gives the number of versions.

        Also sweeps what killed writers left behind more than a day ago.

        Raises:
            Corrupt: `envs` is no folder; the index stays as it is.
            StoreError: the store cannot be written to.
        """
        self.require_writable()
        layout.check_envs(self.root)
        sweep_staging(self.root)
        begun_ns = now_ns(self.root)
        return self._write_derived(index.rebuild(self.root, strict=True), begun_ns)

    def verify_quick(self) -> tuple[int, list[Problem]]:
        """Check names, hashes and index in one pass, for large stores; see `store.quick`.

        Returns:
            How many versions can be read, and the problems and notes, the former first.
        """
        from spade_envs.store.quick import verify_quick

        return verify_quick(self.root)

    def verify(self, deep: bool = False, *, gates: Gates | None = None) -> list[Problem]:
        """Check every file of the store; gives problems and notes, the former first.

        Args:
            deep: validate the reports as well. Running the gates again is the caller's part.
            gates: by version of the gates in force, what a report of it lacks; see
                `gates.missing_verdicts`.
        """
        from spade_envs.store.verify import verify

        return verify(self.root, deep=deep, gates=gates or {})

    def refresh(self) -> None:
        """Bring index and catalogue up to date with the folders, reading what is new."""
        try:
            begun_ns = now_ns(self.root)
            self._write_derived(index.load(self.root, strict=True), begun_ns)
        except (Corrupt, StorageError) as error:
            logger.warning("index and catalogue stay behind, which only costs time: %s", error)

    def _note(self, env_id: EnvId) -> None:
        """Bring index and catalogue up to date with one more version; see `store.insertion`."""
        if not (is_large(self.root, layout.INDEX) and self._inserted(env_id)):
            self.refresh()

    def _inserted(self, env_id: EnvId) -> bool:
        try:
            line = index.derive(self.root, env_id, strict=True)
            return bool(line and index.insert_line(self.root, line) and insert_row(self.root, line))
        except StorageError:
            return False

    def _write_derived(self, lines: list[index.IndexLine], scanned_at_ns: int) -> int:
        index.write_index(self.root, lines, scanned_at_ns=scanned_at_ns)
        replace_file(self.root, self.root / layout.CATALOG, render(lines), sync=False)
        return len(lines)

    def require_writable(self) -> None:
        """See that something can be added.

        Raises:
            StoreError: the store is read-only.
        """
        if self.read_only:
            raise StoreError(
                f"{self.root} is read-only; give yourself the right to write there, or name a "
                "store of your own (--store DIR, or open_store('DIR', create=True))"
            )
