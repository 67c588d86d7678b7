"""vLLM in the trainer's process: what it samples is what the trainer would have said."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

pytest.importorskip("vllm", reason="`make test-vllm` runs these in their own environment")

import torch
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

from spade_train.engines.base import Sampled, SampleRequest
from spade_train.engines.vllm import VllmEngine
from spade_train.errors import EngineError

pytestmark = pytest.mark.timeout(900)
MOST = 0.005
"""What the sampler's and the trainer's log-probabilities may differ by, on average."""


def tiny(*, tied: bool) -> LlamaForCausalLM:
    torch.manual_seed(0)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=512,
            hidden_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=256,
            max_position_embeddings=256,
            initializer_range=0.1,
            tie_word_embeddings=tied,
        )
    )


def requests(update: int) -> list[SampleRequest]:
    """Greedy, plain, cooled and cut turns in one batch, with prompts that share a beginning."""
    ways = [{}, {"temperature": 0.6}, {"temperature": 0.6, "top_p": 0.9, "top_k": 20}]
    ways.append({"temperature": 0.0})
    return [
        SampleRequest(
            key=f"{update}-{i}",
            ids=tuple(range(5, 40)) + tuple(range(50 + update, 55 + update + i)),
            seed=1000 * update + i,
            max_tokens=16,
            **ways[i % len(ways)],
        )
        for i in range(12)
    ]


def trainer_says(model: torch.nn.Module, request: SampleRequest, turn: Sampled) -> torch.Tensor:
    ids = torch.tensor([[*request.ids, *turn.ids]])
    logits = model(ids).logits[0, len(request.ids) - 1 : -1] / (request.temperature or 1.0)
    return logits.log_softmax(-1).gather(-1, torch.tensor(turn.ids)[:, None])[:, 0]


def difference(
    model: torch.nn.Module, asked: Sequence[SampleRequest], turns: Sequence[Sampled]
) -> float:
    with torch.no_grad():
        gaps = [
            (trainer_says(model, request, turn) - torch.tensor(turn.logprobs)).abs()
            for request, turn in zip(asked, turns, strict=True)
        ]
    return float(torch.cat(gaps).mean())


def train(model: torch.nn.Module, asked: Sequence[SampleRequest], turns: Sequence[Sampled]) -> None:
    """One large step, so that yesterday's weights would be seen."""
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.3)
    loss = torch.stack(
        [trainer_says(model, *pair).mean() for pair in zip(asked, turns, strict=True)]
    ).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


@pytest.mark.parametrize("kind", ["tied", "untied", "adapters"])
def test_sampler_and_trainer_agree_over_ten_updates_and_part_without_sync(kind: str) -> None:
    model: torch.nn.Module = tiny(tied=kind != "untied")
    if kind == "adapters":
        model = get_peft_model(model, LoraConfig(r=4, lora_alpha=32, target_modules="all-linear"))
    engine = VllmEngine(model, {1}, window_tokens=128)
    try:
        found = []
        for update in range(10):
            engine.sync(update)
            asked = requests(update)
            turns = engine.sample(asked)
            found.append(difference(model, asked, turns))
            train(model, asked, turns)
        assert max(found) < MOST, found
        assert all(1 <= len(turn.ids) <= 16 for turn in turns)
        stale = difference(model, asked, engine.sample(asked))
        assert stale > MOST, stale  # the last step was not handed over
    finally:
        engine.close()


def test_a_turn_depends_on_its_tokens_and_seed_alone() -> None:
    model = tiny(tied=True)
    engine = VllmEngine(model, range(300, 330), window_tokens=128)
    try:
        with pytest.raises(EngineError, match="sync it first"):
            engine.sample(requests(0))
        engine.sync(0)
        asked = requests(0)
        turns = engine.sample(asked)
        assert engine.sample(asked[5:7]) == turns[5:7]
        ended = [turn for turn in turns if len(turn.ids) < 16]
        assert ended
        for turn in turns:
            assert all(i not in range(300, 330) for i in turn.ids[:-1])
        for turn in ended:
            assert turn.ids[-1] in range(300, 330)
        full = SampleRequest(key="full", ids=tuple(range(128)), seed=0, max_tokens=1)
        with pytest.raises(EngineError, match="leave no room in a window of 128"):
            engine.sample([full])
        close = SampleRequest(key="close", ids=tuple(range(126)), seed=0, max_tokens=9)
        assert len(engine.sample([close])[0].ids) <= 2
    finally:
        engine.close()
        engine.close()
    with pytest.raises(EngineError, match="closed"):
        engine.sync(1)
