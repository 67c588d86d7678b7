"""Sections about machinery: the run, the model, sampling engines, sinks."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from spade_train.config.base import Above0, Count, Positive, Section, Share, Text, wrong


class Run(Section):
    """How long a run is and how it is kept."""

    seed: Count = 0
    """Of everything random."""
    updates: Positive = 400
    """Optimizer steps."""
    save_interval: Positive = 16
    """Updates from one checkpoint to the next."""
    keep_checkpoints: Positive = 2
    """Checkpoints that stay on disk."""
    threads: int = Field(default=0, ge=0, le=4096)
    """Threads of the model's arithmetic; 0 leaves them to the library."""


class Lora(Section):
    """Low-rank adapters in place of training all weights."""

    rank: Count = 0
    """0 trains all weights."""
    alpha: Above0 = 32.0
    dropout: Share = 0.0
    targets: Text = "all-linear"
    """Layers that get an adapter: `all-linear` or names with commas between."""


class Model(Section):
    """The one policy that plays both roles."""

    path: Text = Field(default="nano", min_length=1)
    """`nano`, a folder, or a name on the Hugging Face Hub."""
    revision: Text = ""
    """Commit on the Hub; empty takes the newest."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    gradient_checkpointing: bool = False
    """Whether activations are computed twice to save memory."""
    lora: Lora = Lora()


class Rollout(Section):
    """Where tokens are sampled and environments are run."""

    engine: Literal["transformers", "vllm", "vllm-server"] = "transformers"
    servers: tuple[Text, ...] = ()
    """Base URLs of vLLM servers, for the engine `vllm-server`."""
    gpu_memory_share: float = Field(default=0.4, gt=0.0, le=1.0)
    """Of each GPU, for vLLM in the trainer's process, which spans one; servers may span more."""
    backend: Literal["local", "ray"] = "local"
    """Where gates and episodes run: on this machine or on a Ray cluster."""
    workers: Count = 0
    """Sandboxes at work at once; 0 is one per core."""
    live_episodes: Positive = 256
    """Episodes in play at once."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.engine == "vllm-server") != bool(self.servers):
            raise wrong("servers", 'give base URLs if engine = "vllm-server", and only then')
        return self


class Sinks(Section):
    """Where metrics go beside metrics.jsonl."""

    tensorboard: bool = False
    """Whether event files are written to the run's folder `tensorboard`."""
    wandb: Text = ""
    """Project at Weights & Biases; empty is off."""
    trackio: Text = ""
    """Project for trackio; empty is off."""
