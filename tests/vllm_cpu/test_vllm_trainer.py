"""The trainer with vLLM as its sampler: in step over ten updates, stopped if the sync fails."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("vllm", reason="`make test-vllm` runs these in their own environment")

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from spade_train.batch import Batch, Row
from spade_train.engines.base import SampleRequest
from spade_train.engines.vllm import VllmEngine
from spade_train.errors import HealthError
from spade_train.tokens import Dialogue, Segment
from spade_train.trainer.train import Trainer
from spade_train.types import Role
from train.trainer_cases import Script, settings, tiny_tokenizer

pytestmark = pytest.mark.timeout(900)
TEMPERATURE = {Role.AGENT: 1.0, Role.DESIGNER: 0.7}


class Forgetful:
    """Passes on what is sampled, and the weights only before the first update."""

    def __init__(self, engine: VllmEngine) -> None:
        self._engine = engine

    def sync(self, update: int) -> None:
        if update == 0:
            self._engine.sync(update)


def tiny(*, tied: bool) -> LlamaForCausalLM:
    torch.manual_seed(1)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=48,
            hidden_size=64,
            intermediate_size=96,
            num_hidden_layers=2,
            num_attention_heads=2,
            max_position_embeddings=128,
            tie_word_embeddings=tied,
            initializer_range=0.1,
            bos_token_id=None,
            eos_token_id=47,
            pad_token_id=47,
        )
    )


def sampled_batch(engine: VllmEngine, update: int) -> Batch:
    """Rows of both roles, of two turns each, that the engine has just sampled."""
    rng = np.random.default_rng([update, 3])
    rows = []
    for number in range(8):
        role = Role.DESIGNER if number % 3 == 0 else Role.AGENT
        made = Dialogue(())
        for turn in range(2):
            said = tuple(int(i) for i in rng.integers(0, 46, size=4 + number))
            made = made.append(Segment(said))
            request = SampleRequest(
                key=f"{update}-{number}",
                ids=tuple(int(i) for i in made.ids),
                seed=1000 * update + 10 * number + turn,
                max_tokens=6,
                temperature=TEMPERATURE[role],
                top_p=0.95,
                top_k=20,
            )
            (answer,) = engine.sample([request])
            made = made.append(Segment(answer.ids, answer.logprobs))
        rows.append(
            Row(
                dialogue=made,
                advantage=float(rng.normal()),
                role=role,
                temperature=TEMPERATURE[role],
            )
        )
    tokens = sum(row.dialogue.sampled_tokens for row in rows)
    return Batch(rows=tuple(rows), tokens=float(tokens))


def train(model: Any, engine: VllmEngine, sync: Any) -> list[float]:
    config = settings(
        run={"updates": 10},
        model={"path": "tiny"},
        optimizer={"learning_rate": 2e-2},
        health={"max_logp_difference": 0.005},
    )
    source = Script(lambda update: sampled_batch(engine, update), 10)
    Trainer(config, model, tiny_tokenizer(), source, sync, run=None).train()
    return [values["train/logp_difference"] for _, values in source.seen]


@pytest.mark.parametrize("tied", [True, False])
def test_ten_updates_stay_in_step_and_a_sync_that_is_left_out_stops_the_run(tied: bool) -> None:
    model = tiny(tied=tied)
    engine = VllmEngine(model, {47}, window_tokens=128)
    try:
        before = {name: value.clone() for name, value in model.state_dict().items()}
        found = train(model, engine, engine)
        assert len(found) == 10
        assert max(found) < 0.005, found
        moved = [
            name for name, value in model.state_dict().items() if (value != before[name]).any()
        ]
        assert len(moved) == len(before)
        with pytest.raises(HealthError, match="does not have the trainer"):
            train(model, engine, Forgetful(engine))
    finally:
        engine.close()
