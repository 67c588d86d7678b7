"""Weights as safetensors files in a folder that servers can read."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spade_train.nano.disk import disk_errors

if TYPE_CHECKING:
    import torch

FILE_BYTES = 4 * 2**30
"""Size at which a new file is begun; what is held in memory at once."""


def write_weights(
    weights: Iterable[tuple[str, torch.Tensor]],
    folder: Path,
    *,
    dtype: str = "float32",
    file_bytes: int = FILE_BYTES,
) -> None:
    """Write weights into a folder, which appears under its name when it is complete.

    Args:
        weights: names and whole tensors.
        folder: the folder; one of the same name is replaced.
        dtype: to which floating-point weights are turned.
        file_bytes: size at which a new file is begun, > 0.

    Raises:
        OSError: the folder cannot be written.
    """
    import torch
    from safetensors.torch import save_file

    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    for number, part in enumerate(_parts(weights, getattr(torch, dtype), file_bytes)):
        with disk_errors(partial):
            save_file(part, partial / f"model-{number:05d}.safetensors")
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)


def _parts(
    weights: Iterable[tuple[str, torch.Tensor]], dtype: torch.dtype, file_bytes: int
) -> Iterator[dict[str, Any]]:
    part: dict[str, Any] = {}
    size = 0
    for name, tensor in weights:
        kept = tensor.to("cpu", dtype if tensor.is_floating_point() else tensor.dtype).contiguous()
        part[name] = kept
        size += kept.numel() * kept.element_size()
        if size >= file_bytes:
            yield part
            part, size = {}, 0
    if part:
        yield part
