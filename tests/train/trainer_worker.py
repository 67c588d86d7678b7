"""One of two processes that train together; started by the tests of the trainer.

torchrun --nproc-per-node 2 trainer_worker.py FOLDER [resume]
"""

import json
import os
import sys
from pathlib import Path

from accelerate import DistributedType, PartialState
from accelerate.state import AcceleratorState
from safetensors.torch import save_file

from spade_train.batch import Batch
from spade_train.runs import Checkpoints, RunDir
from spade_train.trainer import load_policy, open_world
from spade_train.trainer.state import weights_of
from spade_train.trainer.train import Trainer
from train.trainer_cases import Hand, Script, batch_of, mixed_rows, settings, tiny_model

# Rows of the first process by update: an uneven share, all, none.
SHARES = (slice(0, 2), slice(None), slice(0, 0))


def config_of(folder, **sections):
    return settings(
        model={"path": str(folder)},
        loss={"micro_batch": 2, "kl": 0.1},
        optimizer={"max_grad_norm": 1.0, "weight_decay": 0.1},
        health={"max_logp_difference": 99.0},
        **sections,
    )


def shared(rank, update, rows):
    cut = SHARES[update % 3].indices(len(rows))[:2]
    mine = rows[slice(*cut)] if rank == 0 else [*rows[: cut[0]], *rows[cut[1] :]]
    return Batch(rows=tuple(mine), tokens=batch_of(rows).tokens)


def shard_on_cpus():
    """Let accelerate shard here: it takes the processes for GPUs when it asks what they are."""
    begin = AcceleratorState.__init__

    def pretend(self, *args, **kwargs):
        known = PartialState._shared_state
        if known["distributed_type"] == DistributedType.MULTI_CPU:
            known["distributed_type"] = DistributedType.MULTI_GPU
        begin(self, *args, **kwargs)

    AcceleratorState.__init__ = pretend


def main(folder, resume):
    if os.environ.get("ACCELERATE_USE_FSDP") == "true":
        shard_on_cpus()
    world = open_world()
    gathered = world.gather({"rank": world.rank, "text": "ü" * (world.rank + 1), "x": 0.1})
    config = config_of(folder / "model")
    frozen = tiny_model(2)
    model, tokenizer = load_policy(config)
    updates, saves = (4, (2, 4)) if not resume else (4, ())
    source = Script(
        lambda update: shared(world.rank, update, mixed_rows(frozen, seed=update)),
        updates,
        saves=saves,
    )
    run, checkpoint = None, None
    if world.rank == 0 and not resume:
        run = RunDir.create(folder / "run", config)
    if resume:
        run = RunDir.resume(folder / "run")[0] if world.rank == 0 else None
        world.gather(None)
        name = json.loads((folder / "run" / "run.json").read_text())["run"]
        checkpoint = Checkpoints(folder / "run" / "checkpoints", run=name).load(2)
    trainer = Trainer(config, model, tokenizer, source, Hand(), run=run, world=world)
    done = trainer.train(checkpoint)
    weights = weights_of(trainer.policy)
    kinds = sorted({type(each).__name__ for each in trainer.policy.parameters()})
    out = {
        "kinds": kinds,
        "gathered": gathered,
        "seen": source.seen,
        "done": done,
        "loaded": source.loaded,
    }
    name = f"{'resumed' if resume else 'whole'}-{world.rank}"
    (folder / f"{name}.json").write_text(json.dumps(out))
    save_file({key: each.clone() for key, each in weights.items()}, folder / f"{name}.safetensors")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:] == ["resume"])
