"""Rows that begin alike: their prompt is computed once, and nothing else changes."""

import pytest
import torch
from transformers import MistralConfig, MistralForCausalLM

from spade_train.engines.attention import attends_to_all
from spade_train.trainer import grpo
from spade_train.trainer.shared import shared_hidden, split_rows
from train.trainer_cases import VOCAB, tiny_model


def batch_of(rows):
    """`(ids, attention, scored)` of rows given as (prompt, rest) lists."""
    width = max(len(prompt) + len(rest) for prompt, rest in rows)
    ids = torch.zeros(len(rows), width, dtype=torch.long)
    attention, scored = torch.zeros_like(ids), torch.zeros(len(rows), width, dtype=torch.bool)
    for row, (prompt, rest) in enumerate(rows):
        whole = torch.tensor([*prompt, *rest])
        ids[row, : len(whole)] = whole
        attention[row, : len(whole)] = 1
        scored[row, len(prompt) : len(whole)] = True
    return ids, attention, scored


PROMPTS = [[1, 2, 3, 4, 5, 6, 7], [8, 9, 10, 11]]
ROWS = [
    (PROMPTS[0], [20, 21, 22]),
    (PROMPTS[1], [23]),
    (PROMPTS[0], [24]),
    (PROMPTS[1], [25, 26, 27, 28]),
    (PROMPTS[0], [20, 30]),
]


def test_each_prompt_is_kept_once_and_rows_know_theirs():
    split = split_rows(*batch_of(ROWS))
    assert split.prompts.tolist() == [PROMPTS[0], [*PROMPTS[1], 0, 0, 0]]
    assert split.prompt_lengths.tolist() == [7, 4]
    assert split.owner.tolist() == [0, 1, 0, 1, 0]
    assert split.rests.tolist()[1:4] == [[23, 0, 0, 0], [24, 0, 0, 0], [25, 26, 27, 28]]
    assert split.rest_lengths.tolist() == [3, 1, 1, 4, 2]


@pytest.mark.parametrize(
    "rows",
    [
        [([1, 2, 3], [20]), ([4, 5, 6], [21])],
        [([1], [20] * 9), ([1], [21] * 9)],
        [([], [20, 21, 22]), ([], [20, 21, 22])],
    ],
    ids=["no-prompt-twice", "prompt-too-short", "no-prompt"],
)
def test_nothing_is_split_where_nothing_is_saved(rows):
    assert split_rows(*batch_of(rows)) is None


def test_a_row_that_trains_nothing_is_cut_before_its_last_token():
    ids, attention, scored = batch_of([(PROMPTS[0], [20]), (PROMPTS[0], [21]), (PROMPTS[0], [22])])
    scored[2] = False
    split = split_rows(ids, attention, scored)
    assert split.owner.tolist() == [0, 0, 0]
    assert split.rest_lengths.tolist() == [1, 1, 1]


def test_states_and_gradients_equal_those_of_whole_rows():
    model = tiny_model(3).double()
    ids, attention, scored = batch_of(ROWS)
    wanted_at = scored.roll(-1, dims=1)
    wanted_at[:, -1] = False
    weights = torch.randn(*ids.shape, 32, dtype=torch.double, generator=torch.manual_seed(0))

    def run(states):
        model.zero_grad()
        hidden = states()[wanted_at]
        (hidden * weights[wanted_at]).sum().backward()
        gradients = {
            name: p.grad.clone() for name, p in model.named_parameters() if p.requires_grad
        }
        return hidden.detach(), gradients

    whole, gradients = run(
        lambda: model.model(input_ids=ids, attention_mask=attention).last_hidden_state
    )
    split = split_rows(ids, attention, scored)
    shared, found = run(lambda: shared_hidden(model.model, split, ids.size(1), {}))
    torch.testing.assert_close(shared, whole, rtol=1e-9, atol=1e-10)
    for name, gradient in gradients.items():  # norms of the model are computed in float32
        assert (found[name] - gradient).norm() < 1e-6 * gradient.norm(), name


def test_windows_and_recomputation_are_not_shared():
    model = tiny_model()
    assert attends_to_all(model)
    assert grpo._may_share(model)
    model.gradient_checkpointing_enable()
    assert not grpo._may_share(model.train())
    small = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1}
    config = MistralConfig(
        vocab_size=VOCAB, num_attention_heads=2, num_key_value_heads=2, sliding_window=4, **small
    )
    assert not attends_to_all(MistralForCausalLM(config))
