"""The model and tokenizer that a configuration names, ready to be trained."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from spade_envs.errors import ConfigError, MissingExtra
from spade_train.config import Config
from spade_train.config.machine import Lora, Model
from spade_train.nano.quiet import no_bars, no_retries
from spade_train.runs.checkpoint import Checkpoint

_HUB = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?", re.ASCII)
"""What can be a model of the Hub; everything else is a path, for which no network is asked."""


def load_policy(config: Config) -> tuple[Any, Any]:
    """Return `(model, tokenizer)` as `transformers` has them, with adapters if wanted.

    Trained weights are held in float32 whatever `model.dtype` says: steps of a usual learning rate
    vanish in bfloat16. With bfloat16, the arithmetic is done in it under autocast, and weights
    below adapters, which are not trained, are held in it.

    Args:
        config: of the run; sets the threads of torch too.

    Raises:
        ConfigError: there is no such model.
        MissingExtra: a library of the extra `train` is not installed.
    """
    try:
        import torch
        import transformers  # noqa: F401
    except ImportError as error:
        raise MissingExtra(error.name or "torch", "train") from None
    if config.run.threads:
        torch.set_num_threads(config.run.threads)
    lora = config.model.lora
    half = config.model.dtype == "bfloat16" and lora.rank > 0
    model, tokenizer = _loaded(config.model, torch.bfloat16 if half else torch.float32)
    if lora.rank:
        with torch.random.fork_rng():
            torch.manual_seed(config.run.seed % 2**63)
            model = _with_adapters(model, lora)
    return model, tokenizer


def load_checkpoint(config: Config, checkpoint: Checkpoint) -> tuple[Any, Any]:
    """Return `(model, tokenizer)` of a run as they were at a checkpoint, to sample from.

    Raises:
        StateError: the checkpoint is of another model.
    """
    from spade_train.trainer.state import POLICY, load_weights

    model, tokenizer = load_policy(config)
    load_weights(model, checkpoint.part(POLICY))
    return model.eval(), tokenizer


def _loaded(settings: Model, dtype: Any) -> tuple[Any, Any]:
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    from spade_train.nano.model import WEIGHTS

    path = str(WEIGHTS) if settings.path == "nano" else os.path.expanduser(settings.path)
    local = Path(path).is_dir()
    if not local and not _HUB.fullmatch(path):
        raise ConfigError(
            f'model.path = "{settings.path}": there is no such folder, and a model of the Hub is '
            "called OWNER/NAME"
        )
    where: dict[str, Any] = {"local_files_only": local}
    if settings.revision and not local:
        where["revision"] = settings.revision
    try:
        with no_bars(), no_retries():
            # First, for a Hub that is not reached is tried for long for each file of a tokenizer.
            AutoConfig.from_pretrained(path, **where)
            tokenizer = AutoTokenizer.from_pretrained(path, **where)
            model = AutoModelForCausalLM.from_pretrained(path, dtype=dtype, **where)
    except (OSError, ValueError) as error:
        raise ConfigError(
            f'model.path = "{settings.path}": neither a folder with a model nor one that the '
            f"Hub gives ({str(error).splitlines()[0]})"
        ) from None
    return model, tokenizer


def _with_adapters(model: Any, lora: Lora) -> Any:
    try:
        from peft import LoraConfig, get_peft_model
    except ImportError:
        raise MissingExtra("peft", "train") from None
    names = [name.strip() for name in lora.targets.split(",")]
    settings = LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules="all-linear" if names == ["all-linear"] else names,
        task_type="CAUSAL_LM",
    )
    return get_peft_model(model, settings)
