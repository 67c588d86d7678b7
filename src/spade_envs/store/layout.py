"""Where an envstore keeps what, and which versions are there."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from spade_envs.errors import ConfigError, Corrupt, FormatTooNew, IdError, NotFound
from spade_envs.ids import NAMESPACE, EnvId, check_name
from spade_envs.manifest.canonical import FORMAT, canonical_json, parse_json
from spade_envs.store.files import publish_file, read_file, told
from spade_envs.store.trouble import storage_error

MARKER = "ENVSTORE.json"
ENVS = "envs"
INDEX = "index.jsonl"
CATALOG = "CATALOG.md"
REJECTED = "rejected"
MANIFEST = "manifest.json"
SOURCE = "env.py"
REPORT = "report.json"
TOMBSTONE = "WITHDRAWN.json"
CARD = "CARD.md"
SIGNATURE = "manifest.json.sig"
QUARANTINE = "quarantine"

MAX_SOURCE_BYTES = 1 << 20
MAX_MANIFEST_BYTES = 1 << 20
MAX_REPORT_BYTES = 16 << 20
MAX_INDEX_BYTES = 256 << 20
MAX_TOMBSTONE_BYTES = 1 << 16

_VERSION = re.compile(r"v(0|[1-9][0-9]{0,8})")
EXTRAS = {
    ".gitattributes": b"* text eol=lf\nindex.jsonl merge=union\nCATALOG.md merge=union\n"
    b"ledger/*.jsonl merge=union\n",
    ".gitignore": b".cache/\n.staging/\nrejected/\nquarantine/\n",
}


def version_path(env_id: EnvId) -> str:
    """Return the folder of a version, relative to the root of its store."""
    return f"{ENVS}/{env_id.name}/v{env_id.version}"


def marker() -> bytes:
    """Return what makes a folder an envstore, as the bytes of its `ENVSTORE.json`."""
    return canonical_json({"format": FORMAT, "namespace": NAMESPACE})


def create_store(root: Path) -> None:
    """Make `root` an envstore; a store that exists already is left as it is.

    Raises:
        ConfigError: `root` holds something else.
        StorageError: it cannot be made.
    """
    with told("made", root):
        try:
            root.mkdir(parents=True, exist_ok=True)
        except (FileNotFoundError, NotADirectoryError, FileExistsError) as error:
            raise storage_error(error, "made", root, other="another folder") from error
    if not (root / MARKER).exists():
        check_empty(root)
        for name, data in EXTRAS.items():
            publish_file(root, root / name, data)
        publish_file(root, root / MARKER, marker())
    check_marker(root)


def check_empty(root: Path) -> None:
    """Check that nothing is in a folder but what a store without environments may have.

    Raises:
        ConfigError: something else is.
    """
    if any(path.name not in (".staging", ".git", *EXTRAS) for path in root.iterdir()):
        raise ConfigError(f"{root} is not an envstore and not empty; name a new folder")


def check_marker(root: Path) -> None:
    """Check that `root` is an envstore of a format that we read.

    Raises:
        NotFound: there is no store.
        FormatTooNew: a newer release wrote it.
        Corrupt: its marker is unreadable.
    """
    where = str(root / MARKER)
    try:
        told = parse_json(read_file(root, MARKER, max_bytes=MAX_TOMBSTONE_BYTES), where)
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound(f"{root} is not an envstore (it has no {MARKER})") from None
    found = told.get("format") if isinstance(told, dict) else None
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise Corrupt(f"{where}: format must be a number >= 1")
    if found > FORMAT:
        raise FormatTooNew(
            f"{where} has format {found}; this release reads up to {FORMAT}. "
            "Run: pip install -U spade-envs"
        )
    if told != {"format": found, "namespace": NAMESPACE}:
        raise Corrupt(f"{where}: namespace must be {NAMESPACE!r}, and there are no other keys")


NO_FOLDER = "is no folder, so no version can be read; put the folder back"


def check_envs(root: Path) -> None:
    """Check that what should hold the versions is a folder, or not there yet.

    Raises:
        Corrupt: it is something else, so nothing can be said of the versions.
    """
    place = root / ENVS
    if os.path.lexists(place) and not _is_folder(place):
        raise Corrupt(f"{place} {NO_FOLDER}")


def scan(
    root: Path, *, known: Mapping[str, Mapping[str, bool]] | None = None, known_at_ns: int = 0
) -> dict[str, bool]:
    """Return the ids of all versions that are there, each with whether it is withdrawn.

    Looks at names only and opens no file. Folders that no environment can have are passed over.

    Args:
        root: folder of the store.
        known: name -> (id -> withdrawn), taken as true for every name whose folder has not changed
            since `known_at_ns`.
        known_at_ns: time in nanoseconds, compared with the folders' modification times.
    """
    found: dict[str, bool] = {}
    with told("read", root / ENVS):
        folders = _folders(root / ENVS) if _is_folder(root / ENVS) else []
    for folder in folders:
        trusted = known.get(folder.name) if known else None
        if trusted and _unchanged(folder, len(trusted), known_at_ns):
            found.update(trusted)
            continue
        try:
            name = check_name(folder.name)
        except IdError:
            continue
        with told("read", folder.path):
            for version, withdrawn in _versions(folder.path):
                found[f"{NAMESPACE}/{name}-v{version}"] = withdrawn
    return found


def versions_of(root: Path, name: str) -> dict[int, bool]:
    """Return the versions of one environment, each with whether it is withdrawn, in order."""
    folder = root / ENVS / check_name(name)
    inside = _is_folder(root / ENVS) and _is_folder(folder)
    with told("read", folder):
        return dict(sorted(_versions(str(folder)))) if inside else {}


def _unchanged(folder: os.DirEntry[str], versions: int, since_ns: int) -> bool:
    """Whether a folder still holds its versions, by its time and, where it tells, by its links.

    Times are no proof on their own: a clock may be set back, and copies keep times.
    """
    state = folder.stat(follow_symlinks=False)
    told_links = state.st_nlink > 1  # on some file systems a folder's links say nothing
    return state.st_mtime_ns < since_ns and not (told_links and state.st_nlink != versions + 2)


def _is_folder(path: Path) -> bool:
    """Whether `path` is a folder, and not a link to one."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def number_of(folder: str) -> int | None:
    """Return the number of a version from the name of its folder; None if it names none."""
    match = _VERSION.fullmatch(folder)
    return None if match is None else int(match[1])


def _versions(folder: str) -> Iterator[tuple[int, bool]]:
    for entry in _folders(folder):
        if (number := number_of(entry.name)) is not None:
            tombstone = f"{entry.path}/{TOMBSTONE}"
            yield number, os.access(tombstone, os.F_OK, follow_symlinks=False)


def _folders(path: str | Path) -> list[os.DirEntry[str]]:
    """Return the entries that are folders and not links."""
    with os.scandir(path) as entries:
        return [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
