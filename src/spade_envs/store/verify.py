"""Verify a store: every file is known, whole, and what its manifest vouches for."""

from __future__ import annotations

import contextlib
import os
import shlex
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TypeAlias

from spade_envs.errors import Corrupt, FormatTooNew, IdError, NotFound
from spade_envs.ids import EnvId, check_name
from spade_envs.manifest.canonical import decode_report, stamp
from spade_envs.manifest.models import (
    Manifest,
    ReportSummary,
    StoreMarker,
    Tombstone,
    read_model,
)
from spade_envs.store import catalog, index, layout
from spade_envs.store.certificate import flaws, is_known, unknown_gates
from spade_envs.store.discovery import is_shipped
from spade_envs.store.files import STAGING, read_file
from spade_envs.store.publish import measured_in
from spade_envs.store.read import read_source, read_version
from spade_envs.types import Json, Report

_TOP_FILES = frozenset(
    {layout.MARKER, layout.INDEX, layout.CATALOG, ".gitattributes", ".gitignore", "README.md"}
)
_TOP_FOLDERS = frozenset(
    {layout.ENVS, layout.REJECTED, layout.QUARANTINE, STAGING, ".cache", "ledger", ".git"}
)
VERSION_FILES = frozenset(
    {
        layout.MANIFEST,
        layout.SOURCE,
        layout.REPORT,
        layout.TOMBSTONE,
        layout.CARD,
        layout.SIGNATURE,
    }
)


Gates: TypeAlias = Mapping[str, Callable[[Report], Iterable[str]]]
"""By version of the gates that is in force: what a report of it lacks, a sentence each."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in a store that is not as it should be."""

    kind: Literal[
        "manifest", "source", "report", "tombstone", "index", "unknown", "staging", "signature"
    ]
    path: str
    """Relative to the store."""
    message: str
    severity: Literal["error", "note"] = "error"
    command: str = ""
    """The command at the end of the message; empty if there is none."""


def verify(root: Path, *, deep: bool, gates: Gates = MappingProxyType({})) -> list[Problem]:
    """Return what is wrong with the store at `root`; notes come last.

    Args:
        root: folder of the store.
        deep: decode the reports and compare them with the sources as well.
        gates: by version of the gates that is in force, what a report of it lacks
            (`gates.missing_verdicts`); a version that older ones certified is noted.
    """
    problems = [*top(root), *_names(root)]
    for env_id in sorted(layout.scan(root)):
        problems += _version(root, EnvId.parse(env_id), deep, gates)
    problems += _index(root)
    return sorted(problems, key=lambda problem: problem.severity)


def top(root: Path) -> Iterator[Problem]:
    """Yield what is wrong with the marker and with what lies beside the environments."""
    marker = read_file(root, layout.MARKER, max_bytes=layout.MAX_TOMBSTONE_BYTES)
    try:
        read_model(StoreMarker, marker, layout.MARKER)
    except (Corrupt, FormatTooNew) as error:
        yield Problem("manifest", layout.MARKER, str(error))
    for entry in _entries(root):
        folder = entry.is_dir(follow_symlinks=False)
        if entry.name == layout.ENVS and not folder:
            yield Problem("unknown", layout.ENVS, layout.NO_FOLDER)
        elif entry.is_symlink() or entry.name not in (_TOP_FOLDERS if folder else _TOP_FILES):
            yield Problem("unknown", entry.name, "does not belong into an envstore")
    left = len(_entries(root / STAGING))
    if left:
        message = f"{left} half-written folder(s); spade-envs gc sweeps those older than a day"
        yield Problem("staging", STAGING, message, "note")


def _names(root: Path) -> Iterator[Problem]:
    for entry in _entries(root / layout.ENVS):
        path = f"{layout.ENVS}/{entry.name}"
        if not entry.is_dir(follow_symlinks=False):
            yield Problem("unknown", path, "is not a folder of an environment")
            continue
        try:
            known = layout.versions_of(root, check_name(entry.name))
        except IdError as error:
            yield Problem("unknown", path, str(error))
            continue
        for inner in _entries(Path(entry.path)):
            if inner.name not in {f"v{version}" for version in known}:
                yield Problem("unknown", f"{path}/{inner.name}", "is not a folder of a version")
        if not known:
            yield Problem("staging", path, "has no version; a writer was stopped", "note")


def _version(root: Path, env_id: EnvId, deep: bool, gates: Gates) -> Iterator[Problem]:
    path = layout.version_path(env_id)
    for entry in _entries(root / path):
        if entry.name == "__pycache__" and is_shipped(root):
            continue  # installers compile every Python file of a package; nobody reads these
        if entry.name not in VERSION_FILES or not entry.is_file(follow_symlinks=False):
            yield Problem("unknown", f"{path}/{entry.name}", "does not belong to a version")
    yield from _tombstone(root, path)
    try:
        data = read_file(root, f"{path}/{layout.MANIFEST}", max_bytes=layout.MAX_MANIFEST_BYTES)
        manifest = read_model(Manifest, data, f"{path}/{layout.MANIFEST}")
        version = read_version(root, env_id)
    except (Corrupt, FormatTooNew, NotFound, OSError) as error:
        yield Problem("manifest", f"{path}/{layout.MANIFEST}", str(error))
        return
    if manifest.seal is None:
        message = "has no seal, so changes of its texts cannot be noticed; publish it anew"
        yield Problem("manifest", f"{path}/{layout.MANIFEST}", message, "note")
    elif manifest.to_json() != data:
        yield Problem("manifest", f"{path}/{layout.MANIFEST}", "is not canonical JSON", "note")
    source = f"{path}/{layout.SOURCE}"
    try:
        read_source(root, env_id, version)
    except (Corrupt, OSError) as error:
        # A withdrawn version may have lost its code on purpose; the tombstone stays.
        gone = not (root / source).exists() and (root / path / layout.TOMBSTONE).exists()
        yield Problem("source", source, str(error), "note" if gone else "error")
    version_of = manifest.report.gates_version
    if not is_known(version_of):
        yield Problem("manifest", f"{path}/{layout.MANIFEST}", unknown_gates(version_of))
    elif gates and version_of not in gates and not (root / path / layout.TOMBSTONE).exists():
        command = f"spade-envs import {env_id} --store {shlex.quote(str(root))}"
        message = (
            f"certified by version {version_of} of the gates, not by {' or '.join(gates)}; certify "
            f"it anew with: {command}"
        )
        yield Problem("report", f"{path}/{layout.REPORT}", message, "note", command)
    yield from _report(root, path, manifest, deep, gates)


def _report(
    root: Path, path: str, manifest: Manifest, deep: bool, gates: Gates
) -> Iterator[Problem]:
    where = f"{path}/{layout.REPORT}"
    try:
        data = read_file(root, where, max_bytes=layout.MAX_REPORT_BYTES)
    except (Corrupt, OSError) as error:
        yield Problem("report", where, str(error))
        return
    if stamp(data).sha256 != manifest.report.sha256:
        yield Problem("report", where, "differs from what its manifest vouches for")
    if not deep:
        return
    try:
        report = decode_report(data, where)
    except Corrupt as error:
        yield Problem("report", where, str(error))
        return
    for flaw in report_flaws(manifest, report, data, gates):
        yield Problem("report", where, flaw)


def report_flaws(manifest: Manifest, report: Report, data: bytes, gates: Gates) -> Iterator[str]:
    """Yield why a report does not certify what its manifest describes, a sentence each.

    Args:
        manifest: of the version.
        report: what `data` holds.
        data: bytes of the report.
        gates: see `verify`.
    """
    yield from flaws(report, manifest.files[layout.SOURCE].sha256)
    held = [result.gate for result in report.results]
    twice = sorted({gate for gate in held if held.count(gate) > 1})
    if twice:
        yield f"holds {', '.join(twice)} more than once"
    if report.gates_version in gates:
        yield from gates[report.gates_version](report)
    yield from _summary(manifest.report, report, measured_in(data))
    expected = manifest.interface.to_interface(report.interface.summary if report.interface else "")
    if report.interface != expected:
        yield "was made for another interface"


def _summary(told: ReportSummary, true: Report, measured: Mapping[str, Json]) -> Iterator[str]:
    """Compare what a manifest repeats of its report with the report."""
    if told.gates_version != true.gates_version:
        yield "names another version of the gates than its manifest"
    if told.layers != true.layers:
        yield "names other isolation layers than its manifest"
    if told.measured != measured:
        differ = {gate for gate in (*told.measured, *measured)
                  if told.measured.get(gate) != measured.get(gate)}  # fmt: skip
        yield f"measured other figures than its manifest says: {', '.join(sorted(differ))}"


def _tombstone(root: Path, path: str) -> Iterator[Problem]:
    where = f"{path}/{layout.TOMBSTONE}"
    try:
        data = read_file(root, where, max_bytes=layout.MAX_TOMBSTONE_BYTES)
        read_model(Tombstone, data, where)
    except FileNotFoundError:
        return
    except (Corrupt, FormatTooNew, OSError) as error:
        yield Problem("tombstone", where, str(error))


def _index(root: Path) -> Iterator[Problem]:
    try:
        data = read_file(root, layout.INDEX, max_bytes=layout.MAX_INDEX_BYTES)
    except FileNotFoundError:
        data = b""
    except (Corrupt, OSError) as error:
        yield Problem("index", layout.INDEX, str(error))
        return
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISDIR(os.lstat(root / layout.ENVS).st_mode):
            return  # it is told already, and no index could be made
    lines = index.rebuild(root)
    if data != index.encode(lines):  # the catalogue goes with it
        yield Problem("index", layout.INDEX, "is not up to date; reindex mends it")
        return
    with contextlib.suppress(Corrupt, OSError):
        shown = read_file(root, layout.CATALOG, max_bytes=layout.MAX_INDEX_BYTES)
        if shown != catalog.render(lines):
            yield Problem("index", layout.CATALOG, "is not up to date; reindex mends it", "note")


def _entries(path: Path) -> list[os.DirEntry[str]]:
    if path.is_symlink() or not path.is_dir():
        return []
    with os.scandir(path) as entries:
        return sorted(entries, key=lambda entry: entry.name)
