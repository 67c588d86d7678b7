"""A resumed training equals one that was never interrupted, to the last digit."""

import json

import pytest
import torch
from safetensors.torch import load_file

from spade_envs.errors import ConfigError
from spade_train.errors import StateError
from spade_train.runs import RunDir
from spade_train.trainer import load_checkpoint, load_policy
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

LORA = {"rank": 4, "dropout": 0.3}


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "model"
    tiny_model(1).save_pretrained(path)
    tiny_tokenizer().save_pretrained(path)
    return path


def config_of(folder, lora, **sections):
    return settings(
        model={"path": str(folder), "lora": lora},
        optimizer={"warmup": 3, "weight_decay": 0.1, "max_grad_norm": 1.0},
        loss={"kl": 0.1},
        health={"max_logp_difference": 99.0},
        **sections,
    )


def play(config, folder, run, updates, *, saves=(), resume=None):
    """Train some updates as a process of its own would; return its metrics and weights."""
    frozen = tiny_model(2)
    model, tokenizer = load_policy(config)
    source = Script(lambda update: batch_of(mixed_rows(frozen, seed=update)), updates, saves=saves)
    trainer = Trainer(config, model, tokenizer, source, Hand(), run=run)
    assert trainer.train(resume) == updates
    weights = {name: each.detach().clone() for name, each in model.named_parameters()}
    return source, weights


@pytest.mark.parametrize("lora", [{}, LORA], ids=["all-weights", "adapters"])
def test_resumed_metrics_and_weights_are_the_same(folder, tmp_path, lora):
    config = config_of(folder, lora)
    whole, wanted = play(config, folder, None, 5)
    with RunDir.create(tmp_path / "run", config) as run:
        first, _ = play(config, folder, run, 3, saves=(2, 3))
    # What the first process did after update 2 is lost, as if it had been killed.
    checkpoint = run.checkpoints.load(2)
    rest, found = play(config, folder, None, 5, resume=checkpoint)
    assert rest.loaded == 2
    assert first.seen == whole.seen[:3]
    assert rest.seen == whole.seen[2:]
    assert all(torch.equal(found[name], weight) for name, weight in wanted.items())


def test_a_checkpoint_is_a_folder_that_transformers_loads(folder, tmp_path):
    config = config_of(folder, {})
    with RunDir.create(tmp_path / "run", config) as run:
        _, wanted = play(config, folder, run, 2, saves=(2,))
    checkpoint = run.checkpoints.latest()
    assert {name.partition("/")[0] for name in checkpoint.files} == {
        "loop.json",
        "optimizer.safetensors",
        "policy",
        "trainer.json",
    }
    moved = settings(model={"path": str(checkpoint.part("policy"))})
    for model, _ in (load_policy(moved), load_checkpoint(config, checkpoint)):
        assert all(torch.equal(each, wanted[name]) for name, each in model.named_parameters())
    moments = load_file(checkpoint.part("optimizer.safetensors"))
    assert float(moments["model.norm.weight|step"]) == 2.0
    # Nothing is left beside what the run itself keeps.
    assert {path.name for path in run.path.iterdir()} - {".staging"} == {
        "checkpoints",
        "config.toml",
        "events.jsonl",
        "metrics.jsonl",
        "run.json",
        "run.lock",
    }


def test_adapters_are_saved_alone_and_come_back(folder, tmp_path):
    config = config_of(folder, LORA)
    with RunDir.create(tmp_path / "run", config) as run:
        _, wanted = play(config, folder, run, 2, saves=(2,))
    checkpoint = run.checkpoints.latest()
    saved = load_file(checkpoint.part("policy") / "adapter_model.safetensors")
    assert saved
    assert all("lora_" in name for name in saved)
    model, _ = load_checkpoint(config, checkpoint)
    found = dict(model.named_parameters())
    moved = [name for name in wanted if "lora_B" in name]
    assert moved
    assert all(torch.equal(found[name], wanted[name]) for name in wanted)
    assert all(found[name].abs().max() > 0 for name in moved)


def test_dropout_of_adapters_differs_between_updates(folder):
    frozen = tiny_model(2)
    rows = mixed_rows(frozen, seed=0)
    losses = []
    for lora in (LORA, {"rank": 4}):
        config = settings(
            model={"path": str(folder), "lora": lora},
            optimizer={"learning_rate": 0.0},
            health={"max_logp_difference": 99.0},
        )
        model, tokenizer = load_policy(config)
        with torch.no_grad():
            for name, weight in model.named_parameters():
                if "lora_B" in name:
                    weight.fill_(0.3)
        source = Script(lambda update: batch_of(rows), 2)
        Trainer(config, model, tokenizer, source, Hand(), run=None).train()
        losses.append([values["train/loss"] for _, values in source.seen])
    assert losses[0][0] != losses[0][1]
    assert losses[1][0] == losses[1][1]


def test_a_checkpoint_of_another_model_is_refused(folder, tmp_path):
    config = config_of(folder, {})
    with RunDir.create(tmp_path / "run", config) as run:
        play(config, folder, run, 1, saves=(1,))
    checkpoint = run.checkpoints.latest()
    with pytest.raises(StateError, match=r"model\.lora\.rank"):
        play(config_of(folder, LORA), folder, None, 2, resume=checkpoint)
    small = json.loads((folder / "config.json").read_text()) | {"num_hidden_layers": 3}
    (folder / "config.json").write_text(json.dumps(small))
    with pytest.raises(StateError, match=r"has no model\.layers\.2"):
        play(config, folder, None, 2, resume=checkpoint)


def test_a_path_without_a_model_is_a_setting_that_cannot_be_used(tmp_path):
    with pytest.raises(ConfigError, match=r"model\.path"):
        load_policy(settings(model={"path": str(tmp_path)}))


@pytest.mark.parametrize("path", ["/models/gone", "./gone", "~/gone-from-here", "models/a/b"])
def test_no_network_is_asked_for_a_path_that_is_not_there(path, monkeypatch):
    def ask(*_, **__):
        raise AssertionError("the network is asked")

    monkeypatch.setattr("transformers.AutoTokenizer.from_pretrained", ask)
    with pytest.raises(ConfigError, match="no such folder"):
        load_policy(settings(model={"path": path}))


def test_adapters_start_the_same_for_the_same_seed(folder):
    config = settings(model={"path": str(folder), "lora": {"rank": 2, "targets": "q_proj, v_proj"}})
    torch.manual_seed(5)
    one, _ = load_policy(config)
    torch.manual_seed(6)
    two, _ = load_policy(config)
    first, second = dict(one.named_parameters()), dict(two.named_parameters())
    trained = [name for name, each in first.items() if each.requires_grad]
    assert len(trained) == 2 * 2 * 2
    assert all(torch.equal(first[name], second[name]) for name in trained)
