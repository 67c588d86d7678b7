"""Half precision, recomputed activations and adapters change memory, not what is learned."""

import copy

import pytest
import torch

from spade_train.trainer import load_policy
from spade_train.trainer.train import Trainer
from train.trainer_cases import (
    Hand,
    Script,
    batch_of,
    mixed_rows,
    settings,
    tiny_model,
    tiny_tokenizer,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("model")
    tiny_model(1).save_pretrained(path)
    tiny_tokenizer().save_pretrained(path)
    return path


def trained(folder, updates=2, *, model=(), **sections):
    policy, tokenizer = load_policy(
        config := settings(model={"path": str(folder), **dict(model)}, **sections)
    )
    start = copy.deepcopy(policy)
    frozen = tiny_model(1)
    source = Script(lambda update: batch_of(mixed_rows(frozen, seed=update)), updates)
    Trainer(config, policy, tokenizer, source, Hand(), run=None).train()
    return policy, start, [values for _, values in source.seen]


LOOSE = {"max_logp_difference": 99.0}


def test_bfloat16_computes_in_half_precision_and_keeps_whole_weights(folder):
    _, _, (plain, _) = trained(folder, health=LOOSE)
    policy, _, (half, _) = trained(folder, model={"dtype": "bfloat16"}, health=LOOSE)
    assert {each.dtype for each in policy.parameters()} == {torch.float32}
    # The sampler of the script is of single precision.
    assert plain["train/logp_difference"] < 1e-5
    assert 1e-4 < half["train/logp_difference"] < 0.05
    assert half["train/loss"] == pytest.approx(plain["train/loss"], rel=0.05)
    # In-process engines sample through the same model, and so in the same precision.
    assert policy(input_ids=torch.tensor([[1, 2]])).logits.dtype == torch.float32


@pytest.mark.slow
def test_adapters_lie_over_weights_of_half_precision(folder):
    settings_ = {"dtype": "bfloat16", "lora": {"rank": 2}}
    policy, _, seen = trained(folder, model=settings_, health=LOOSE)
    kinds = {(each.requires_grad, each.dtype) for each in policy.parameters()}
    assert kinds == {(True, torch.float32), (False, torch.bfloat16)}
    assert seen[1]["train/grad_norm"] > 0.0


@pytest.mark.slow
@pytest.mark.parametrize("lora", [{}, {"rank": 2}], ids=["all-weights", "adapters"])
def test_recomputed_activations_give_the_same_weights(folder, lora):
    plain, _, wanted = trained(folder, model={"lora": lora}, health=LOOSE)
    spared, _, found = trained(
        folder, model={"lora": lora, "gradient_checkpointing": True}, health=LOOSE
    )
    assert found[1]["train/loss"] == pytest.approx(wanted[1]["train/loss"], abs=1e-6)
    for one, two in zip(plain.parameters(), spared.parameters(), strict=True):
        assert torch.allclose(one, two, atol=1e-6)


def test_the_reference_of_adapters_is_the_model_below_them(folder):
    policy, start, seen = trained(
        folder, 3, model={"lora": {"rank": 2}}, loss={"kl": 0.1}, health=LOOSE
    )
    assert seen[0]["train/kl"] == pytest.approx(0.0, abs=1e-9)
    assert seen[2]["train/kl"] > 0.0
    for (name, old), (_, new) in zip(
        start.named_parameters(), policy.named_parameters(), strict=True
    ):
        assert torch.equal(old, new) == ("lora_" not in name), name
