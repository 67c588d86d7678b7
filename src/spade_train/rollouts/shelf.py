"""The environments of a run by their digest.

What passed every gate lies in the run's envstore. A quick check does not certify, so what passed
only that lies beside it, in a folder of its own that nothing else reads. Further stores, such as a
pool, can be read from.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from spade_envs.design.novelty import ast_hash
from spade_envs.errors import Corrupt, NotCertified, NotFound, Withdrawn
from spade_envs.ids import slugify
from spade_envs.manifest.canonical import FileStamp, digest_of, parse_json, stamp
from spade_envs.store import EnvStore
from spade_envs.store.files import publish_folder, read_file
from spade_envs.trust.runs import source_to_run
from spade_envs.types import EnvSource, Interface, Json, Record, Report

_CODE, _NOTE = "env.py", "note.json"
_MAX_BYTES = 16 << 20
_DIGITS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Stocked:
    """One environment on the shelf."""

    digest: str
    source: EnvSource
    interface: Interface
    title: str
    certified: bool
    """Whether it passed every gate."""


class Shelf:
    """The environments that a run may play.

    Args:
        store: the run's own envstore.
        quick: folder for what passed quick checks only.
        others: further stores to read from.
    """

    def __init__(self, store: EnvStore, quick: Path, others: Sequence[EnvStore] = ()) -> None:
        self.store, self._quick, self._others = store, quick, tuple(others)
        self._records: dict[str, Record] = {}
        self._known: dict[str, Stocked] = {}
        self._texts: dict[str, set[str]] = {}
        self._programs: dict[str, str] = {}
        for each in (*reversed(self._others), store):
            for record in each.records():
                if record.withdrawn is None:
                    self._records[record.digest] = record

    def get(self, digest: str) -> Stocked:
        """Return an environment.

        Raises:
            NotFound: it is not on the shelf.
            Corrupt: its files were changed.
        """
        found = self._known.get(digest)
        if found is None:
            record = self._records.get(digest) or self._new_record(digest)
            found = self._read_quick(digest) if record is None else self._read(record)
            self._note(found)
        return found

    def source(self, digest: str) -> EnvSource:
        """Return the program of an environment; see `get`."""
        return self.get(digest).source

    def twin(
        self, source: EnvSource, known: Collection[str], *, in_other_words: bool
    ) -> str | None:
        """Return an environment that is the same text, or the same program.

        Args:
            source: what to compare.
            known: digests of environments to compare with; no others count.
            in_other_words: whether it is enough to be the same program (`ast_hash`).
        """
        for digest in known:
            if digest not in self._known and self._has(digest):
                self.get(digest)
        twins = self._texts.get(source.sha256, set()).intersection(known)
        if in_other_words and not twins:
            program = ast_hash(source)
            twins = {digest for digest in known if self._program(digest) == program}
        return min(twins, default=None)

    def add(
        self,
        source: EnvSource,
        report: Report,
        provenance: Mapping[str, Json],
        *,
        skills: Sequence[str],
        licence: str = "MIT",
    ) -> Stocked:
        """Keep an environment: in the store if the report certifies it, else beside it.

        Raises:
            NotCertified: the report is of another source, or a gate failed.
            Withdrawn: this content was withdrawn from the run's store.
        """
        if report.accepted:
            record = self.store.add(
                source, report, provenance, skills=skills, licence=licence, refresh=False
            )
            self._records[record.digest] = record
            return self.get(record.digest)
        if report.source_sha256 != source.sha256 or report.failures or report.interface is None:
            raise NotCertified("the report is of another source, or a gate failed")
        code = source.code.encode("utf-8")
        digest = digest_of({_CODE: FileStamp(stamp(code).sha256, len(code))}, report.interface)
        note = {
            "digest": digest,
            "interface": msgspec.to_builtins(report.interface),
            "gates_version": report.gates_version,
            "skills": list(skills),
            "title": _title(report.interface),
            "run": str(provenance.get("run") or ""),
        }
        self._quick.mkdir(parents=True, exist_ok=True)
        files = {_CODE: code, _NOTE: msgspec.json.encode(note)}
        publish_folder(self._quick, self._quick / _folder(digest), files)
        return self.get(digest)

    def close(self) -> None:
        """Bring the store's index up to date; until then it is only slower to read."""
        self.store.reindex()

    def _has(self, digest: str) -> bool:
        return (
            digest in self._records
            or (self._quick / _folder(digest) / _NOTE).is_file()
            or self._new_record(digest) is not None
        )

    def _new_record(self, digest: str) -> Record | None:
        """Look for what another process has put into a store since this shelf was made."""
        if (self._quick / _folder(digest)).is_dir():
            return None
        for each in (self.store, *self._others):
            try:
                record = self._records[digest] = each.get(digest)
            except (NotFound, Withdrawn):
                continue
            return record
        return None

    def _note(self, found: Stocked) -> Stocked:
        self._known[found.digest] = found
        self._texts.setdefault(found.source.sha256, set()).add(found.digest)
        return found

    def _program(self, digest: str) -> str | None:
        """Return the hash of a program, whatever its words; None if it is not on the shelf."""
        if digest not in self._programs and digest in self._known:
            self._programs[digest] = ast_hash(self._known[digest].source)
        return self._programs.get(digest)

    def _read(self, record: Record) -> Stocked:
        store = next(s for s in (self.store, *self._others) if s.root == record.store)
        return Stocked(
            digest=record.digest,
            source=source_to_run(store, record),
            interface=store.interface(record),
            title=record.title,
            certified=True,
        )

    def _read_quick(self, digest: str) -> Stocked:
        folder = _folder(digest)
        try:
            code, note = (
                read_file(self._quick, f"{folder}/{name}", max_bytes=_MAX_BYTES)
                for name in (_CODE, _NOTE)
            )
        except FileNotFoundError:
            raise NotFound(
                f"no environment of this run has the digest {digest}: neither its stores nor "
                f"{self._quick}; put back what was removed from the run's folder, "
                "or begin a new run in another one"
            ) from None
        where = str(self._quick / folder)
        known = parse_json(note, where)
        try:
            interface = msgspec.convert(known["interface"], Interface)
            title = str(known["title"])
        except (msgspec.ValidationError, TypeError, KeyError) as error:
            raise Corrupt(f"{where} holds a note that cannot be read: {error}") from None
        if digest_of({_CODE: FileStamp(stamp(code).sha256, len(code))}, interface) != digest:
            raise Corrupt(f"{where} was changed: its files do not give its digest")
        return Stocked(
            digest=digest,
            source=EnvSource(code=code.decode("utf-8"), origin=digest[:19]),
            interface=interface,
            title=title,
            certified=False,
        )


def _title(interface: Interface) -> str:
    name = slugify(interface.entry.removesuffix("Env") or interface.entry)
    return name.replace("-", " ").capitalize()


def _folder(digest: str) -> str:
    return digest.removeprefix("sha256:")[:_DIGITS]
