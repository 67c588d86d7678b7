"""The gradient that TRL computes for us equals one written down from the formulas."""

import copy
import math

import numpy as np
import pytest
import torch

from spade_train.advantages import role_weights
from spade_train.batch import Batch, Row
from spade_train.errors import DataError, HealthError
from spade_train.trainer.train import Trainer
from spade_train.types import Role
from train.trainer_cases import (
    Hand,
    Script,
    batch_of,
    logps,
    mixed_rows,
    settings,
    tiny_model,
    tiny_tokenizer,
)
from train.trainer_cases import dialogue as random_dialogue

CAP = 2.0


def gradient_by_trl(model, batch, **sections):
    """The gradient of one update, from Adam's first moment, and the metrics of the update."""
    sections["optimizer"] = {"beta1": 0.0, **sections.get("optimizer", {})}
    model = copy.deepcopy(model)
    source = Script(lambda update: batch, 1)
    trainer = Trainer(settings(**sections), model, tiny_tokenizer(), source, Hand(), run=None)
    trainer.train()
    state = trainer._optimizer.state
    return {
        name: state[weight]["exp_avg"].double()
        for name, weight in model.named_parameters()
        if weight in state
    }, source.seen[0][1]


def gradient_by_hand(model, loss_of):
    model = copy.deepcopy(model).double()
    loss_of(model).backward()
    return {name: weight.grad for name, weight in model.named_parameters()}


def token_losses(model, row):
    """[sampled tokens] of -A w ratio, from a forward pass over this row alone."""
    mask = torch.as_tensor(row.dialogue.mask)
    mine = logps(model, row.dialogue.ids, row.temperature)[mask]
    sampler = torch.as_tensor(row.dialogue.logprobs)[mask]
    weight = (mine.detach() - sampler).exp().clamp(max=CAP)
    return -row.advantage * weight * (mine - mine.detach()).exp()


def same(found, wanted):
    """Equal to 1e-6 of the length of the gradient, in float32 against float64."""
    assert found.keys() == wanted.keys()
    error = torch.cat([(found[name] - gradient).flatten() for name, gradient in wanted.items()])
    assert error.norm() < 1e-6 * torch.cat([each.flatten() for each in wanted.values()]).norm()


@pytest.mark.parametrize("micro_batch", [16, 3, 1])
@pytest.mark.parametrize("tied", [True, False])
def test_both_roles_weigh_as_their_shares_say_whatever_their_lengths(micro_batch, tied):
    model = tiny_model(3, tied=tied)
    # Stale samples: weights differ from 1 and some are cut.
    rows = mixed_rows(tiny_model(4, tied=tied), seed=1)
    shares = {Role.AGENT: 0.7, Role.DESIGNER: 0.3}
    counts = [row.dialogue.sampled_tokens for row in rows]
    factors = role_weights(counts, [row.role for row in rows], shares=shares, per="sample")
    weighted = [
        Row(
            dialogue=row.dialogue,
            advantage=row.advantage * factor,
            role=row.role,
            temperature=row.temperature,
            on_policy=False,
        )
        for row, factor in zip(rows, factors, strict=True)
    ]

    def loss_of(plain):
        return sum(
            share
            * torch.stack(
                [token_losses(plain, row).mean() for row in rows if row.role == role]
            ).mean()
            for role, share in shares.items()
        )

    found, metrics = gradient_by_trl(model, batch_of(weighted), loss={"micro_batch": micro_batch})
    same(found, gradient_by_hand(model, loss_of))
    with torch.no_grad():
        wanted = float(loss_of(copy.deepcopy(model).double()))
    assert metrics["train/loss"] == pytest.approx(wanted, abs=1e-6)
    assert 0.0 < metrics["train/clip_share"] < 1.0


@pytest.mark.parametrize("micro_batch", [16, 2])
def test_divergence_and_entropy_are_means_over_all_tokens(micro_batch):
    model = tiny_model(5)
    rows = mixed_rows(model, seed=2, designers=0)
    rows[0] = Row(dialogue=rows[0].dialogue, advantage=0.0, role=Role.AGENT)
    batch = batch_of(rows)

    def loss_of(plain):
        total = 0.0
        for row in rows:
            mask = torch.as_tensor(row.dialogue.mask)
            out = plain(input_ids=torch.as_tensor(row.dialogue.ids)[None]).logits[0, :-1]
            spread = torch.distributions.Categorical(logits=out).entropy()
            # The reference is the model itself: the divergence is 0 and so is its gradient.
            total = total + token_losses(plain, row).sum() - 0.1 * spread[mask[1:]].sum()
        return total / batch.tokens

    found, metrics = gradient_by_trl(
        model, batch, loss={"micro_batch": micro_batch, "entropy": 0.1, "kl": 0.5}
    )
    same(found, gradient_by_hand(model, loss_of))
    assert metrics["train/kl"] == pytest.approx(0.0, abs=1e-9)
    assert metrics["train/trained_tokens"] == batch.tokens


def test_divergence_pulls_back_to_the_first_weights():
    start = tiny_model(6)
    rows = mixed_rows(start, seed=3)
    moved = {}
    for kl in (0.0, 5.0):
        model = copy.deepcopy(start)
        source = Script(lambda update: batch_of(rows), 6)
        config = settings(loss={"kl": kl}, health={"max_logp_difference": 99.0})
        Trainer(config, model, tiny_tokenizer(), source, Hand(), run=None).train()
        moved[kl] = sum(
            float((a - b).detach().pow(2).sum())
            for a, b in zip(model.parameters(), start.parameters(), strict=True)
        )
        last = source.seen[-1][1]
    assert last["train/kl"] > 0.0
    assert moved[5.0] < moved[0.0]


def test_importance_weights_are_cut_as_published():
    # Appendix B: differences of 0, 1 and -1 weigh 1, 2 and 0.3679.
    model = tiny_model(7)
    wanted = {0.0: 1.0, -1.0: 2.0, 1.0: math.exp(-1.0)}
    losses = {}
    for shift in wanted:
        made = random_dialogue(model, [3, 4], seed=9, shift=shift)
        batch = Batch(
            rows=(Row(dialogue=made, advantage=-1.0, role=Role.AGENT, on_policy=False),),
            tokens=4.0,
        )
        losses[shift] = gradient_by_trl(model, batch)[1]["train/loss"]
    assert losses == pytest.approx(wanted, abs=1e-6)


def test_an_update_without_a_gradient_leaves_the_weights_alone():
    model = tiny_model(8)
    before = copy.deepcopy(model.state_dict())
    flat = [Row(dialogue=r.dialogue, advantage=0.0, role=r.role) for r in mixed_rows(model)]
    batches = [batch_of(flat), Batch(rows=(), tokens=1.0)]
    source = Script(lambda update: batches[update], 2)
    assert Trainer(settings(), model, tiny_tokenizer(), source, Hand(), run=None).train() == 2
    assert all(torch.equal(model.state_dict()[name], value) for name, value in before.items())
    assert source.seen[1][1]["train/grad_norm"] == 0.0


def test_the_engine_gets_the_weights_before_each_batch_and_the_source_ends_the_run():
    model = tiny_model(9)
    weights, engine = [], Hand()

    def make(update):
        assert engine.synced[-1] == update
        weights.append(float(model.lm_head.weight.detach().sum()))
        return batch_of(mixed_rows(model, seed=update))

    source = Script(make, 3)
    config = settings(run={"updates": 2})
    assert Trainer(config, model, tiny_tokenizer(), source, engine, run=None).train() == 3
    assert engine.synced == [0, 1, 2, 3]
    assert len(set(weights)) == 3
    assert [update for update, _ in source.seen] == [0, 1, 2]


def test_learning_rate_zero_moves_nothing():
    model = tiny_model(10)
    before = copy.deepcopy(model.state_dict())
    source = Script(lambda update: batch_of(mixed_rows(model, seed=update)), 2)
    config = settings(optimizer={"learning_rate": 0.0, "weight_decay": 0.1})
    Trainer(config, model, tiny_tokenizer(), source, Hand(), run=None).train()
    assert all(torch.equal(model.state_dict()[name], value) for name, value in before.items())
    assert source.seen[0][1]["train/grad_norm"] > 0.0


def test_samples_of_other_weights_stop_the_run_before_the_step():
    model = tiny_model(11)
    before = copy.deepcopy(model.state_dict())
    rows = mixed_rows(model, seed=4, shift=0.08)
    source = Script(lambda update: batch_of(rows), 2)
    trainer = Trainer(settings(), model, tiny_tokenizer(), source, Hand(), run=None)
    with pytest.raises(HealthError, match=r"differ by 0\.0800 .*takes over every weight"):
        trainer.train()
    assert all(torch.equal(model.state_dict()[name], value) for name, value in before.items())


def test_old_samples_of_the_designer_are_not_compared():
    model = tiny_model(12)
    old = mixed_rows(tiny_model(13), seed=5, agents=0)
    stale = [
        Row(
            dialogue=row.dialogue,
            advantage=row.advantage,
            role=row.role,
            temperature=row.temperature,
            on_policy=False,
        )
        for row in old
    ]
    rows = mixed_rows(model, seed=5, designers=0) + stale
    source = Script(lambda update: batch_of(rows), 1)
    Trainer(settings(), model, tiny_tokenizer(), source, Hand(), run=None).train()
    assert source.seen[0][1]["train/logp_difference"] < 1e-5


def test_a_gradient_that_is_not_finite_stops_the_run():
    model = tiny_model(14)
    rows = [
        Row(dialogue=row.dialogue, advantage=1e38, role=row.role, temperature=row.temperature)
        for row in mixed_rows(model, seed=6)
    ]
    source = Script(lambda update: batch_of(rows), 1)
    before = copy.deepcopy(model.state_dict())
    trainer = Trainer(settings(), model, tiny_tokenizer(), source, Hand(), run=None)
    with pytest.raises(HealthError, match="norm of the gradient"):
        trainer.train()
    assert all(torch.equal(model.state_dict()[name], value) for name, value in before.items())


@pytest.mark.parametrize("tokens", [0.0, float("nan")])
def test_a_batch_says_what_its_loss_is_divided_by(tokens):
    model = tiny_model(15)
    batch = Batch(rows=tuple(mixed_rows(model)), tokens=tokens)
    trainer = Trainer(
        settings(), model, tiny_tokenizer(), Script(lambda update: batch, 1), Hand(), run=None
    )
    with pytest.raises(DataError, match="divided"):
        trainer.train()


def test_gradients_are_clipped_to_their_norm():
    model = tiny_model(16)
    batch = batch_of(mixed_rows(model, seed=7))
    free, metrics = gradient_by_trl(model, batch)
    clipped, same_metrics = gradient_by_trl(model, batch, optimizer={"max_grad_norm": 0.5})
    norm = metrics["train/grad_norm"]
    assert norm > 0.5
    assert same_metrics["train/grad_norm"] == pytest.approx(norm, rel=1e-6)
    total = np.sqrt(sum(float(g.pow(2).sum()) for g in clipped.values()))
    assert total == pytest.approx(0.5, rel=1e-4)
    assert all(torch.allclose(clipped[n], g * 0.5 / norm, atol=1e-6) for n, g in free.items())
