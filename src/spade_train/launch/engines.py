"""The sampling engine that a configuration asks for."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from spade_train.batch import World
from spade_train.config import Config
from spade_train.engines import Engine

WEIGHTS = "weights"
"""Folder of a run in which weights are handed over to servers."""


def open_engine(
    config: Config, model: Any, stops: Iterable[int], folder: Path, world: World
) -> Engine:
    """Return an engine that samples from a model's weights.

    Args:
        config: its section `rollout` decides.
        model: the module that is trained, or a frozen one.
        stops: tokens that end a turn.
        folder: the run's folder.
        world: the processes that train together.

    Raises:
        EngineError: the engine cannot start.
        MissingExtra: a library is not installed.
    """
    rollout = config.rollout
    if rollout.engine == "vllm":
        from spade_train.engines.vllm import VllmEngine

        return VllmEngine(
            model,
            stops,
            window_tokens=config.agent.max_context_tokens,
            dtype=config.model.dtype,
            memory_share=rollout.gpu_memory_share,
            live=rollout.live_episodes,
            world=world,
        )
    if rollout.engine == "vllm-server":
        from spade_train.engines.server import ServerEngine

        return ServerEngine(
            model,
            rollout.servers,
            stops,
            folder=folder / WEIGHTS,
            dtype=config.model.dtype,
            world=world,
            live=rollout.live_episodes,
        )
    from spade_train.engines.hf import TransformersEngine

    return TransformersEngine(model, stops=stops)


def open_frozen(model: Any, stops: Iterable[int]) -> Engine:
    """Return an engine in this process for weights that are never trained, whatever `rollout` says.

    Args:
        model: a copy of the initial model.
        stops: tokens that end a turn.
    """
    from spade_train.engines.hf import TransformersEngine

    model.requires_grad_(False)
    return TransformersEngine(model.eval(), stops=stops)
