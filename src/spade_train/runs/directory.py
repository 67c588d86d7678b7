"""The folder of a run.

RUN/
    run.json          format, id of the run, version of the release that made it
    config.toml       the resolved configuration
    events.jsonl      what happened, append-only
    metrics.jsonl     numbers per update, append-only
    checkpoints/      see `checkpoint`
    envstore/         the environments of this run
    run.lock          held by the process that trains
"""

from __future__ import annotations

import fcntl
import os
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from spade_envs._version import __version__
from spade_envs.errors import ConfigError, Corrupt
from spade_envs.manifest.canonical import canonical_json, parse_json
from spade_envs.store.files import replace_file
from spade_train.config import Config, changed_keys, resolve, to_toml
from spade_train.errors import StateError
from spade_train.runs.checkpoint import Checkpoint, Checkpoints, Stage
from spade_train.runs.records import RESUMED, Events, Metrics

FORMAT = 1
_ID = re.compile(r"[0-9a-f]{32}")
# What may differ between a run and its continuation, perhaps on another machine: none of it changes
# what was computed so far.
_MACHINE = ("servers", "backend", "workers", "gpu_memory_share")
_FREE = frozenset(
    (
        "name",
        "derived_from",
        "run.save_interval",
        "run.keep_checkpoints",
        *(f"rollout.{key}" for key in _MACHINE),
    )
)
_FREE_SECTIONS = ("budget.", "sinks.", "health.")


class RunDir:
    """The folder of one run, held by this process until `close`."""

    def __init__(self, path: Path, run: str, config: Config, lock: int) -> None:
        """Use `create` or `resume`."""
        self.path, self.run, self.config = path, run, config
        self._lock = lock
        self.checkpoints = Checkpoints(
            path / "checkpoints", run=run, keep=config.run.keep_checkpoints
        )
        self.checkpoints.sweep()
        self.events = Events(path / "events.jsonl")
        self.metrics = Metrics(path / "metrics.jsonl")

    @property
    def store_path(self) -> Path:
        """Folder of the run's own envstore."""
        return self.path / "envstore"

    @classmethod
    def create(cls, path: Path, config: Config) -> RunDir:
        """Make the folder of a new run.

        Raises:
            ConfigError: the folder holds a run or anything else already, or is no folder.
        """
        refuse_taken(path)
        make_folder(path)
        lock = _locked(path)
        try:
            refuse_taken(path)
            run = uuid.uuid4().hex
            replace_file(path, path / "config.toml", to_toml(config).encode())
            marker = {"format": FORMAT, "run": run, "release": __version__}
            # Last: a folder without it is no run yet, and may be made one.
            replace_file(path, path / "run.json", canonical_json(marker))
            return cls(path, run, config, lock)
        except BaseException:
            os.close(lock)
            raise

    @classmethod
    def resume(cls, path: Path, config: Config | None = None) -> tuple[RunDir, Checkpoint | None]:
        """Take up a run at its newest checkpoint; None, and thus update 0, if it has none.

        Metrics of later updates are dropped; events stay, and the event `resumed` says from where
        they were repeated (see `records.effective`).

        Args:
            path: the folder.
            config: the configuration to go on with; only what changes no result may differ from
                that of the run: budget, sinks, health, checkpoints, where rollouts run, and the
                number of updates under a constant learning rate.

        Raises:
            ConfigError: the folder holds no run, or the configuration differs in more than that.
            StateError: the newest checkpoint or a record is damaged, or another process trains.
        """
        run, old = read_run(path)
        lock = _locked(path)
        try:
            if config is not None:
                _refuse_changes(old, config)
            directory = cls(path, run, config or old, lock)
            checkpoint = directory.checkpoints.latest()
            if config is not None and config != old:
                replace_file(path, path / "config.toml", to_toml(config).encode())
            update = checkpoint.update if checkpoint else 0
            # Update u is the one after u others: a checkpoint of 16 has seen updates 0 to 15.
            dropped = directory.metrics.keep_through(update - 1)
            directory.events.note(RESUMED, update - 1, checkpoint=update, dropped_metrics=dropped)
            return directory, checkpoint
        except BaseException:
            os.close(lock)
            raise

    @contextmanager
    def stage(self, update: int) -> Iterator[Stage]:
        """Give a place to write the parts of a checkpoint to; see `Checkpoints.stage`.

        The records are synced first, so that no checkpoint is ahead of them.

        Args:
            update: updates done so far.
        """
        self.metrics.sync()
        self.events.sync()
        with self.checkpoints.stage(update) as stage:
            yield stage
        self.events.note("checkpoint", update - 1)

    def close(self) -> None:
        """Sync the records and let other processes have the run."""
        self.metrics.close()
        self.events.close()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_run(path: Path) -> tuple[str, Config]:
    """Return the id and the configuration of a run without taking it.

    Raises:
        ConfigError: the folder holds no run, or its configuration cannot be read.
        StateError: the run was made by a newer release, or its marker is damaged.
    """
    try:
        marker = parse_json((path / "run.json").read_bytes(), str(path / "run.json"))
    except OSError:
        raise ConfigError(f"{path} holds no run; it has no run.json") from None
    except Corrupt as error:
        raise StateError(str(error)) from None
    found = marker.get("format") if isinstance(marker, dict) else None
    if isinstance(found, int) and found > FORMAT:
        raise StateError(f"{path} has format {found}; this release reads up to {FORMAT}")
    if found != FORMAT or not _ID.fullmatch(str(marker.get("run"))):
        raise StateError(f"{path / 'run.json'} is no marker of a run")
    return str(marker["run"]), resolve(path.absolute() / "config.toml")


def refuse_taken(path: Path) -> None:
    """Refuse a folder in which no new run can be made; nothing is written.

    Raises:
        ConfigError: the folder holds a run or anything else already.
    """
    if (path / "run.json").exists():
        raise ConfigError(f"{path} holds a run already; go on with --resume, or name another")
    there = os.listdir(path) if path.is_dir() else ()
    strangers = sorted(set(there) - {"run.lock", "config.toml", ".staging"})
    if strangers:
        raise ConfigError(f"{path} is not empty (it has {strangers[0]}); name a new folder")


def make_folder(path: Path) -> None:
    """Make a folder and those above it, if they are not there.

    Raises:
        ConfigError: something else than a folder is in the way.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise ConfigError(f"{path} is no folder, or below a file; name another") from None


def _refuse_changes(old: Config, new: Config) -> None:
    # A learning rate that falls towards the last update would have been another one so far.
    free = _FREE | {"run.updates"} if old.optimizer.schedule == "constant" else _FREE
    changed = [
        key
        for key in changed_keys(old, new)
        if key not in free and not key.startswith(_FREE_SECTIONS)
    ]
    if changed:
        raise ConfigError(
            f"a run cannot go on with another {', '.join(changed)}; start a new one for that"
        )


def _locked(path: Path) -> int:
    lock = os.open(path / "run.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise StateError(f"another process is training in {path}") from None
    return lock
