"""The trainer's weights as an engine in another process or library wants them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from spade_train.errors import EngineError

if TYPE_CHECKING:
    import torch

_WRAPPERS = ("_checkpoint_wrapped_module.", "_orig_mod.")


def full_weights(model: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the weights of a causal language model under the names of its checkpoint.

    Adapters are merged into copies; the model itself is not touched. Tied weights come once. If the
    weights are spread over processes (FSDP2, DeepSpeed ZeRO-3), gathering each is collective: all
    processes must go through the iterator to its end.

    Args:
        model: a model of `transformers`, with LoRA adapters of `peft` or without.

    Yields:
        `(name, tensor)`, detached, whole, in the dtype of the model.

    Raises:
        EngineError: an adapter of a kind that cannot be merged.
    """
    adapted = {name: part for name, part in model.named_modules() if hasattr(part, "lora_A")}
    for name, parameter in model.named_parameters():
        parts = name.split(".")
        if "original_module" in parts or any(part.startswith("lora_") for part in parts):
            continue
        tensor = _whole(parameter)
        layer = adapted.get(name.removesuffix(".base_layer.weight"))
        if layer is not None:
            tensor = (tensor.float() + _delta(name, layer)).to(tensor.dtype)
        yield _plain(name), tensor


def is_sharded(model: Any) -> bool:
    """Return whether a process holds a part of the weights only."""
    return any(
        parameter.device_mesh.size() > 1
        if hasattr(parameter, "device_mesh")
        else hasattr(parameter, "ds_id")
        for parameter in model.parameters()
    )


def _plain(name: str) -> str:
    for wrapper in _WRAPPERS:
        name = name.replace(wrapper, "")
    name = name.removeprefix("base_model.model.").replace(".base_layer.", ".")
    return name.replace(".modules_to_save.default.", ".")


def _whole(parameter: Any) -> torch.Tensor:
    """Return the tensor that a parameter stands for, gathered if it is a shard."""
    if hasattr(parameter, "full_tensor"):  # FSDP2
        whole: torch.Tensor = parameter.full_tensor().detach()
        return whole
    if hasattr(parameter, "ds_id"):  # DeepSpeed ZeRO-3
        import deepspeed

        with deepspeed.zero.GatheredParameters([parameter]):
            gathered: torch.Tensor = parameter.detach().clone()
        return gathered
    plain: torch.Tensor = parameter.detach()
    return plain


def _delta(name: str, layer: Any) -> torch.Tensor:
    """Return what the active adapters of a linear layer add to its weight, float32."""
    total: Any = 0.0
    for adapter in layer.active_adapters:
        if adapter not in layer.lora_A:
            continue
        if adapter in getattr(layer, "lora_magnitude_vector", ()):
            raise EngineError(f"{name}: DoRA adapters cannot be merged for an engine; use LoRA")
        down, up = _whole(layer.lora_A[adapter].weight), _whole(layer.lora_B[adapter].weight)
        if down.ndim != 2 or up.ndim != 2:
            raise EngineError(f"{name}: only adapters of linear layers can be merged for an engine")
        total = total + (up.float() @ down.float()) * layer.scaling[adapter]
    flipped = getattr(layer, "fan_in_fan_out", False) and not isinstance(total, float)
    delta: torch.Tensor = total.T if flipped else total
    return delta
