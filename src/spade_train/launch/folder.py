"""Opening the folder of a run in all processes: the main one writes, the others read along."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from spade_envs.errors import ConfigError, SpadeError
from spade_train.batch import World
from spade_train.config import Config
from spade_train.runs import Checkpoint, Checkpoints, RunDir


@dataclass(frozen=True, slots=True)
class Opened:
    """A run's folder."""

    path: Path
    name: str
    """Id of the run."""
    config: Config
    checkpoint: Checkpoint | None
    """What to go on from; None from the beginning."""
    run: RunDir | None
    """The folder held for writing; None in all processes but the main one."""


def open_folder(config: Config | None, path: Path, world: World, *, resume: bool) -> Opened:
    """Create or take up a run's folder, in every process at the same time.

    Args:
        config: the configuration; None, in a resumed run, takes the folder's own.
        path: the folder.
        world: the processes.
        resume: whether the run is there already.

    Raises:
        ConfigError: the folder holds a run already, or none to go on with.
        StateError: the newest checkpoint is damaged, or another process trains.
    """
    run: RunDir | None = None
    checkpoint: Checkpoint | None = None
    failure: SpadeError | OSError | None = None
    if world.rank == 0:
        try:
            if resume:
                run, checkpoint = RunDir.resume(path, config)
            elif config is not None:
                run = RunDir.create(path, config)
            else:
                raise ConfigError("a new run needs a configuration")
        except (SpadeError, OSError) as error:
            failure = error
    told = world.gather(
        [run.run, checkpoint.update if checkpoint else 0, run.config.model_dump_json()]
        if run
        else None
    )[0]
    if failure is not None:
        raise failure
    if told is None:
        raise ConfigError(f"the main process could not open {path}")
    name, update, values = told
    settings = Config.model_validate_json(values)
    if run is None and update:
        checkpoint = Checkpoints(path / "checkpoints", run=name).load(update)
    return Opened(path, name, settings, checkpoint, run)
