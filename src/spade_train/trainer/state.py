"""What a checkpoint holds of the trainer: the policy and the state of its optimizer.

    policy/                 a folder that `transformers` loads (or, with LoRA, adapters of `peft`)
    optimizer.safetensors   one tensor per weight and moment
    trainer.json            the update, and which of the two the policy is

The learning rate follows from the update, and dropout is seeded anew in each: no other state
evolves. Sharded tensors are put together by all processes and written by the main one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, safe_open, save_file
from torch.distributed.tensor import DTensor, distribute_tensor

from spade_train.errors import StateError
from spade_train.nano.disk import disk_errors
from spade_train.nano.quiet import no_bars
from spade_train.runs.checkpoint import Checkpoint, Stage

POLICY = "policy"
_OPTIMIZER = "optimizer.safetensors"
_MARKER = "trainer.json"


def weights_of(model: Any) -> dict[str, Any]:
    """Return what is trained: adapters by name, or all weights, whole and on the CPU.

    All processes must call it.

    Args:
        model: the policy, not wrapped for distributed training.
    """
    trained = {name for name, weight in model.named_parameters() if weight.requires_grad}
    found = model.state_dict() if not _has_adapters(model) else dict(model.named_parameters())
    names = trained if _has_adapters(model) else found.keys()
    return {name: _whole(found[name]) for name in sorted(names)}


def save_trainer(
    stage: Stage | None, update: int, *, model: Any, optimizer: Any, tokenizer: Any
) -> None:
    """Write the parts of the trainer; all processes must call it.

    Args:
        stage: where the main process writes; None in the others.
        update: updates done.
        model: the policy, not wrapped for distributed training.
        optimizer: of torch, with the policy's weights; None if its state cannot be had, and then
            nobody can go on from the checkpoint.
        tokenizer: of the policy.

    Raises:
        OSError: the disk is full or cannot be written.
    """
    weights = weights_of(model)
    moments = dict(_moments(model, optimizer)) if optimizer is not None else {}
    if stage is None:
        return
    save_policy(model, tokenizer, stage.path(POLICY), weights)
    file = stage.path(_OPTIMIZER)
    with disk_errors(file.parent):
        # A checkpoint holds at least one tensor; before the first step there are no moments.
        save_file(moments or {"none": torch.zeros(1)}, file)
    marker = {
        "update": update,
        "adapters": _has_adapters(model),
        "optimizer": optimizer is not None,
    }
    stage.put(_MARKER, json.dumps(marker).encode())


def save_policy(model: Any, tokenizer: Any, folder: Path, weights: Mapping[str, Any]) -> None:
    """Write a folder that `transformers` or, with LoRA, `peft` loads.

    Args:
        model: the policy.
        tokenizer: of the policy.
        folder: is made.
        weights: from `weights_of`.

    Raises:
        OSError: the disk is full or cannot be written.
    """
    folder.mkdir(parents=True)
    if _has_adapters(model):
        from peft import get_peft_model_state_dict

        named = get_peft_model_state_dict(
            model, state_dict=dict(weights), save_embedding_layers=False
        )
        whole = {name: weight.contiguous() for name, weight in named.items()}
        with disk_errors(folder):
            save_file(whole, folder / "adapter_model.safetensors")
        model.peft_config["default"].save_pretrained(str(folder))
    else:
        with no_bars(), disk_errors(folder):
            model.save_pretrained(folder, state_dict=dict(weights))
    tokenizer.save_pretrained(folder)


def load_weights(model: Any, folder: Path) -> None:
    """Take up weights in place.

    Args:
        model: the policy, perhaps sharded, not otherwise wrapped.
        folder: the part `policy` of a checkpoint.

    Raises:
        StateError: the folder does not hold the weights of such a model.
    """
    mine = dict(model.named_parameters())
    if _has_adapters(model):
        from peft import get_peft_model_state_dict

        wanted = {name: each for name, each in mine.items() if each.requires_grad}
        short = get_peft_model_state_dict(model, state_dict=wanted, save_embedding_layers=False)
        by_id = {id(each): name for name, each in wanted.items()}
        mine = {name: wanted[by_id[id(each)]] for name, each in short.items()}
    found = set()
    for name, saved in _tensors(folder):
        if name not in mine:
            continue
        _copy(mine[name], saved, name)
        found.add(name)
    missing = sorted(mine.keys() - found)
    if missing:
        raise StateError(f"{folder} has no {missing[0]}; it is of another model")


def load_trainer(checkpoint: Checkpoint, *, model: Any, optimizer: Any) -> None:
    """Take up what `save_trainer` wrote, in place, in every process.

    Raises:
        StateError: the checkpoint is of another model, was saved with (or without) adapters, or
            has no state of the optimizer.
    """
    marker = json.loads(checkpoint.bytes(_MARKER))
    if not marker["optimizer"] or optimizer is None:
        raise StateError(
            f"nobody can go on from {checkpoint.path} under DeepSpeed, or if it was saved there: "
            "it keeps its optimizer to itself; train with FSDP2 in its place"
        )
    if marker["adapters"] != _has_adapters(model):
        raise StateError(f"{checkpoint.path} was saved with another model.lora.rank")
    load_weights(model, checkpoint.part(POLICY))
    saved = load_file(checkpoint.part(_OPTIMIZER))
    saved.pop("none", None)
    names = _names(model)
    for group in optimizer.param_groups:
        for weight in group["params"]:
            state = {
                key.rpartition("|")[2]: moment
                for key, moment in saved.items()
                if key.rpartition("|")[0] == names[id(weight)]
            }
            if state:
                optimizer.state[weight] = {
                    key: _like(moment, weight, key) for key, moment in state.items()
                }


def _has_adapters(model: Any) -> bool:
    return hasattr(model, "peft_config")


def _names(model: Any) -> dict[int, str]:
    return {id(weight): name for name, weight in model.named_parameters()}


def _moments(model: Any, optimizer: Any) -> Iterator[tuple[str, Any]]:
    names = _names(model)
    for group in optimizer.param_groups:
        for weight in group["params"]:
            for key, value in sorted(optimizer.state.get(weight, {}).items()):
                yield f"{names[id(weight)]}|{key}", _whole(torch.as_tensor(value))


def _whole(tensor: Any) -> Any:
    tensor = tensor.detach()
    if isinstance(tensor, DTensor):
        tensor = tensor.full_tensor()
    return tensor.cpu().contiguous()


def _like(saved: Any, weight: Any, key: str) -> Any:
    if key == "step" or saved.shape != weight.shape:
        return saved.to(weight.device) if weight.is_cuda else saved
    if isinstance(weight, DTensor):
        return distribute_tensor(saved.to(weight.device), weight.device_mesh, weight.placements)
    return saved.to(weight.device)


def _copy(weight: Any, saved: Any, name: str) -> None:
    if weight.shape != saved.shape:
        raise StateError(f"{name} has shape {tuple(saved.shape)}, not {tuple(weight.shape)}")
    saved = saved.to(weight.device)
    if isinstance(weight, DTensor):
        saved = distribute_tensor(saved, weight.device_mesh, weight.placements)
    with torch.no_grad():
        weight.copy_(saved)


def _tensors(folder: Path) -> Iterator[tuple[str, Any]]:
    for path in sorted(folder.glob("*.safetensors")):
        with safe_open(path, framework="pt") as file:
            for name in file.keys():  # noqa: SIM118  not a mapping
                yield name, file.get_tensor(name)
