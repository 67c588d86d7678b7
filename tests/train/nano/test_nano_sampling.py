"""Sampling: the law of one draw, and rows that do not depend on each other."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from transformers import LlamaConfig, LlamaForCausalLM  # noqa: E402

from spade_train.nano.sampling import Row, choose, sample  # noqa: E402

END = 1


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=40,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=512,
    )
    return LlamaForCausalLM(config).double().eval()


def rows(count):
    return [
        Row(ids=tuple(range(2, 4 + i % 7)), seed=i, temperature=1.0, max_tokens=30)
        for i in range(count)
    ]


def test_a_row_is_the_same_alone_and_in_any_batch(model):
    together = sample(model, rows(20), end=END)
    assert [sample(model, [row], end=END)[0] for row in rows(20)] == together
    assert sample(model, rows(20)[3:9], end=END) == together[3:9]
    assert len({one.ids for one in together}) == 20


def test_it_stops_at_the_end_mark_or_the_limit(model):
    for one in sample(model, rows(16), end=END):
        assert END not in one.ids
        assert one.ended or len(one.ids) == 30
    assert sample(model, [Row(ids=(2,), seed=0, max_tokens=0)], end=END)[0].ids == ()


def test_rows_agree_with_the_plain_forward_pass(model):
    row = Row(ids=(2, 3, 4, 5), seed=0, temperature=0.0, max_tokens=12)
    (found,) = sample(model, [row], end=END)
    ids = list(row.ids)
    for token in found.ids:
        with torch.inference_mode():
            assert int(model(input_ids=torch.tensor([ids])).logits[0, -1].argmax()) == token
        ids.append(token)


def test_choose_draws_by_probability():
    noise = np.random.default_rng(0)
    logits = np.log(np.array([0.6, 0.3, 0.08, 0.02]))
    drawn = [choose(logits, noise, 1.0, 0.1) for _ in range(4000)]
    shares = np.bincount(drawn, minlength=4) / 4000
    assert shares[:3] == pytest.approx(np.array([0.6, 0.3, 0.08]) / 0.98, abs=0.03)
    assert shares[3] == 0.0


def test_temperature_zero_takes_the_best():
    noise = np.random.default_rng(0)
    assert choose(np.array([0.1, 2.0, 1.9]), noise, 0.0, 0.0) == 1


def test_lower_temperature_is_surer():
    noise = np.random.default_rng(0)
    logits = np.array([0.0, 1.0])
    cold, hot = (
        np.mean([choose(logits, noise, heat, 0.0) for _ in range(3000)]) for heat in (0.5, 2.0)
    )
    assert cold == pytest.approx(0.88, abs=0.03)
    assert hot == pytest.approx(0.62, abs=0.03)
