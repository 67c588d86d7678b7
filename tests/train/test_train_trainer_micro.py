"""Rows become micro-batches of one role each, and no trained token is lost."""

import numpy as np
import pytest

from spade_train.batch import Row
from spade_train.config.learning import Optimizer
from spade_train.errors import DataError
from spade_train.tokens import Dialogue, Segment
from spade_train.trainer.micro import empty_micro_batch, micro_batches
from spade_train.trainer.schedule import rate_factor
from spade_train.types import Role


def row(length, *, advantage=1.0, role=Role.AGENT, temperature=1.0, on_policy=True):
    turn = Segment(tuple(range(10, 10 + length)), tuple(-0.5 for _ in range(length)))
    return Row(
        dialogue=Dialogue((Segment((1, 2)), turn)),
        advantage=advantage,
        role=role,
        temperature=temperature,
        on_policy=on_policy,
    )


def test_roles_and_temperatures_never_share_a_micro_batch():
    rows = [
        row(3),
        row(9, role=Role.DESIGNER, temperature=0.8, on_policy=False, advantage=-2.0),
        row(5),
        row(4, temperature=0.5),
    ]
    found = micro_batches(rows, 8, pad_id=0, keep_flat=False)
    assert [(each.temperature, each.padded.ids.shape) for each in found] == [
        (0.5, (1, 6)),
        (1.0, (2, 7)),
        (0.8, (1, 11)),
    ]
    assert found[2].advantages.tolist() == [-2.0]
    assert found[2].on_policy.tolist() == [False]


def test_longest_rows_come_first_and_each_micro_batch_has_its_own_width():
    found = micro_batches([row(n) for n in (2, 7, 4, 6, 3)], 2, pad_id=0, keep_flat=False)
    assert [each.padded.ids.shape for each in found] == [(2, 9), (2, 6), (1, 4)]
    assert [each.padded.mask.sum() for each in found] == [13, 7, 2]


def test_rows_without_a_gradient_are_left_out_unless_another_term_needs_them():
    rows = [row(3, advantage=0.0), row(4)]
    assert [len(m.advantages) for m in micro_batches(rows, 8, pad_id=0, keep_flat=False)] == [1]
    assert [len(m.advantages) for m in micro_batches(rows, 8, pad_id=0, keep_flat=True)] == [2]
    silent = Row(dialogue=Dialogue((Segment((1, 2)),)), advantage=1.0, role=Role.AGENT)
    assert micro_batches([silent], 8, pad_id=0, keep_flat=True) == ()


def test_greedy_rows_are_compared_with_the_plain_softmax():
    (found,) = micro_batches([row(3, temperature=0.0)], 8, pad_id=0, keep_flat=False)
    assert found.temperature == 1.0


def test_advantages_must_be_finite():
    with pytest.raises(DataError, match="nan"):
        micro_batches([row(3, advantage=float("nan"))], 8, pad_id=0, keep_flat=False)


def test_the_stand_in_trains_nothing():
    found = empty_micro_batch(5)
    assert found.is_empty
    assert found.padded.ids.tolist() == [[5, 5]]
    assert not micro_batches([row(3)], 1, pad_id=0, keep_flat=False)[0].is_empty


def test_the_learning_rate_rises_without_an_update_at_zero_and_then_follows_its_schedule():
    warm = Optimizer(warmup=3)
    assert [rate_factor(u, warm, 10) for u in range(5)] == [0.25, 0.5, 0.75, 1.0, 1.0]
    linear = Optimizer(schedule="linear", warmup=2)
    assert np.allclose([rate_factor(u, linear, 6) for u in range(2, 7)], [1, 0.75, 0.5, 0.25, 0])
    cosine = Optimizer(schedule="cosine")
    assert np.allclose([rate_factor(u, cosine, 4) for u in (0, 2, 4, 9)], [1, 0.5, 0, 0])
    assert rate_factor(10**6, Optimizer(), 1) == 1.0
