"""Weights that are spread over two processes (FSDP2 on gloo) come out whole in both."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from peft import LoraConfig, get_peft_model
from torch import distributed, multiprocessing
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from transformers import LlamaConfig, LlamaForCausalLM

from spade_train.engines.hf import TransformersEngine
from spade_train.engines.weights import full_weights
from spade_train.errors import EngineError


def policy() -> torch.nn.Module:
    torch.manual_seed(3)
    shape = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    model = LlamaForCausalLM(
        LlamaConfig(vocab_size=33, intermediate_size=24, tie_word_embeddings=True, **shape)
    )
    adapted = get_peft_model(model, LoraConfig(r=3, target_modules=["q_proj", "down_proj"]))
    for name, parameter in adapted.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter)
    return adapted


def gather(rank: int, folder: str) -> None:
    distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2
    )
    model = policy()
    mesh = init_device_mesh("cpu", (2,))
    for layer in model.get_base_model().model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    shards = sum(parameter.to_local().numel() for parameter in model.parameters())
    found = dict(full_weights(model))
    with pytest.raises(EngineError, match="spread over several processes"):
        TransformersEngine(model, stops={1}).sync(0)
    torch.save({"shards": shards, "weights": found}, f"{folder}/{rank}.pt")
    distributed.destroy_process_group()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_every_process_sees_the_whole_merged_weights(tmp_path: Path) -> None:
    multiprocessing.spawn(gather, (str(tmp_path),), nprocs=2)
    expected = dict(full_weights(policy()))
    seen = [torch.load(tmp_path / f"{rank}.pt", weights_only=True) for rank in (0, 1)]
    total = sum(parameter.numel() for parameter in policy().parameters())
    assert seen[0]["shards"] + seen[1]["shards"] == total
    for each in seen:
        assert each["weights"].keys() == expected.keys()
        for name, value in expected.items():
            assert torch.allclose(each["weights"][name], value, atol=1e-6), name
