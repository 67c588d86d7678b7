"""The one door to TRL: its GRPO trainer, fed by the loop in place of a dataset."""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import math
from collections.abc import Iterator, Mapping
from types import MethodType
from typing import Any, Protocol

import numpy as np
import torch
from datasets import Dataset
from transformers import PrinterCallback, TrainerCallback
from trl import GRPOConfig, GRPOTrainer
from trl.kernels import ChunkedLogProbFunction
from trl.models import prepare_deepspeed, prepare_fsdp
from trl.trainer.utils import FusedCausalLMOutput, add_fused_lm_head, use_adapter

from spade_train.batch import Batch
from spade_train.config import Config
from spade_train.engines.attention import attends_to_all
from spade_train.errors import DataError, HealthError
from spade_train.trainer.head import TemperatureHead
from spade_train.trainer.micro import MicroBatch, empty_micro_batch, micro_batches
from spade_train.trainer.passes import Pass, Totals
from spade_train.trainer.schedule import rate_factor
from spade_train.trainer.shared import shared_hidden, split_rows

# The source alone ends a run; the library only wants a number of steps.
_ENDLESS = 2**40
_OUTPUTS = ("log_probs", "entropy")
# Columns of logits that are in memory at once.
_TILE = 32768
# Settings of models that do more to their logits than to divide them by the temperature.
_RESCALING = (
    "final_logit_softcapping",
    "logit_scale",
    "logits_scaling",
    "output_multiplier",
    "lm_head_multiplier",
)


class Drive(Protocol):
    """Who hands batches to the trainer and hears of its steps."""

    def begin(self) -> int:
        """Restore what is to be restored; return the number of the first update."""
        ...

    def next_batch(self, update: int) -> Batch | None:
        """Return what an update trains; None ends the training."""
        ...

    def stepped(self, update: int, values: Mapping[str, float]) -> bool:
        """Take note of a finished update; return whether to go on."""
        ...


class SourceTrainer(GRPOTrainer):  # type: ignore[misc]
    """TRL's trainer with one optimizer step per batch that a `Drive` gives.

    TRL computes the loss, wraps the model for distributed training, makes the optimizer and takes
    its steps. Ours are the batches, the importance weights, the temperature of each role, the
    schedule, and the comparison of sampler and trainer.
    """

    def __init__(
        self, config: Config, model: Any, tokenizer: Any, drive: Drive, *, output_dir: str
    ) -> None:
        self._settings, self._drive = config, drive
        self._batch: Batch | None = None
        self._update = 0
        self._pass: Pass | None = None
        self._head: TemperatureHead | None = None
        self._values: dict[str, float] = {}
        self._rate = 0.0
        self.lr_scheduler: Any = None
        self.accelerator: Any = None
        super().__init__(
            model=model,
            reward_funcs=[_no_reward],
            args=_arguments(config, output_dir),
            # Never read: `get_train_dataloader` is ours.
            train_dataset=Dataset.from_dict({"prompt": [""]}),
            processing_class=tokenizer,
            callbacks=[_Steps(self)],
        )
        self.remove_callback(PrinterCallback)
        self._head = _with_head(self._bare)
        self._ref_head: TemperatureHead | None = None
        self.beta = config.loss.kl
        if self.beta and not self._has_adapters:
            self._keep_reference()

    @property
    def _bare(self) -> Any:
        """The model without adapters around it."""
        model = self.accelerator.unwrap_model(self.model)
        return model.get_base_model() if hasattr(model, "get_base_model") else model

    @property
    def _has_adapters(self) -> bool:
        return hasattr(self.accelerator.unwrap_model(self.model), "peft_config")

    def _keep_reference(self) -> None:
        model = copy.deepcopy(self._bare)
        model.__dict__.pop("forward", None)
        model.requires_grad_(False)
        self._ref_head = _with_head(model)
        if self.is_deepspeed_enabled:
            self.ref_model = prepare_deepspeed(model, self.accelerator)
        elif self.is_fsdp_enabled:
            self.ref_model = prepare_fsdp(model, self.accelerator)
        else:
            self.ref_model = self.accelerator.prepare_model(model, evaluation_mode=True)
        self.ref_model.eval()

    # What the library's training loop asks for.

    def get_train_dataloader(self) -> _Ticks:
        """Return one empty batch per update, without end."""
        return _Ticks()

    def create_scheduler(self, num_training_steps: int, optimizer: Any = None) -> Any:
        """Return the schedule of the configuration, in place of the library's."""
        settings, updates = self._settings.optimizer, self._settings.run.updates
        if self.lr_scheduler is None:
            self.lr_scheduler = torch.optim.lr_scheduler.LambdaLR(
                optimizer or self.optimizer,
                lambda update: rate_factor(update, settings, updates),
            )
            self._created_lr_scheduler = True
        return self.lr_scheduler

    def floating_point_ops(self, inputs: Any) -> int:
        """Count nothing: the library would count its empty batches."""
        return 0

    def _run_epoch(self, **arguments: Any) -> None:
        if self._batch is None:
            self.control.should_training_stop = True
            return
        super()._run_epoch(**arguments)

    def skip_to(self, update: int) -> None:
        """Set the learning rate to that of an update."""
        scheduler = self.lr_scheduler
        scheduler.last_epoch = update
        rates = [base * scheduler.lr_lambdas[0](update) for base in scheduler.base_lrs]
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = rate
        scheduler._last_lr = rates

    def begin(self) -> None:
        """Take up a checkpoint, if there is one, and the first batch; the model is wrapped now."""
        self._update = self._drive.begin()
        self.state.global_step = self._update
        self._batch = self._drive.next_batch(self._update)

    def stepped(self) -> bool:
        """Hand on what the update gave, and take the next batch; return whether there is one."""
        self._values["train/learning_rate"] = self._rate
        go_on = self._drive.stepped(self._update, dict(self._values))
        self._update += 1
        self._batch = self._drive.next_batch(self._update) if go_on else None
        return self._batch is not None

    # One update.

    def training_step(self, model: Any, inputs: Any, num_items_in_batch: Any = None) -> Any:
        """Accumulate the gradient of the whole batch; return its loss in this process.

        Raises:
            HealthError: sampler and trainer disagree.
        """
        batch, device = self._batch, self.accelerator.device
        if batch is None or not (math.isfinite(batch.tokens) and batch.tokens > 0):
            raise DataError(f"a batch must say what its loss is divided by: {batch}")
        model.train()
        self._rate = self._get_learning_rate()
        self._seed()
        loss = self._settings.loss
        keep_flat = loss.kl > 0.0 or loss.entropy > 0.0
        pad_id = self._tokenizer.pad_token_id
        micros = micro_batches(batch.rows, loss.micro_batch, pad_id=pad_id, keep_flat=keep_flat)
        count = self._most(len(micros))
        totals = Totals(device)
        for index in range(count):
            micro = micros[index] if index < len(micros) else empty_micro_batch(pad_id)
            self._accumulate(model, micro, batch.tokens, totals, last=index == count - 1)
        self._metrics["train"].clear()
        self._values = totals.reduced(self.accelerator, kl=loss.kl > 0.0)
        self._compare()
        return torch.tensor(self._values["train/loss"], device=device)

    def _accumulate(
        self, model: Any, micro: MicroBatch, tokens: float, totals: Totals, *, last: bool
    ) -> None:
        accelerator = self.accelerator
        # Sharded gradients are small; summing unsharded ones until the last would need much memory.
        waits = not last and not self.is_fsdp_enabled
        accelerator.gradient_state._set_sync_gradients(last)
        with accelerator.no_sync(model) if waits else contextlib.nullcontext():
            loss = self._loss(model, micro, tokens, totals)
            arguments = {"scale_wrt_gas": False} if self.is_deepspeed_enabled else {}
            accelerator.backward(loss, **arguments)

    def _loss(self, model: Any, micro: MicroBatch, tokens: float, totals: Totals) -> Any:
        accelerator, settings = self.accelerator, self._settings.loss
        work = Pass(micro, device=accelerator.device, cap=settings.importance_cap)
        work.inputs["num_items_in_batch"] = torch.tensor(tokens, device=accelerator.device)
        if self.beta:
            work.inputs["ref_per_token_logps"] = self._reference_logps(work)
        self._pass = work
        self._aim(self._head, work)
        self.accelerator = _Silent(accelerator)
        try:
            loss = self._compute_loss(model, work.inputs)
        finally:
            self._pass, self.accelerator = None, accelerator
        if settings.entropy:
            # TRL's own bonus is a mean per micro-batch, which would depend on how rows are split.
            bonus = (work.entropies * work.mask).sum() / tokens
            loss = loss - settings.entropy * bonus * accelerator.num_processes
        totals.add(work, loss.detach() / accelerator.num_processes)
        return loss

    def _get_per_token_logps_and_entropies(self, *arguments: Any, **named: Any) -> Any:
        found = super()._get_per_token_logps_and_entropies(*arguments, **named)
        if self._pass is not None:
            self._pass.see(found[0], found[1])
        return found

    @torch.no_grad()
    def _reference_logps(self, work: Pass) -> Any:
        if self.ref_model is not None:
            model, head, adapters = self.ref_model, self._ref_head, contextlib.nullcontext()
        else:
            model, head = self.model, self._head
            adapters = use_adapter(self.accelerator.unwrap_model(self.model), adapter_name=None)
        self._aim(head, work)
        with adapters:
            logps, _, _ = self._get_per_token_logps_and_entropies(
                model, work.ids, work.attention, work.ids.size(1) - 1
            )
        return logps

    @staticmethod
    def _aim(head: TemperatureHead | None, work: Pass) -> None:
        if head is not None:
            head.temperature, head.scored = work.temperature, work.scored

    def _seed(self) -> None:
        """Make dropout a function of seed, update and process, so that nothing must be saved."""
        entropy = [self._settings.run.seed, self._update, self.accelerator.process_index]
        torch.manual_seed(int(np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0] >> 1))

    def _most(self, count: int) -> int:
        """Return the greatest number of micro-batches of any process."""
        if self.accelerator.num_processes == 1:
            return count
        mine = torch.tensor([count], device=self.accelerator.device)
        return int(self.accelerator.gather(mine).max())

    def _compare(self) -> None:
        limit = self._settings.health.max_logp_difference
        found = self._values.get("train/logp_difference", 0.0)
        if not found <= limit:
            raise HealthError(
                f"update {self._update}: log-probabilities of sampler and trainer differ by "
                f"{found:.4f} on average (health.max_logp_difference = {limit}), so the sampler "
                "does not have the trainer's weights or computes otherwise; see that the engine "
                "takes over every weight, tied ones too, and uses the same dtype, or raise the "
                "limit"
            )

    def _clip_grad_norm(self, model: Any) -> Any:
        norm = super()._clip_grad_norm(model)
        if norm is None:
            # DeepSpeed clips by itself and does not say.
            return norm
        whole = norm.full_tensor() if hasattr(norm, "full_tensor") else norm
        self._values["train/grad_norm"] = float(whole)
        if not math.isfinite(float(whole)):
            raise HealthError(
                f"update {self._update}: the norm of the gradient is {float(whole)}; the weights "
                "were left as they are. Go on from the last checkpoint with a lower learning rate"
            )
        return norm


class _Silent:
    """An accelerator that lets no process speak with the others.

    TRL gathers metrics in each micro-batch, and takes it that those of all processes have one size.
    Ours have not, and our metrics are summed once per update.
    """

    def __init__(self, accelerator: Any) -> None:
        self._accelerator = accelerator

    def __getattr__(self, name: str) -> Any:
        return getattr(self._accelerator, name)

    def gather(self, tensor: Any) -> Any:
        """Return what is here."""
        return tensor

    def reduce(self, tensor: Any, reduction: str = "sum") -> Any:
        """Return what is here."""
        return tensor


class _Steps(TrainerCallback):  # type: ignore[misc]
    """Tells the trainer when the library's loop begins and when it has stepped."""

    def __init__(self, trainer: SourceTrainer) -> None:
        self._trainer = trainer

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Begin."""
        self._trainer.begin()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Go on or stop."""
        if not self._trainer.stepped():
            control.should_training_stop = True


class _Ticks:
    """Empty batches without end."""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        while True:
            yield {}


def _no_reward(prompts: list[Any], **_: Any) -> list[float]:
    """Satisfy the library: advantages come with the rows."""
    return [0.0] * len(prompts)


def _with_head(model: Any) -> TemperatureHead:
    # What TRL put there has one temperature.
    model.__dict__.pop("forward", None)
    return TemperatureHead(model, _fuse)


def _fuse(model: Any, temperature: float) -> None:
    config = model.config.get_text_config()
    if model.device.type == "cpu" and not any(getattr(config, key, None) for key in _RESCALING):
        model.forward = MethodType(functools.partial(_scored_only, temperature=temperature), model)
    else:
        add_fused_lm_head(model, temperature=temperature, outputs=_OUTPUTS)


def _scored_only(model: Any, *inputs: Any, labels: Any, temperature: float, **named: Any) -> Any:
    """Do what TRL's head does, at the scored positions alone; its own spares them on GPUs only."""
    del named["fused_lm_head"]
    hidden = _hidden(model, *inputs, labels=labels, **named)[:, :-1]
    labels = labels[:, 1:]
    mask = labels != -100
    head = model.get_output_embeddings()
    weight = head.weight.full_tensor() if hasattr(head.weight, "full_tensor") else head.weight
    tile = min(weight.size(0), _TILE)
    found = ChunkedLogProbFunction.apply(
        hidden[mask], weight, head.bias, labels[mask], temperature, tile, None, 1.0, _OUTPUTS
    )
    logps, entropy = (part.new_zeros(mask.shape).masked_scatter(mask, part) for part in found[:2])
    return FusedCausalLMOutput(log_probs=logps, entropy=entropy)


def _hidden(model: Any, *inputs: Any, labels: Any, **named: Any) -> Any:
    if not inputs and _may_share(model):
        ids, attention = named["input_ids"], named["attention_mask"]
        split = split_rows(ids, attention, labels != -100)
        if split is not None:
            rest = {k: v for k, v in named.items() if k not in ("input_ids", "attention_mask")}
            return shared_hidden(model.base_model, split, ids.size(1), rest)
    return model.base_model(*inputs, use_cache=False, **named).last_hidden_state


def _may_share(model: Any) -> bool:
    # Spread weights are gathered once a pass, in step with the other processes; and a pass that
    # is to be computed twice keeps nothing.
    spread = hasattr(next(model.parameters()), "full_tensor")
    twice = model.training and model.is_gradient_checkpointing
    takes = inspect.signature(model.base_model.forward).parameters
    wanted = {"past_key_values", "position_ids"} <= takes.keys()
    return wanted and not spread and not twice and attends_to_all(model)


def _arguments(config: Config, output_dir: str) -> Any:
    optimizer, loss = config.optimizer, config.loss
    return GRPOConfig(
        output_dir=output_dir,
        seed=config.run.seed % 2**31,
        max_steps=_ENDLESS,
        per_device_train_batch_size=2,
        gradient_accumulation_steps=1,
        steps_per_generation=1,
        num_generations=2,
        learning_rate=optimizer.learning_rate,
        adam_beta1=optimizer.beta1,
        adam_beta2=optimizer.beta2,
        weight_decay=optimizer.weight_decay,
        max_grad_norm=optimizer.max_grad_norm,
        loss_type="dapo",
        epsilon=loss.clip_low,
        epsilon_high=loss.clip_high,
        beta=0.0,
        bf16=config.model.dtype == "bfloat16",
        gradient_checkpointing=config.model.gradient_checkpointing,
        use_cpu=not torch.cuda.is_available(),
        use_cache=True,
        ddp_find_unused_parameters=False,
        disable_tqdm=True,
        logging_strategy="no",
        save_strategy="no",
        eval_strategy="no",
        report_to="none",
        log_level="error",
    )
