"""`Trainer`: trains a model on the batches of a source, and keeps the run's checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spade_envs.errors import ConfigError
from spade_train.batch import Batch, Solo, Source, UpdateStats, World
from spade_train.config import Config
from spade_train.engines import Engine
from spade_train.runs import Checkpoint, RunDir
from spade_train.trainer.state import load_trainer, save_trainer


class Trainer:
    """One optimizer step per batch, in every process of a world."""

    def __init__(
        self,
        config: Config,
        model: Any,
        tokenizer: Any,
        source: Source,
        engine: Engine,
        *,
        run: RunDir | None,
        world: World | None = None,
    ) -> None:
        """Prepare the training of a model; nothing is wrapped or moved yet.

        Args:
            config: of the run.
            model: from `load_policy`; the engine may sample from the same object.
            tokenizer: of the model.
            source: of the batches.
            engine: is told to take up the weights before each batch.
            run: where the main process keeps checkpoints; None in the others, and where nothing
                is to be kept.
            world: the processes that train together; this one alone if None.

        Raises:
            ConfigError: DeepSpeed is to shard the weights themselves.
        """
        from spade_train.trainer.grpo import SourceTrainer

        self._config, self._tokenizer = config, tokenizer
        self._source, self._engine, self._run = source, engine, run
        self._world = world or Solo()
        self._resume: Checkpoint | None = None
        folder = str(run.path) if run else "."
        self._inner: Any = SourceTrainer(config, model, tokenizer, self, output_dir=folder)
        if self._inner.is_deepspeed_enabled:
            stage = self._inner.accelerator.state.deepspeed_plugin.zero_stage
            if stage > 2:
                raise ConfigError(f"DeepSpeed's ZeRO stage {stage} cannot be used; take FSDP2")

    def train(self, resume: Checkpoint | None = None) -> int:
        """Train until the source has no batch; return the updates done, resumed ones included.

        Args:
            resume: what to go on from, the same in every process.

        Raises:
            HealthError: sampler and trainer disagree, or the gradient is not finite.
            StateError: the checkpoint does not belong to this model.
        """
        self._resume = resume
        self._inner.train()
        return int(self._inner.state.global_step)

    @property
    def policy(self) -> Any:
        """The model, not wrapped for distributed training, perhaps sharded."""
        return self._inner.accelerator.unwrap_model(self._inner.model)

    def begin(self) -> int:
        """Restore what is to be restored; return the number of the first update."""
        if self._resume is None:
            return 0
        load_trainer(self._resume, model=self.policy, optimizer=self._optimizer)
        self._inner.skip_to(self._resume.update)
        self._source.load(self._resume)
        return self._resume.update

    def next_batch(self, update: int) -> Batch | None:
        """Hand the weights to the engine, and return what the update trains."""
        self._engine.sync(update)
        return self._source.batch(update)

    def stepped(self, update: int, values: Mapping[str, float]) -> bool:
        """Tell the source of a finished update, and save if it wants; return whether to go on."""
        go_on = self._source.updated(update, UpdateStats(values=dict(values)))
        # The main process decides, should signals have reached only some of them.
        wants = [go_on, self._source.wants_save(update)]
        go_on, save = self._world.gather(wants)[0]
        if save:
            self._save(update + 1)
        return bool(go_on)

    @property
    def _optimizer(self) -> Any:
        if self._inner.is_deepspeed_enabled:
            return None
        optimizer = self._inner.optimizer
        return getattr(optimizer, "optimizer", optimizer)

    def _save(self, update: int) -> None:
        parts: dict[str, Any] = {
            "model": self.policy,
            "optimizer": self._optimizer,
            "tokenizer": self._tokenizer,
        }
        if self._run is None:
            save_trainer(None, update, **parts)
        else:
            with self._run.stage(update) as stage:
                save_trainer(stage, update, **parts)
                self._source.save(stage)
        # Nobody goes on before the checkpoint is there.
        self._world.gather(None)
