"""Writing to a store: publish a version, withdraw one, keep a refused design for study.

Publishing stages a folder and renames it to `envs/<name>/v<N>`. Whoever comes second finds the
place taken, compares digests, and either has nothing to do or takes the next number. There is no
lock, and no number is ever given to two contents.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from spade_envs.errors import ConfigError, Corrupt, FormatTooNew, NotCertified, NotFound, Withdrawn
from spade_envs.ids import EnvId, check_name, slugify
from spade_envs.manifest.canonical import (
    FileStamp,
    canonical_json,
    digest_of,
    encode_report,
    parse_json,
    stamp,
)
from spade_envs.manifest.models import (
    FileModel,
    InterfaceModel,
    Manifest,
    Provenance,
    ReportSummary,
    Tombstone,
)
from spade_envs.store.certificate import flaws
from spade_envs.store.files import (
    exchange_folder,
    keep_folder,
    publish_file,
    publish_folder,
    read_file,
)
from spade_envs.store.layout import (
    CARD,
    MANIFEST,
    MAX_MANIFEST_BYTES,
    MAX_SOURCE_BYTES,
    REJECTED,
    REPORT,
    SIGNATURE,
    SOURCE,
    TOMBSTONE,
    version_path,
    versions_of,
)
from spade_envs.store.read import clean_line, read_tombstone, read_version
from spade_envs.types import EnvSource, Interface, Json, Rejection, Report

_MEASURED = frozenset({"floor", "ceiling", "levels", "success_rate", "best_constant", "cross_seed"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A version that is complete but for its id."""

    source: bytes
    report: bytes
    interface: Interface
    digest: str
    title: str
    summary: str
    skills: tuple[str, ...]
    licence: str
    provenance: Provenance
    report_summary: ReportSummary

    def files(self, env_id: EnvId) -> dict[str, bytes]:
        """Return the content of the version's folder under this id."""
        found = stamp(self.source)
        manifest = Manifest(
            id=str(env_id),
            digest=self.digest,
            title=self.title,
            summary=self.summary,
            interface=InterfaceModel.of(self.interface),
            files={SOURCE: FileModel(sha256=found.sha256, size=found.size)},
            skills=self.skills,
            provenance=self.provenance,
            licence=self.licence,
            report=self.report_summary,
        )
        return {MANIFEST: manifest.to_json(), SOURCE: self.source, REPORT: self.report}


def draft(
    source: EnvSource,
    report: Report,
    provenance: Provenance | Mapping[str, Json],
    *,
    skills: tuple[str, ...],
    title: str | None,
    licence: str,
) -> Draft:
    """Check that a source may be stored, and return it ready to be named.

    Raises:
        NotCertified: the report does not admit this source.
        ConfigError: licence, title, skills, provenance or the size of the source cannot be used.
    """
    interface = _certified(source, report)
    try:
        code = source.code.encode("utf-8")
    except UnicodeEncodeError:
        raise ConfigError("the source holds a lone surrogate, so it has no UTF-8 form") from None
    if len(code) > MAX_SOURCE_BYTES:
        raise ConfigError(f"the source has {len(code)} bytes; at most {MAX_SOURCE_BYTES} are kept")
    if not clean_line(licence):
        raise ConfigError("licence is required; give an SPDX identifier such as MIT")
    if not isinstance(provenance, Provenance):
        provenance = Provenance.read(dict(provenance))
    files = {SOURCE: FileStamp(stamp(code).sha256, len(code))}
    report_bytes = encode_report(report)
    return Draft(
        source=code,
        report=report_bytes,
        interface=interface,
        digest=digest_of(files, interface),
        title=clean_line(title or _title_of(interface), 120) or "Environment",
        summary=clean_line(interface.summary),
        skills=tuple(str(skill) for skill in skills),
        licence=clean_line(licence),
        provenance=provenance,
        report_summary=ReportSummary(
            sha256=stamp(report_bytes).sha256,
            gates_version=report.gates_version,
            layers=report.layers,
            measured=measured_in(report_bytes),
        ),
    )


def _certified(source: EnvSource, report: Report) -> Interface:
    if report.source_sha256 != source.sha256:
        raise NotCertified("the report belongs to another source; check this one first")
    if not report.accepted:
        first = report.gravest
        why = f"{first.gate}: {first.message}" if first else "not every gate was run"
        raise NotCertified(f"the report does not admit the source: {why}")
    if report.interface is None:
        raise NotCertified("the report has no interface: the source was never loaded")
    if flaw := next(flaws(report, source.sha256), ""):
        raise NotCertified(f"the report {flaw}")
    held = [result.gate for result in report.results]
    if len(set(held)) != len(held):
        raise NotCertified("the report holds a gate's verdict twice")
    return report.interface


def _title_of(interface: Interface) -> str:
    entry = interface.entry.removesuffix("Env") or interface.entry
    return slugify(entry).replace("-", " ").capitalize()


def measured_in(report: bytes) -> dict[str, dict[str, Json]]:
    """Return the figures that the gates of a report measured, as a manifest repeats them.

    By gate id: floor, ceiling and their like.
    """
    found = {
        result["gate"]: {k: v for k, v in result.get("evidence", {}).items() if k in _MEASURED}
        for result in parse_json(report, REPORT)["results"]
        if result["outcome"] == "pass"
    }
    return {gate: figures for gate, figures in found.items() if figures}


def publish(root: Path, item: Draft, name: str | None) -> EnvId:
    """Store a draft and return its id; a content that is there already keeps the id it has.

    Raises:
        Withdrawn: this content was withdrawn under this name.
        IdError: `name` cannot name an environment.
    """
    lengths = (8, 12, 16, 64)
    slug = slugify(item.interface.entry.removesuffix("Env") or item.interface.entry, max_chars=40)
    for length in lengths:
        chosen = check_name(name or f"{slug}-{item.digest.removeprefix('sha256:')[:length]}"[:80])
        if name is None and _taken_by_another(root, chosen, item.digest):
            continue
        return _publish_as(root, item, chosen)
    raise Corrupt(f"every name for {item.digest} is taken by another content in {root}")


def _publish_as(root: Path, item: Draft, name: str) -> EnvId:
    while True:
        # One look serves both questions: a rival's version that appears later takes the number
        # that is tried here, so its content is compared in the next round.
        versions = versions_of(root, name)
        for version in versions:
            env_id = EnvId(name, version)
            if _digest_at(root, env_id) == item.digest:
                if reason := read_tombstone(root, env_id):
                    raise Withdrawn(f"{env_id} has this content and was withdrawn: {reason}")
                keep_folder(root, root / version_path(env_id))  # its writer may have died just now
                return env_id
        env_id = EnvId(name, max(versions, default=-1) + 1)
        if publish_folder(root, root / version_path(env_id), item.files(env_id)):
            return env_id


def _taken_by_another(root: Path, name: str, digest: str) -> bool:
    versions = versions_of(root, name)
    return bool(versions) and all(_digest_at(root, EnvId(name, v)) != digest for v in versions)


def _digest_at(root: Path, env_id: EnvId) -> str | None:
    try:
        return read_version(root, env_id).digest
    except (Corrupt, NotFound, FormatTooNew):
        return None


def renew(root: Path, item: Draft, env_id: EnvId) -> None:
    """Put a draft of the same content in the place of a version, at once.

    Raises:
        StoreError: two folders cannot be exchanged here.
    """
    target = root / version_path(env_id)
    files = item.files(env_id)
    for name in (CARD, TOMBSTONE):
        if (target / name).is_file():
            path = f"{version_path(env_id)}/{name}"
            files[name] = read_file(root, path, max_bytes=MAX_MANIFEST_BYTES)
    # A signature was over the manifest that goes.
    exchange_folder(root, target, files, dropped=frozenset({SIGNATURE}))


def bury(root: Path, env_id: EnvId, reason: str) -> None:
    """Withdraw a version; the first reason given stands.

    Raises:
        ConfigError: the reason is empty.
    """
    text = clean_line(reason)
    if not text:
        raise ConfigError("withdrawing needs a reason")
    target = root / version_path(env_id) / TOMBSTONE
    publish_file(root, target, Tombstone(reason=text).to_json())
    if not os.path.lexists(target):  # the version's folder was exchanged in this moment
        publish_file(root, target, Tombstone(reason=text).to_json())


def keep_rejected(root: Path, rejection: Rejection) -> Path:
    """Keep a refused design under `rejected/` for study; it is never run from there.

    A source that was refused before is kept once, with the first reason.
    """
    note: dict[str, Json] = {
        "attempt": rejection.attempt,
        "reason": _storable(rejection.reason),
        "stage": rejection.stage,
    }
    files: dict[str, bytes] = {}
    if rejection.source is not None:
        code = rejection.source.code.encode("utf-8", "replace")
        note["cut"] = len(code) > MAX_SOURCE_BYTES
        note["source_sha256"] = rejection.source.sha256
        files[SOURCE] = code[:MAX_SOURCE_BYTES]
    if rejection.report is not None:
        files[REPORT] = encode_report(rejection.report)
    files["rejection.json"] = canonical_json(note)
    key = stamp(files.get(SOURCE) or files["rejection.json"]).sha256[:12]
    target = root / REJECTED / key
    publish_folder(root, target, files)
    return target


def _storable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
