"""Where metrics can be watched: TensorBoard, Weights & Biases, trackio. All are optional."""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from spade_envs.errors import MissingExtra
from spade_envs.types import Json
from spade_train.config import Config


class Sink(Protocol):
    """Something that shows the numbers of a run. `Metrics` is one; none may change the run."""

    def log(self, update: int, values: Mapping[str, float]) -> None:
        """Take the numbers of one update."""
        ...

    def close(self) -> None:
        """Send what is left."""
        ...


def open_sinks(config: Config, path: Path, run: str, *, update: int = 0) -> tuple[Sink, ...]:
    """Return the sinks that a configuration asks for, beside metrics.jsonl.

    Args:
        config: the configuration.
        path: folder of the run.
        run: id of the run, so that a resumed run goes on in the same place.
        update: first update that will come.

    Raises:
        MissingExtra: a library is not installed; the message holds the command.
    """
    sinks: list[Sink] = []
    if config.sinks.tensorboard:
        sinks.append(_TensorBoard(path / "tensorboard", update))
    if config.sinks.wandb:
        sinks.append(_Tracker("wandb", config.sinks.wandb, run, config, id=run, dir=str(path)))
    if config.sinks.trackio:
        sinks.append(_Tracker("trackio", config.sinks.trackio, run, config))
    return tuple(sinks)


class _TensorBoard:
    def __init__(self, folder: Path, update: int) -> None:
        _need("tensorboard", "train")
        board = _need("torch.utils.tensorboard", "train")
        # What a resume went back behind is hidden.
        self._writer = board.SummaryWriter(str(folder), purge_step=update)

    def log(self, update: int, values: Mapping[str, float]) -> None:
        for name, value in _finite(values).items():
            self._writer.add_scalar(name, value, update)

    def close(self) -> None:
        self._writer.close()


class _Tracker:
    """wandb, or trackio, which has the same functions."""

    def __init__(self, module: str, project: str, run: str, config: Config, **more: Json) -> None:
        library = _need(module, module)
        name = f"{config.name}-{run[:8]}"
        settings = config.model_dump(mode="json")
        self._run: Any = library.init(
            project=project, name=name, config=settings, resume="allow", **more
        )

    def log(self, update: int, values: Mapping[str, float]) -> None:
        self._run.log(dict(_finite(values)), step=update)

    def close(self) -> None:
        self._run.finish()


def _need(module: str, extra: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtra(module.partition(".")[0], extra) from None


def _finite(values: Mapping[str, float]) -> dict[str, float]:
    return {name: float(value) for name, value in values.items() if math.isfinite(value)}
