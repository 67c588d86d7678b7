"""Verify a large store fast: one pass over its files, their names, hashes and the index.

What a manifest vouches for is held against the bytes: its own seal, the digest, source and report.
What `verify` alone looks at: duplicate keys and the schema of provenance and other texts, whether
JSON is canonical, what the reports say, and the catalogue. Loading looks at what matters of that
as well, each time. So this finds what disks, copies and killed writers do, and not what forgers do.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from spade_envs.errors import Corrupt, FormatTooNew, IdError, NotFound
from spade_envs.ids import NAMESPACE, EnvId, check_name
from spade_envs.manifest.canonical import seal_holds
from spade_envs.store import index, layout
from spade_envs.store.certificate import is_known, unknown_gates
from spade_envs.store.files import open_below, open_folder, read_file, read_inside
from spade_envs.store.helper import MANY, MOST, Helper, Part, processors
from spade_envs.store.read import Version, clean_line, parse_version, read_tombstone
from spade_envs.store.verify import VERSION_FILES, Problem, top

_DECODER = msgspec.json.Decoder(Version)


class _Place(NamedTuple):
    """Where a version lies."""

    name: str
    number: int
    path: str
    """Relative to the store."""

    @property
    def env_id(self) -> EnvId:
        return EnvId(self.name, self.number)

    @property
    def id(self) -> str:
        return f"{NAMESPACE}/{self.name}-v{self.number}"


def verify_quick(root: Path) -> tuple[int, list[Problem]]:
    """Return the number of versions that can be read, and what is wrong; notes come last."""
    found = list(top(root))
    parts = _parts(root)
    for part in parts:
        found += part.problems
    rows = b"".join(part.rows for part in parts)
    try:
        data = read_file(root, layout.INDEX, max_bytes=layout.MAX_INDEX_BYTES)
    except FileNotFoundError:
        data = b""
    except (Corrupt, OSError) as error:
        found.append(Problem("index", layout.INDEX, str(error)))
        data = rows
    if data != rows and not any(each.path == layout.ENVS for each in found):
        found.append(Problem("index", layout.INDEX, "is not up to date; reindex mends it"))
    count = sum(part.count for part in parts)
    return count, sorted(found, key=lambda problem: problem.severity)


def _parts(root: Path) -> list[Part]:
    """Look at every environment, together with other processes if there are many."""
    try:
        with open_folder(root, layout.ENVS) as envs:
            names = sorted(os.listdir(envs))
    except FileNotFoundError:
        return []
    except Corrupt as error:
        return [Part(problems=[Problem("unknown", layout.ENVS, str(error))])]
    processes = min(processors(), MOST) if len(names) >= MANY else 1
    if processes < 2:
        return [look(root, names)]
    each = -(-len(names) // processes)
    shares = [names[at : at + each] for at in range(0, len(names), each)]
    helpers = [Helper(root, share) for share in shares[1:]]
    try:
        first = look(root, shares[0])
        return [first, *(helper.result() or look(root, helper.names) for helper in helpers)]
    finally:
        for helper in helpers:
            helper.close()


def look(root: Path, names: Sequence[str]) -> Part:
    """Return the versions of these environments that can be read, and what is wrong with them."""
    found: list[Problem] = []
    try:
        with open_folder(root, layout.ENVS) as envs:
            lines = [line for name in names for line in _environment(root, envs, name, found)]
    except FileNotFoundError:
        return Part()  # the folder is gone
    lines.sort(key=index.order)
    return Part(len(lines), index.encode(lines), found)


def _environment(
    root: Path, envs: int, name: str, found: list[Problem]
) -> Iterator[index.IndexLine]:
    path = f"{layout.ENVS}/{name}"
    try:
        with open_below(root, envs, check_name(name)) as folder:
            numbers = _numbers(folder, path, found)
            for number in numbers:
                line = _opened(root, folder, _Place(name, number, f"{path}/v{number}"), found)
                if line is not None:
                    yield line
    except FileNotFoundError:
        return  # it was empty, and is gone
    except (IdError, Corrupt, OSError) as error:
        found.append(Problem("unknown", path, str(error)))
        return
    if not numbers:
        found.append(Problem("staging", path, "has no version; a writer was stopped", "note"))


def _numbers(folder: int, path: str, found: list[Problem]) -> list[int]:
    numbers = []
    with os.scandir(folder) as entries:
        for entry in entries:
            number = layout.number_of(entry.name)
            if number is None or not entry.is_dir(follow_symlinks=False):
                message = "is not a folder of a version"
                found.append(Problem("unknown", f"{path}/{entry.name}", message))
            else:
                numbers.append(number)
    return sorted(numbers)


def _opened(root: Path, folder: int, place: _Place, found: list[Problem]) -> index.IndexLine | None:
    try:
        with open_below(root, folder, f"v{place.number}") as version:
            return _version(root, version, place, found)
    except FileNotFoundError:
        return None  # somebody removed it just now
    except (Corrupt, OSError) as error:
        found.append(Problem("manifest", place.path, str(error)))
        return None


def _version(
    root: Path, folder: int, place: _Place, found: list[Problem]
) -> index.IndexLine | None:
    where = place.path
    with os.scandir(folder) as entries:
        names = {entry.name: entry.is_file(follow_symlinks=False) for entry in entries}
    for name, ordinary in names.items():
        if name not in VERSION_FILES or not ordinary:
            found.append(Problem("unknown", f"{where}/{name}", "does not belong to a version"))
    path = f"{where}/{layout.MANIFEST}"
    try:
        data = read_inside(root, folder, path, max_bytes=layout.MAX_MANIFEST_BYTES)
        version = _manifest(data, place, path)
    except FileNotFoundError:
        found.append(Problem("manifest", path, "is missing"))
        return None
    except (Corrupt, FormatTooNew, NotFound, OSError) as error:
        found.append(Problem("manifest", path, str(error)))
        return None
    if version.seal is None:
        message = "has no seal, so changes of its texts cannot be noticed; publish it anew"
        found.append(Problem("manifest", path, message, "note"))
    if version.report.gates_version and not is_known(version.report.gates_version):
        found.append(Problem("manifest", path, unknown_gates(version.report.gates_version)))
    withdrawn = layout.TOMBSTONE in names
    _bytes(root, folder, where, version, withdrawn, found)
    return index.IndexLine(
        digest=version.digest,
        id=version.id,
        kind=version.interface.kind,
        levels=version.interface.levels,
        licence=version.licence,
        max_turns=version.interface.max_turns,
        skills=version.skills,
        summary=clean_line(version.summary),
        title=clean_line(version.title),
        withdrawn=read_tombstone(root, place.env_id) if withdrawn else None,
    )


def _manifest(data: bytes, place: _Place, where: str) -> Version:
    """Return the manifest in `data`, in short if its seal and digest hold, else the long way."""
    try:
        version = _DECODER.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return parse_version(data, place.env_id, where)
    held = (
        version.format == 1
        and version.id == place.id
        and version.seal is not None
        and seal_holds(data, version.seal)
        and _digest_in(data) == version.digest
        and version.files.keys() == {layout.SOURCE}
    )
    return version if held else parse_version(data, place.env_id, where)


def _digest_in(data: bytes) -> str:
    """Return the digest of a canonical manifest: what it hashes stands in it, word for word.

    No text in JSON holds a line end, so a line that begins so is a key of the whole.
    """
    files, after = data.find(b'\n  "files": '), data.find(b',\n  "id": ')
    interface, end = data.find(b'\n  "interface": '), data.find(b',\n  "licence": ')
    if not 0 < files < after < interface < end:
        return ""
    identity = b"{" + data[files:after] + b"," + data[interface:end] + b"\n}\n"
    return f"sha256:{hashlib.sha256(identity).hexdigest()}"


def _bytes(
    root: Path, folder: int, where: str, version: Version, withdrawn: bool, found: list[Problem]
) -> None:
    """Hold source and report against what the manifest vouches for."""
    changed = "differs from its manifest; it was changed after publishing"
    source, report = f"{where}/{layout.SOURCE}", f"{where}/{layout.REPORT}"
    try:
        data = read_inside(root, folder, source, max_bytes=layout.MAX_SOURCE_BYTES)
        vouched = version.files[layout.SOURCE]
        if len(data) != vouched.size or hashlib.sha256(data).hexdigest() != vouched.sha256:
            found.append(Problem("source", source, changed))
    except FileNotFoundError:
        # A withdrawn version may have lost its code on purpose; the tombstone stays.
        found.append(Problem("source", source, "is missing", "note" if withdrawn else "error"))
    except (Corrupt, OSError) as error:
        found.append(Problem("source", source, str(error)))
    try:
        data = read_inside(root, folder, report, max_bytes=layout.MAX_REPORT_BYTES)
        if hashlib.sha256(data).hexdigest() != version.report.sha256:
            found.append(Problem("report", report, changed))
    except FileNotFoundError:
        found.append(Problem("report", report, "is missing"))
    except (Corrupt, OSError) as error:
        found.append(Problem("report", report, str(error)))
