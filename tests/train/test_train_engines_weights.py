"""Weights under the names of a checkpoint, adapters merged."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file
from transformers import LlamaConfig, LlamaForCausalLM

from spade_train.engines.handover import write_weights
from spade_train.engines.weights import full_weights
from spade_train.errors import EngineError


def tiny(*, tied: bool = True) -> LlamaForCausalLM:
    torch.manual_seed(0)
    shape = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    return LlamaForCausalLM(
        LlamaConfig(vocab_size=32, intermediate_size=24, tie_word_embeddings=tied, **shape)
    )


def with_adapters(model: LlamaForCausalLM, **options: object) -> torch.nn.Module:
    config = LoraConfig(r=3, lora_alpha=7, target_modules="all-linear", **options)
    wrapped = get_peft_model(model, config)
    for name, parameter in wrapped.named_parameters():
        if "lora_B" in name:  # they start at zero
            torch.nn.init.normal_(parameter, std=0.3)
    return wrapped


@pytest.mark.parametrize("tied", [True, False])
def test_names_are_those_of_the_checkpoint_and_tied_weights_come_once(tied: bool) -> None:
    model = tiny(tied=tied)
    names = [name for name, _ in full_weights(model)]
    assert set(names) == set(model.state_dict()) - ({"lm_head.weight"} if tied else set())
    assert len(names) == len(set(names))


def test_adapters_are_merged_as_peft_merges_them_without_touching_the_model() -> None:
    wrapped = with_adapters(tiny())
    before = {name: value.clone() for name, value in wrapped.state_dict().items()}
    found = dict(full_weights(wrapped))
    assert all(torch.equal(value, before[name]) for name, value in wrapped.state_dict().items())
    merged = wrapped.merge_and_unload().state_dict()
    assert set(found) == set(merged) - {"lm_head.weight"}
    for name, value in found.items():
        assert torch.allclose(value, merged[name], atol=1e-6), name
    assert not torch.allclose(
        found["model.layers.1.mlp.up_proj.weight"],
        tiny().state_dict()["model.layers.1.mlp.up_proj.weight"],
        atol=1e-3,
    )


def test_layers_that_are_trained_whole_beside_adapters_come_in_their_trained_form() -> None:
    wrapped = with_adapters(tiny(tied=False), modules_to_save=["lm_head"])
    with torch.no_grad():
        wrapped.get_base_model().lm_head.modules_to_save["default"].weight.fill_(4.0)
    found = dict(full_weights(wrapped))
    assert torch.equal(found["lm_head.weight"], torch.full((32, 16), 4.0))


def test_adapters_that_cannot_be_merged_are_refused() -> None:
    with pytest.raises(EngineError, match="DoRA"):
        dict(full_weights(with_adapters(tiny(), use_dora=True)))


def test_weights_are_written_in_parts_and_appear_when_complete(tmp_path: Path) -> None:
    model = tiny(tied=False)
    folder = tmp_path / "update-000001"
    write_weights(full_weights(model), folder, file_bytes=4000)
    files = sorted(folder.iterdir())
    assert len(files) > 2
    read = {name: value for file in files for name, value in load_file(file).items()}
    assert all(torch.equal(read[name], value) for name, value in model.state_dict().items())
    assert [path.name for path in tmp_path.iterdir()] == ["update-000001"]
    third = torch.tensor([1 / 3])
    write_weights(iter([("a", third)]), folder, dtype="bfloat16")
    assert [path.name for path in folder.iterdir()] == ["model-00000.safetensors"]
    assert torch.equal(load_file(folder / "model-00000.safetensors")["a"], third.bfloat16())
