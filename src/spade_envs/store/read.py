"""Read one version of an environment and verify it, without pydantic.

Everything that `gym.make` depends on is checked here, each time: the format, that the manifest
belongs to its folder and bears an unbroken seal, that its digest belongs to its files and
interface, that source and report have the bytes that the manifest vouches for, and that the report
certifies the source. The full schema is checked by `EnvStore.manifest`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import msgspec

from spade_envs.errors import ConfigError, Corrupt, FormatTooNew, NotFound, StorageError
from spade_envs.ids import EnvId
from spade_envs.manifest.canonical import (
    FORMAT,
    FileStamp,
    decode_report,
    digest_of,
    parse_json,
    seal_holds,
    stamp,
)
from spade_envs.store.certificate import flaws
from spade_envs.store.files import read_file
from spade_envs.store.layout import (
    MANIFEST,
    MAX_MANIFEST_BYTES,
    MAX_REPORT_BYTES,
    MAX_SOURCE_BYTES,
    MAX_TOMBSTONE_BYTES,
    REPORT,
    SOURCE,
    TOMBSTONE,
    version_path,
)
from spade_envs.types import EnvSource, Interface, Record, Report

_INTERFACE_KEYS = frozenset(field.name for field in fields(Interface)) - {"summary"}


class Vouched(msgspec.Struct, frozen=True):
    """What a manifest vouches for about its report."""

    sha256: str
    gates_version: str = ""


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a manifest that playing needs."""

    format: int
    id: str
    digest: str
    title: str
    summary: str
    interface: Interface
    files: dict[str, FileStamp]
    report: Vouched
    skills: tuple[str, ...] = ()
    licence: str = "unknown"
    seal: str | None = None

    def to_record(self, root: Path, withdrawn: str | None) -> Record:
        """Return the record of this version."""
        return Record(
            id=self.id,
            digest=self.digest,
            store=root,
            title=clean_line(self.title),
            summary=clean_line(self.summary),
            kind=self.interface.kind,
            levels=self.interface.levels,
            max_turns=self.interface.max_turns,
            skills=self.skills,
            licence=self.licence,
            withdrawn=withdrawn,
        )

    def full_interface(self) -> Interface:
        """Return the interface together with the summary."""
        return replace(self.interface, summary=self.summary)


_KEYS = frozenset(Version.__struct_fields__) | {"provenance"}


def read_version(root: Path, env_id: EnvId) -> Version:
    """Return the verified manifest of a version.

    Raises:
        NotFound: the version has no manifest.
        FormatTooNew: a newer release wrote it.
        Corrupt: it is unreadable or does not vouch for what it names.
    """
    where = f"{root}/{version_path(env_id)}/{MANIFEST}"
    try:
        data = read_file(root, f"{version_path(env_id)}/{MANIFEST}", max_bytes=MAX_MANIFEST_BYTES)
    except FileNotFoundError:
        raise NotFound(f"{where} is missing") from None
    return parse_version(data, env_id, where)


def parse_version(data: bytes, env_id: EnvId, where: str) -> Version:
    """Return the verified manifest in `data`, which belongs to `env_id`; `where` names the file.

    Raises:
        FormatTooNew: a newer release wrote it.
        Corrupt: it is unreadable or does not vouch for what it names.
    """
    raw = parse_json(data, where)
    if isinstance(raw, dict) and isinstance(raw.get("format"), int) and raw["format"] > FORMAT:
        raise FormatTooNew(
            f"{where} has format {raw['format']}; this release reads up to {FORMAT}. "
            "Run: pip install -U spade-envs"
        )
    try:
        version = msgspec.convert(raw, Version)
    except msgspec.ValidationError as error:
        raise Corrupt(f"{where}: {error}") from None
    _check(version, raw, env_id, where)
    if version.seal is not None and not seal_holds(data, version.seal):
        raise Corrupt(f"{where} was changed after publishing: its seal is broken")
    return version


def _check(version: Version, raw: Mapping[str, Any], env_id: EnvId, where: str) -> None:
    if version.id != str(env_id):
        raise Corrupt(f"{where}: id is {version.id!r}, but the folder belongs to {env_id}")
    if strange := sorted(set(raw) - _KEYS):
        raise Corrupt(f"{where}: unknown keys {', '.join(strange[:5])}")
    if set(version.files) != {SOURCE}:
        raise Corrupt(f"{where}: files must name {SOURCE} and nothing else")
    if odd := set(raw["interface"]) ^ _INTERFACE_KEYS:
        raise Corrupt(f"{where}: interface has missing or unknown keys: {', '.join(sorted(odd))}")
    if not (1 <= version.interface.levels <= 1000 and version.interface.max_turns >= 1):
        raise Corrupt(f"{where}: interface.levels or interface.max_turns is out of range")
    try:
        digest = digest_of(version.files, version.interface)
    except ConfigError as error:
        raise Corrupt(f"{where}: {error}") from None
    if digest != version.digest:
        raise Corrupt(f"{where}: digest does not belong to these files and this interface")


def read_source(root: Path, env_id: EnvId, version: Version) -> EnvSource:
    """Return the source of a version, verified against its manifest.

    Raises:
        Corrupt: the bytes are missing or differ from what the manifest vouches for.
    """
    path = f"{version_path(env_id)}/{SOURCE}"
    try:
        data = read_file(root, path, max_bytes=MAX_SOURCE_BYTES)
    except FileNotFoundError:
        raise Corrupt(f"{root}/{path} is missing") from None
    return parse_source(data, env_id, version, f"{root}/{path}")


def parse_source(data: bytes, env_id: EnvId, version: Version, where: str) -> EnvSource:
    """Return the source in `data`, verified against the manifest; `where` names the file.

    Raises:
        Corrupt: the bytes differ from what the manifest vouches for.
    """
    if stamp(data) != version.files[SOURCE]:
        raise Corrupt(f"{where} differs from its manifest; it was changed after publishing")
    try:
        code = data.decode("utf-8")
    except UnicodeDecodeError:
        raise Corrupt(f"{where} is not UTF-8") from None
    if "\r" in code:
        raise Corrupt(f"{where} has CR line ends; an envstore holds LF only")
    return EnvSource(code=code, origin=str(env_id))


def check_report(root: Path, env_id: EnvId, version: Version) -> None:
    """See that the report of a version is the one that its manifest vouches for, and certifies it.

    Raises:
        Corrupt: the report is missing, was changed, or does not certify the source.
    """
    path = f"{version_path(env_id)}/{REPORT}"
    try:
        data = read_file(root, path, max_bytes=MAX_REPORT_BYTES)
    except FileNotFoundError:
        raise Corrupt(f"{root}/{path} is missing") from None
    parse_report(data, version, f"{root}/{path}")


def parse_report(data: bytes, version: Version, where: str) -> Report:
    """Return the report in `data`, which must be the one vouched for and certify the source.

    Raises:
        Corrupt: it is another one, unreadable, or does not certify the source.
    """
    if stamp(data).sha256 != version.report.sha256:
        raise Corrupt(f"{where} differs from its manifest; it was changed after publishing")
    report = decode_report(data, where)
    if flaw := next(flaws(report, version.files[SOURCE].sha256), ""):
        raise Corrupt(f"{where} certifies nothing: it {flaw}")
    return report


def read_tombstone(root: Path, env_id: EnvId) -> str | None:
    """Return why a version was withdrawn; None if it was not.

    A tombstone that cannot be read still withdraws: the reason then says so.

    Raises:
        StorageError: the disk failed.
    """
    path = f"{version_path(env_id)}/{TOMBSTONE}"
    try:
        tombstone = parse_json(read_file(root, path, max_bytes=MAX_TOMBSTONE_BYTES), path)
        reason, at = tombstone["reason"], tombstone["at"]
        return clean_line(f"{reason} ({at})")
    except FileNotFoundError:
        return None
    except StorageError:
        raise
    except (Corrupt, OSError, KeyError, TypeError):
        return "no readable reason given"


def clean_line(text: str, max_chars: int = 300) -> str:
    """Return `text` as one printable line: no control, bidirectional or unassigned characters."""
    line = " ".join(text.split())
    if line.isprintable():
        return line[:max_chars].strip()
    return "".join(char for char in line if char.isprintable())[:max_chars].strip()
