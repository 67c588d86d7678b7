"""Checkpoints: one folder per saved update, that is there whole or not at all.

    checkpoints/update-00000016/
        manifest.json     run, update, length and sha256 of every file, a seal over itself
        <part>            a file, or a folder such as a model writes

A checkpoint is staged beside the others, synced, and renamed into its place. Whoever dies before
the rename leaves nothing but a staging folder, which the next writer sweeps away.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from spade_envs.errors import Corrupt
from spade_envs.manifest.canonical import canonical_json, parse_json, seal_holds, sealed
from spade_envs.store.files import STAGING, staged, sync_folder, write_new
from spade_envs.types import Json
from spade_train.errors import StateError

FORMAT = 1
MANIFEST = "manifest.json"
_FOLDER = re.compile(r"update-(\d{8,})")
_PART = re.compile(r"[a-z0-9][a-z0-9_\-.]*")
_BLOCK = 1 << 20
_MEND = "remove the folder to go on from the checkpoint before it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A checkpoint whose every byte was verified when it was opened."""

    path: Path
    run: str
    update: int
    """Updates that were done when it was saved."""
    files: tuple[str, ...]
    """Paths below `path`, with `/` between, sorted."""

    def part(self, name: str) -> Path:
        """Return the path of a part: a file or a folder.

        Raises:
            StateError: there is no such part.
        """
        if not any(file == name or file.startswith(f"{name}/") for file in self.files):
            parts = sorted({file.partition("/")[0] for file in self.files})
            raise StateError(f"{self.path} has no part {name!r}; it has {', '.join(parts)}")
        return self.path / name

    def bytes(self, name: str) -> bytes:
        """Return the content of a part that is a file.

        Raises:
            StateError: there is no such part, or it is a folder.
        """
        path = self.part(name)
        if not path.is_file():
            raise StateError(f"the part {name!r} of {self.path} is a folder")
        return path.read_bytes()


class Stage:
    """A checkpoint that is being written; it becomes visible when its `with` block ends well."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, name: str) -> Path:
        """Return where a part is to be written, as a file or as a folder that the caller makes.

        Raises:
            StateError: the name is not of lower-case letters, digits and `_-.`, or is taken.
        """
        if not _PART.fullmatch(name) or name == MANIFEST:
            raise StateError(f"{name!r} is no name of a part")
        path = self._folder / name
        if os.path.lexists(path):
            raise StateError(f"the part {name!r} is there already")
        return path

    def put(self, name: str, content: bytes | Path) -> None:
        """Write a part: bytes, or a copy of a file or folder.

        Raises:
            StateError: as for `path`.
        """
        path = self.path(name)
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif content.is_dir():
            shutil.copytree(content, path)
        else:
            shutil.copyfile(content, path)


class Checkpoints:
    """The checkpoints of one run; one process may write at a time."""

    def __init__(self, root: Path, *, run: str, keep: int = 2) -> None:
        """Take the folder; nothing is written yet.

        Args:
            root: folder of the checkpoints; made at the first save.
            run: id of the run; checkpoints of another one are refused.
            keep: checkpoints that stay when a new one is saved, >= 1.
        """
        self.root, self.run, self.keep = root, run, keep

    def updates(self) -> tuple[int, ...]:
        """Return the updates that have a checkpoint, from the first."""
        if not self.root.is_dir():
            return ()
        found = (_FOLDER.fullmatch(name) for name in os.listdir(self.root))
        return tuple(sorted(int(match[1]) for match in found if match))

    def save(self, update: int, parts: Mapping[str, bytes | Path]) -> Checkpoint:
        """Save parts that are there already; see `stage` to write them in place.

        Raises:
            StateError: as for `stage`.
        """
        with self.stage(update) as stage:
            for name, content in parts.items():
                stage.put(name, content)
        return self.load(update)

    @contextmanager
    def stage(self, update: int) -> Iterator[Stage]:
        """Give a place to write parts to; it becomes the checkpoint of `update` at the end.

        Afterwards, only the newest `keep` checkpoints are left. If the block raises, nothing is.

        Args:
            update: updates done so far, greater than that of every checkpoint there is.

        Raises:
            StateError: there is a checkpoint of this or a later update, or no part was written.
        """
        there = self.updates()
        if there and update <= there[-1]:
            raise StateError(
                f"{self.root} has a checkpoint of update {there[-1]}; cannot save {update}"
            )
        self.root.mkdir(parents=True, exist_ok=True)
        with staged(self.root) as outer:
            folder = outer / "new"
            folder.mkdir()
            yield Stage(folder)
            files = _synced(folder)
            if not files:
                raise StateError("a checkpoint needs at least one part")
            write_new(folder / MANIFEST, self._manifest(update, files))
            sync_folder(folder)
            os.rename(folder, self._path(update))
        sync_folder(self.root)
        for old in self.updates()[: -self.keep]:
            self._remove(old)

    def latest(self) -> Checkpoint | None:
        """Return the newest checkpoint, verified; None if there is none.

        Raises:
            StateError: it is damaged or of another run.
        """
        there = self.updates()
        return self.load(there[-1]) if there else None

    def load(self, update: int) -> Checkpoint:
        """Return the checkpoint of an update after reading every byte of it.

        Raises:
            StateError: there is none, it belongs to another run, was written by a newer release,
                or its files are not those of its manifest.
        """
        path = self._path(update)
        if not path.is_dir():
            known = ", ".join(map(str, self.updates())) or "none"
            raise StateError(f"{self.root} has no checkpoint of update {update}; there is {known}")
        manifest = _read_manifest(path)
        if manifest["run"] != self.run or manifest["update"] != update:
            raise StateError(
                f"{path} belongs to update {manifest['update']} of run {manifest['run']}, "
                f"not to run {self.run}; move it away"
            )
        _verify(path, manifest["files"])
        files = tuple(sorted(manifest["files"]))
        return Checkpoint(path=path, run=self.run, update=update, files=files)

    def sweep(self) -> None:
        """Remove what killed writers left; only for the one writer, between two saves."""
        shutil.rmtree(self.root / STAGING, ignore_errors=True)

    def _path(self, update: int) -> Path:
        return self.root / f"update-{update:08d}"

    def _remove(self, update: int) -> None:
        # Renamed first: a half-removed folder must not look like a checkpoint.
        gone = self.root / STAGING / uuid.uuid4().hex
        gone.parent.mkdir(exist_ok=True)
        os.rename(self._path(update), gone)
        shutil.rmtree(gone, ignore_errors=True)

    def _manifest(self, update: int, files: Mapping[str, Json]) -> bytes:
        manifest = {
            "format": FORMAT,
            "run": self.run,
            "update": update,
            "files": dict(files),
            "seal": "0" * 64,
        }
        return sealed(canonical_json(manifest))


def _read_manifest(path: Path) -> Json:
    try:
        data = (path / MANIFEST).read_bytes()
        manifest = parse_json(data, str(path / MANIFEST))
    except (OSError, Corrupt) as error:
        raise StateError(f"{path} has no readable manifest ({error}); {_MEND}") from None
    found = manifest.get("format") if isinstance(manifest, dict) else None
    if isinstance(found, int) and found > FORMAT:
        raise StateError(f"{path} has format {found}; this release reads up to {FORMAT}")
    if found != FORMAT or not seal_holds(data, str(manifest.get("seal"))):
        raise StateError(f"the manifest of {path} was changed or torn; {_MEND}")
    return manifest


def _verify(path: Path, files: Mapping[str, Json]) -> None:
    found = {name: file for name, file in _walk(path) if name != MANIFEST}
    for name in sorted(found.keys() ^ files.keys()):
        what = "is missing" if name in files else "is not of this checkpoint"
        raise StateError(f"{path} is damaged: {name} {what}; {_MEND}")
    for name, file in found.items():
        if _stamp(file) != files[name]:
            raise StateError(f"{path} is damaged: {name} is not the file that was saved; {_MEND}")


def _synced(folder: Path) -> dict[str, Json]:
    """Sync every file and folder below, and return what the manifest says of the files."""
    stamps: dict[str, Json] = {}
    for name, file in _walk(folder):
        stamps[name] = _stamp(file, sync=True)
    for path, _, _ in os.walk(folder, topdown=False):
        sync_folder(Path(path))
    return stamps


def _walk(folder: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not (path.is_dir() or path.is_file()):
            raise StateError(f"{path} is neither a file nor a folder; no checkpoint holds such")
        if path.is_file():
            yield path.relative_to(folder).as_posix(), path


def _stamp(path: Path, *, sync: bool = False) -> Json:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        if sync:
            os.fsync(stream.fileno())
        while block := stream.read(_BLOCK):
            digest.update(block)
        return {"sha256": digest.hexdigest(), "size": stream.tell()}
