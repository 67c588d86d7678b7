"""Versions, remotes and pulls for the tests of trust: small, hostile on demand, and in memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from envs.store.kit import PROVENANCE, report_of
from spade_envs.ids import EnvId
from spade_envs.manifest.canonical import canonical_json, parse_json, sealed, stamp
from spade_envs.sharing.pull import pull_from
from spade_envs.sharing.remotes.protocol import TooLong
from spade_envs.store import EnvStore
from spade_envs.store.files import publish_folder
from spade_envs.store.layout import version_path
from spade_envs.store.publish import draft
from spade_envs.trust.door import admit
from spade_envs.trust.incoming import Entry, Refused, check_files, sort_listing
from spade_envs.trust.origin import note_origin
from spade_envs.trust.quarantine import quarantine
from spade_envs.trust.seen import Offer, judge_offers, note_offers
from spade_envs.trust.settings import load
from spade_envs.types import EnvSource

MARKER = canonical_json({"format": 1, "namespace": "spade"})
TOMBSTONE = canonical_json({"at": "2026-01-02T03:04:05Z", "reason": "it leaks"})


def canary(path: Path) -> str:
    """Return code that tells on whoever imports, loads or runs it."""
    return (
        f'open({str(path)!r}, "w").write("ran")\n'
        "class MazeEnv:\n"
        f"    trace = open({str(path)!r}, 'w')\n"
    )


def good(
    name: str = "maze",
    version: int = 0,
    code: str = "class MazeEnv:\n    pass\n",
    gates_version: str = "1",
    licence: str = "MIT",
) -> dict[str, bytes]:
    """Return the files of a sound version, by name."""
    source = EnvSource(code=code)
    item = draft(
        source,
        report_of(source, gates_version=gates_version),
        PROVENANCE,
        skills=("planning",),
        title="A maze",
        licence=licence,
    )
    return item.files(EnvId(name, version))


def edited(files: Mapping[str, bytes], change: Callable[[Any], None]) -> dict[str, bytes]:
    """Return files with another manifest, sealed anew, as one would who knows how."""
    manifest = parse_json(files["manifest.json"], "manifest.json")
    change(manifest)
    data = sealed(canonical_json({**manifest, "seal": "0" * 64}))
    return {**files, "manifest.json": data}


def with_report(files: Mapping[str, bytes], report: bytes) -> dict[str, bytes]:
    """Return files with another report that the manifest vouches for."""

    def change(manifest: Any) -> None:
        manifest["report"]["sha256"] = stamp(report).sha256

    return edited({**files, "report.json": report}, change)


def raw(files: Mapping[str, bytes], old: bytes, new: bytes) -> dict[str, bytes]:
    """Return files with a manifest in which bytes were exchanged; its seal is made to fit."""
    data = files["manifest.json"]
    assert old in data, old
    data = re.sub(rb'"seal": "\w+"', b'"seal": "' + b"0" * 64 + b'"', data.replace(old, new, 1))
    return {**files, "manifest.json": sealed(data)}


@dataclass
class Fake:
    """A remote in memory that may lie about what it has; it does what `sharing` asks of one."""

    files: dict[str, bytes] = field(default_factory=lambda: {"ENVSTORE.json": MARKER})
    kinds: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, Any] = field(default_factory=dict)
    more: list[Entry] = field(default_factory=list)
    label: str = "memory://hostile"
    known_as: str = "memory://hostile"
    written: str = "memory://hostile"
    fetched: list[str] = field(default_factory=list)

    def put(self, files: Mapping[str, bytes], name: str = "maze", version: int = 0) -> Fake:
        self.files |= {f"envs/{name}/v{version}/{key}": data for key, data in files.items()}
        return self

    def entries(self) -> Sequence[Entry]:
        listed = [
            Entry(path, self.sizes.get(path, len(data)), self.kinds.get(path, "file"))  # type: ignore[arg-type]
            for path, data in self.files.items()
        ]
        return [*listed, *self.more]

    def read(self, path: str, max_bytes: int) -> bytes:
        self.fetched.append(path)
        if path not in self.files:
            raise FileNotFoundError(path)
        if len(self.files[path]) > max_bytes:
            raise TooLong(f"{path} has more than {max_bytes} bytes")
        return self.files[path]

    def add(self, folder: str, files: Mapping[str, bytes]) -> bool:
        raise AssertionError("a pull writes nothing to a remote")

    write_new = replace = finish = add  # type: ignore[assignment]


def take(remote: Fake, store: EnvStore) -> list[str]:
    """Pull everything by the checks of `trust` alone, in the order that a pull keeps to.

    Returns what is told of what was not taken.
    """
    listing = sort_listing(remote.entries())
    told = [str(each) for each in (*listing.refused, *listing.unfinished, *listing.left_alone)]
    offers, taken = [], {}
    for env_id, entries in listing.versions.items():
        names = {entry.path.rpartition("/")[2]: entry for entry in entries}
        try:
            files = {name: remote.read(entry.path, entry.size) for name, entry in names.items()}
        except TooLong as error:
            told.append(str(error))
            continue
        found: Any = check_files(env_id, files)
        if not isinstance(found, Refused):
            verdict = admit(found, load())
            found = verdict if isinstance(verdict, Refused) else found
        if isinstance(found, Refused):
            told.append(str(found))
            quarantine(store.root, found, files)
            continue
        offers.append(
            Offer(
                env_id,
                found.digest,
                found.withdrawn is not None,
                found.manifest.report.gates_version,
            )
        )
        taken[env_id] = found
    judged = judge_offers(remote.label, offers, there=[each.env_id for each in offers])
    for env_id, refused in judged.items():
        told.append(str(refused))
        quarantine(store.root, refused, taken.pop(env_id).files)
    for env_id, found in taken.items():
        note_origin(store.root, env_id, found.digest, remote.label)
        publish_folder(store.root, store.root / version_path(env_id), found.files)
    note_offers(remote.label, [offer for offer in offers if offer.env_id in taken])
    return told


def pull(remote: Fake, store: EnvStore) -> list[str]:
    """Pull everything as users do; returns what is told of what was not taken."""
    done = pull_from(remote, store)
    told = [f"{each.id} {each.note}" for each in done.outcomes if each.kind not in ("new", "same")]
    return [*told, *done.notes]


def tree(root: Path) -> dict[str, bytes]:
    """Return every file and link below a folder, by its path."""
    return {
        str(path.relative_to(root)): path.read_bytes() if path.is_file() else b"link"
        for path in sorted(root.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


def names(paths: Iterable[str]) -> set[str]:
    """Return the first three parts of paths."""
    return {"/".join(path.split("/")[:3]) for path in paths}
