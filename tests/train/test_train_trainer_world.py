"""Two processes train what one would."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from spade_train.batch import Solo
from spade_train.trainer import load_policy, open_world
from spade_train.trainer.train import Trainer
from train.trainer_cases import Hand, Script, batch_of, mixed_rows, tiny_model, tiny_tokenizer
from train.trainer_worker import config_of

TESTS = Path(__file__).parent.parent


SHARDED = {
    "ACCELERATE_USE_FSDP": "true",
    "FSDP_VERSION": "2",
    "FSDP_AUTO_WRAP_POLICY": "TRANSFORMER_BASED_WRAP",
    "FSDP_RESHARD_AFTER_FORWARD": "true",
    "FSDP_STATE_DICT_TYPE": "FULL_STATE_DICT",
    "FSDP_CPU_RAM_EFFICIENT_LOADING": "false",
}


def launch(folder, *arguments, environment):
    """Run the worker in two processes of this machine."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    worker = [str(TESTS / "train" / "trainer_worker.py"), str(folder), *arguments]
    path = os.pathsep.join([str(TESTS.parent / "src"), str(TESTS)])
    done = subprocess.run(
        [*command, "--nproc-per-node", "2", *worker],
        env=os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]


def outcome(folder, name, rank):
    weights = load_file(folder / f"{name}-{rank}.safetensors")
    return json.loads((folder / f"{name}-{rank}.json").read_text()), weights


def test_a_process_that_nobody_launched_is_alone():
    world = open_world()
    assert isinstance(world, Solo)
    assert world.gather({"x": (1, 2)}) == [{"x": (1, 2)}]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("environment", [{}, SHARDED], ids=["replicated", "sharded"])
def test_two_processes_with_uneven_shares_train_as_one_with_all_rows(tmp_path, environment):
    tiny_model(1).save_pretrained(tmp_path / "model")
    tiny_tokenizer().save_pretrained(tmp_path / "model")
    launch(tmp_path, environment=environment)
    (first, weights), (second, others) = (outcome(tmp_path, "whole", rank) for rank in (0, 1))
    assert first["kinds"] == ["DTensor" if environment else "Parameter"]
    gathered = [{"rank": 0, "text": "ü", "x": 0.1}, {"rank": 1, "text": "üü", "x": 0.1}]
    assert first["gathered"] == second["gathered"] == gathered
    assert first["seen"] == second["seen"]
    assert all(torch.equal(weights[name], others[name]) for name in weights)

    config = config_of(tmp_path / "model")
    model, tokenizer = load_policy(config)
    frozen = tiny_model(2)
    alone = Script(lambda update: batch_of(mixed_rows(frozen, seed=update)), 4)
    Trainer(config, model, tokenizer, alone, Hand(), run=None).train()
    assert [update for update, _ in alone.seen] == [update for update, _ in first["seen"]]
    for (_, wanted), (_, found) in zip(alone.seen, first["seen"], strict=True):
        assert found == pytest.approx(wanted, rel=1e-4, abs=1e-6)
    # Adam's steps are of one learning rate, 0.01, however small a gradient is: 1 % of one.
    for name, each in model.named_parameters():
        assert (each - weights[name]).abs().max() < 1e-4, name

    launch(tmp_path, "resume", environment=environment)
    rest, resumed = outcome(tmp_path, "resumed", 1)
    assert rest["loaded"] == 2
    assert rest["seen"] == first["seen"][2:]
    assert all(torch.equal(weights[name], resumed[name]) for name in weights)
