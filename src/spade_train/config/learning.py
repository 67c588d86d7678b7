"""Sections about the update: optimizer, loss, budget, evaluation, health."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from spade_train.config.base import Above0, Amount, Count, Positive, Section, Share, Text


class Optimizer(Section):
    """AdamW and its schedule."""

    learning_rate: Amount = 1e-6
    """0 moves nothing: a control."""
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    warmup: Count = 0
    """Updates in which the learning rate rises from 0."""
    beta1: float = Field(default=0.9, ge=0.0, lt=1.0)
    beta2: float = Field(default=0.98, ge=0.0, lt=1.0)
    weight_decay: Amount = 0.1
    max_grad_norm: Above0 = 1.0


class Loss(Section):
    """The policy gradient."""

    clip_low: Share = 0.2
    clip_high: Amount = 0.28
    """The ratio of probabilities is clipped to [1 - clip_low, 1 + clip_high]."""
    importance_cap: Above0 = 2.0
    """Greatest weight of a token that other weights sampled."""
    kl: Amount = 0.0
    """Weight of the divergence from the initial weights (k3 estimate)."""
    entropy: Amount = 0.0
    """Weight of the entropy bonus."""
    designer_share: float | Literal["by-samples"] = Field(default="by-samples")
    """Part of the gradient that is the designer's, in [0, 1], or its part of the samples."""
    per: Literal["sample", "token"] = "sample"
    """Whether each sample or each token of a role weighs alike."""
    micro_batch: Positive = 1
    """Samples of one forward pass on one device; the rest is accumulated."""


class Budget(Section):
    """What a run may spend; the first limit that is reached ends it. 0 sets no limit."""

    agent_episodes: Count = 0
    """Episodes with and without the hint; evaluation is not among them."""
    generated_tokens: Count = 0
    """Sampled tokens of both roles, hint writing and hinted episodes among them."""


class Evaluation(Section):
    """Held-out success during the run."""

    interval: Count = 0
    """Updates between evaluations; 0 evaluates at the end only."""
    episodes: Count = 1000
    """Episodes of one evaluation; 0 plays none, and `suites` all the same."""
    seed: Count = 1_000_003
    """First seed of the held-out instances."""
    source: Text = Field(default="starter", min_length=1)
    """Held-out environments, never trained on: `starter`, the bundled store; `nano`, programs that
    the tiny model's generator writes for this; else the path of a store. `pool` takes the pool's
    own environments, on instances that are never trained on."""
    environments: Positive = 27
    """Programs for the source `nano`, in turn of each family that the tiny model can learn."""
    greedy: bool = True
    """Whether the agent takes the likeliest token each time, or samples as in training."""
    suites: tuple[Text, ...] = ()
    """Benchmarks to play as well, such as `heldout,store=DIR,hint=true` (docs/evaluation.md)."""
    suite_tasks: Positive = 20
    """Tasks of each benchmark: its first ones, one attempt each."""


class Health(Section):
    """When a run stops by itself."""

    max_fault_share: Share = 0.5
    """Episodes of an update that environments may break."""
    max_logp_difference: Above0 = 0.05
    """Greatest mean difference of the sampler's and the trainer's log-probabilities."""
    min_accepted_share: Share = 0.0
    """Programs of a design phase that must pass the gates."""
