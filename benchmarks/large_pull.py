"""A store of 50,000 environments that was pulled, and what a second pull reads if 1 % of it is new.

What is counted is what the remote, a folder, hands out. A listing is counted as what it says: a
path and a size for each file. The second pull is a real one. The first one would place 50,000
versions one by one, so its traces (the same files, and what is noted of the remote) are laid down
by hand, and what it would read is reckoned from the sizes; a real pull of a small store is held
against the reckoning each time.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.large_store import fill, place
from benchmarks.timing import Claim, Result, Scale, Series
from spade_envs.ids import EnvId
from spade_envs.sharing.pull import pull_from
from spade_envs.sharing.remotes.folder import FolderRemote
from spade_envs.store import index, open_store
from spade_envs.store.files import now_ns
from spade_envs.store.layout import ENVS, MANIFEST, MARKER, version_path
from spade_envs.trust.incoming import Entry
from spade_envs.trust.origin import note_origin
from spade_envs.trust.seen import Offer, note_offers

NEW = 0.01
"""Share of the environments that get another version between the pulls."""
BARS = {"bytes": 0.011, "files": 0.011, "bytes with listings": 0.02}
"""Most that the second pull may read, as shares of what the first one reads."""
_SMALL = 48
_MIB = 1 << 20


class Counted(FolderRemote):
    """A folder as a remote, which counts what it hands out."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._lock = threading.Lock()
        self.files, self.bytes, self.listed_bytes = 0, 0, 0

    def entries(self) -> Sequence[Entry]:
        """Return every file, as `FolderRemote` does."""
        found = super().entries()
        self.listed_bytes += sum(len(f"{each.path} {each.size}\n".encode()) for each in found)
        return found

    def read(self, path: str, max_bytes: int) -> bytes:
        """Return a file's bytes, as `FolderRemote` does."""
        data = super().read(path, max_bytes)
        with self._lock:
            self.files, self.bytes = self.files + 1, self.bytes + len(data)
        return data


@dataclass(frozen=True, slots=True)
class Read:
    """What a pull reads."""

    files: int
    bytes: int
    listed_bytes: int

    def figures(self) -> dict[str, int]:
        """Return what is compared, by the names of `BARS`."""
        return {
            "bytes": self.bytes,
            "files": self.files,
            "bytes with listings": self.bytes + self.listed_bytes,
        }


def run(scale: Scale) -> Result:
    """Let 1 % of a large store that was pulled get a new version, pull again, and count."""
    changed = max(1, round(scale.versions * NEW))
    with tempfile.TemporaryDirectory() as folder, _own_notes(Path(folder) / "home"):
        _reckoning_holds(Path(folder) / "small")
        far, near = Path(folder) / "far", Path(folder) / "near"
        fill(far, scale.versions)
        first = _first(far)
        _as_pulled(far, near)
        place(far, range(0, scale.versions, scale.versions // changed)[:changed], version=1)
        open_store(far).refresh()
        begun_s = time.process_time()
        second = _pull(far, near, changed)
        taken_s = time.process_time() - begun_s
    series = tuple(
        Series(f"{name} pull, {what}", unit, (value,))
        for name, each in (("first", first), ("second", second))
        for what, unit, value in (
            ("files", "files", float(each.files)),
            ("contents", "MiB", each.bytes / _MIB),
            ("listing", "MiB", each.listed_bytes / _MIB),
        )
    )
    whole, share = first.figures(), second.figures()
    claims = tuple(
        Claim(
            f"{changed} of {scale.versions} environments have a new version: {what} that a pull "
            "reads, of those of the first pull",
            share[what] / whole[what],
            bar,
            False,
        )
        for what, bar in BARS.items()
    )
    took = Series("second pull, time", "processor s", (taken_s,))
    return Result("large-pull", (*series, took), claims)


def _pull(far: Path, near: Path, expected: int) -> Read:
    remote = Counted(far)
    done = pull_from(remote, open_store(near, create=True))
    new = len(done.of("new"))
    if new != expected:
        raise RuntimeError(f"{new} versions came instead of {expected}: {done.outcomes[:3]}")
    return Read(remote.files, remote.bytes, remote.listed_bytes)


def _first(far: Path) -> Read:
    """Return what a first pull reads: the marker, and every file of every version once."""
    remote = Counted(far)
    sizes = [each.size for each in remote.entries() if each.path.startswith((f"{ENVS}/", MARKER))]
    return Read(len(sizes), sum(sizes), remote.listed_bytes)


def _as_pulled(far: Path, near: Path) -> None:
    """Make `near` what a pull of all of `far` into a new store leaves behind."""
    open_store(near, create=True)
    shutil.copytree(far / ENVS, near / ENVS, copy_function=os.link, dirs_exist_ok=True)
    lines = index.load(far)
    index.write_index(near, lines, scanned_at_ns=now_ns(near))
    offers, remote = [], Counted(far)
    for line in lines:
        env_id = EnvId.parse(line.id)
        manifest = json.loads((far / version_path(env_id) / MANIFEST).read_bytes())
        gates = manifest["report"]["gates_version"]
        offers.append(Offer(env_id, line.digest, gates_version=gates))
        note_origin(near, env_id, line.digest, remote.label, address=remote.written)
    note_offers(remote.label, offers)


def _reckoning_holds(folder: Path) -> None:
    """See that a real pull reads what is reckoned, and leaves what is laid down by hand."""
    far, near, by_hand = folder / "far", folder / "near", folder / "by-hand"
    fill(far, _SMALL)
    if _pull(far, near, _SMALL) != _first(far):
        raise RuntimeError("a first pull does not read what is reckoned")
    _as_pulled(far, by_hand)
    if _pull(far, near, 0) != _pull(far, by_hand, 0):
        raise RuntimeError("a store as pulled is not what a pull leaves")


@contextmanager
def _own_notes(home: Path) -> Iterator[None]:
    """Keep what the pulls note of their remote apart from what this machine's user has."""
    names = [f"XDG_{kind}_HOME" for kind in ("STATE", "CONFIG", "CACHE")]
    before = {name: os.environ.get(name) for name in names}
    os.environ.update({name: str(home / name) for name in names})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
