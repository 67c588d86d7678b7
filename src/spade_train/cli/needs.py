"""What a command that trains needs beside the core, asked before anything is written."""

from __future__ import annotations

from importlib.util import find_spec

from spade_envs.errors import MissingExtra

_TRAINING = ("torch", "transformers", "trl", "accelerate", "datasets", "peft", "safetensors")


def need_training(modules: tuple[str, ...] = _TRAINING) -> None:
    """Check that the libraries of training are installed, without loading them.

    Raises:
        MissingExtra: one is not.
    """
    for name in modules:
        if find_spec(name) is None:
            raise MissingExtra(name, "train")
