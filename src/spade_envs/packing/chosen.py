"""Which versions of a store go out, and their files as they are on disk, verified."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from spade_envs.calibrate.pool import Criteria, select
from spade_envs.errors import Corrupt, NotFound
from spade_envs.ids import EnvId
from spade_envs.manifest.canonical import decode_report, stamp
from spade_envs.manifest.models import Manifest, read_model
from spade_envs.store import EnvStore
from spade_envs.store.files import read_file
from spade_envs.store.layout import (
    CARD,
    MANIFEST,
    MAX_MANIFEST_BYTES,
    MAX_REPORT_BYTES,
    MAX_SOURCE_BYTES,
    REPORT,
    SOURCE,
    version_path,
)
from spade_envs.store.plays import PlayReader
from spade_envs.types import Record, Report

_SIZES = {MANIFEST: MAX_MANIFEST_BYTES, SOURCE: MAX_SOURCE_BYTES, REPORT: MAX_REPORT_BYTES}


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A version that goes out, with its bytes."""

    record: Record
    manifest: Manifest
    report: Report
    files: Mapping[str, bytes]
    """By name within the version's folder: manifest, source, report, and a card if there is one."""


def choose(
    store: EnvStore, refs: Sequence[str] = (), criteria: Criteria | None = None
) -> list[Record]:
    """Return the versions that are meant, each once, in the order of the store.

    Args:
        store: where from; withdrawn versions are left out.
        refs: ids, names (the newest version) or digests; none stands for all.
        criteria: what they have to meet besides; see `calibrate.select`.

    Raises:
        NotFound: a reference names nothing, or nothing is left.
        Withdrawn: a reference names a withdrawn version.
        IdError: a reference cannot name an environment.
    """
    if refs:
        named = {record.id: record for record in map(store.get, refs)}
        found = sorted(named.values(), key=_by_name)
    else:
        found = [record for record in store.records() if record.withdrawn is None]
    cells = {} if criteria is None else PlayReader(store.root).cells()
    if criteria is not None:
        found = [choice.record for choice in select(found, cells, criteria)]
    if not found:
        figures = criteria is not None and criteria.success is not None and not cells
        mend = "nothing was played there yet; see spade-envs calibrate" if figures else (
            "see spade-envs list and select")  # fmt: skip
        raise NotFound(f"nothing in {store.root} is meant; {mend}")
    return found


def _by_name(record: Record) -> tuple[str, int]:
    env_id = EnvId.parse(record.id)
    return env_id.name, env_id.version or 0


def read_all(store: EnvStore, records: Sequence[Record]) -> Iterator[Chosen]:
    """Yield the versions with their bytes, one after the other; each is verified.

    Raises:
        Corrupt: bytes are not those that were published, or the report does not certify the source.
        Withdrawn: a version was withdrawn meanwhile.
    """
    for record in records:
        source = store.source(record)
        place = version_path(EnvId.parse(record.id))
        files = {
            name: read_file(store.root, f"{place}/{name}", max_bytes=most)
            for name, most in _SIZES.items()
        }
        where = f"{store.root}/{place}"
        manifest = read_model(Manifest, files[MANIFEST], f"{where}/{MANIFEST}")
        as_told = manifest.digest == record.digest and files[SOURCE] == source.code.encode()
        if not as_told or stamp(files[REPORT]).sha256 != manifest.report.sha256:
            raise Corrupt(f"{where} changed while it was read; try again")
        with contextlib.suppress(FileNotFoundError):
            files[CARD] = read_file(store.root, f"{place}/{CARD}", max_bytes=MAX_MANIFEST_BYTES)
        report = decode_report(files[REPORT], f"{where}/{REPORT}")
        yield Chosen(record=record, manifest=manifest, report=report, files=files)
