"""Advantages of both roles: groups, faults, zero variance, and the balance between the roles."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from spade_train.arrays import group_index, mask, numbers
from spade_train.errors import DataError
from spade_train.types import Bools, Floats, Role

Baseline: TypeAlias = Literal["brief", "skill"]

EPSILON = 1e-8
"""Added to the standard deviation of a group, as published."""


@dataclass(frozen=True, slots=True)
class Advantages:
    """Advantages of one batch, and which of its samples carry a gradient."""

    values: Floats
    """Exactly 0 for faults, singletons and groups without variance."""
    valid: Bools
    """False for faults: these samples are masked out of the loss altogether."""
    informative: Bools
    """True for valid samples of groups in which rewards differ."""
    groups: int
    """Groups with at least one valid sample."""
    flat_groups: int
    """Of these, how many had no variance."""


def agent_advantages(
    rewards: ArrayLike, labels: Sequence[Hashable], *, valid: ArrayLike | None = None
) -> Advantages:
    """Return (reward - mean) / (standard deviation + 1e-8) within each group.

    The standard deviation is that of the population. Faults count in no mean.

    Args:
        rewards: rewards of the episodes; anything where not valid.
        labels: the group of each: environment, or environment and instance.
        valid: False where the environment failed.

    Raises:
        DataError: lengths differ, or a valid reward is not finite.

    Source: published implementation, per-game normalisation `grpo` (reference 1.4).
    """
    return _grouped(rewards, labels, valid, divide=True)


def designer_advantages(
    scores: ArrayLike,
    labels: Sequence[Hashable],
    *,
    baseline: Baseline = "skill",
    gain: float = 1.0,
    valid: ArrayLike | None = None,
) -> Advantages:
    """Return the advantages of completions of the designer.

    Args:
        scores: designer scores; anything where not valid.
        labels: skills for the baseline `skill`, briefs for the baseline `brief`.
        baseline: `skill` centres within a skill and multiplies by `gain`, as published; `brief`
            takes the z-score within the completions of one brief, a GRPO group proper, times
            `gain`.
        gain: factor on the result, > 0; see `role_gain`.
        valid: False for completions without a score.

    Raises:
        DataError: lengths differ, a valid score is not finite, or the gain is not positive.

    Source: published implementation, delayed designer rewards (reference 1.4) for `skill`; GRPO
        for `brief`.
    """
    if not 0.0 < gain < np.inf:
        raise DataError(f"the gain must be positive, not {gain}")
    plain = _grouped(scores, labels, valid, divide=baseline == "brief")
    return Advantages(
        plain.values * gain, plain.valid, plain.informative, plain.groups, plain.flat_groups
    )


def role_gain(
    agent_samples: int, designer_samples: int, interval: int, *, cap: float = 50
) -> float:
    """Return the factor that makes up for the rarity of designer samples, in (0, cap].

    `min(agent_samples / designer_samples * interval, cap)`; 1.0 without designer samples.

    Args:
        agent_samples: agent samples of the batch, >= 0.
        designer_samples: designer samples of the batch, >= 0.
        interval: updates from one design phase to the next, >= 1.
        cap: greatest gain, > 0.

    Raises:
        DataError: a count is out of range.

    Source: published implementation, environment reward scaling (reference 1.4).
    """
    if agent_samples < 0 or designer_samples < 0 or interval < 1 or not cap > 0:
        raise DataError(
            f"not counts: {agent_samples} agent and {designer_samples} designer samples, "
            f"interval {interval}, cap {cap}"
        )
    if agent_samples == 0 or designer_samples == 0:
        return 1.0
    return min(agent_samples / designer_samples * interval, float(cap))


def role_weights(
    token_counts: ArrayLike,
    roles: Sequence[Role],
    *,
    shares: Mapping[Role, float],
    per: Literal["sample", "token"] = "sample",
) -> Floats:
    """Return factors for advantages under a loss that divides by the tokens of the whole batch.

    Multiplied by them, the loss `sum over tokens / all tokens` becomes the weighted sum of one
    mean per role: long programs and many agent episodes no longer drown each other.

    Args:
        token_counts: trained tokens of each sample over all ranks, >= 0; a sample with none gets 0.
        roles: role of each sample.
        shares: weight of each role, >= 0. The shares of the roles that are present are scaled to
            the sum 1, so a batch of one role is an ordinary one.
        per: `sample` takes the mean of the samples' token means (as published), `token` the mean
            over all tokens of the role.

    Returns:
        [B] factors >= 0, whose token-weighted mean is 1 (unless all are 0).

    Raises:
        DataError: lengths differ, a count is negative, or no present role has a share.

    Source: ours; the published trainer takes the mean over samples (reference 1.5).
    """
    tokens = numbers(token_counts, "token_counts")
    if len(roles) != tokens.size or np.any(tokens < 0):
        raise DataError(f"{len(roles)} roles for {tokens.size} token counts (each >= 0)")
    weights = np.zeros_like(tokens)
    parts = {
        role: np.array([each == role for each in roles], dtype=np.bool_) & (tokens > 0)
        for role in Role
    }
    present = {role: shares.get(role, 0.0) for role, part in parts.items() if part.any()}
    if not present:
        return weights
    if min(present.values()) < 0.0 or sum(present.values()) <= 0.0:
        raise DataError(f"the shares of the roles in the batch must be positive: {present}")
    for role, share in present.items():
        part = parts[role]
        each = tokens[part] * part.sum() if per == "sample" else tokens[part].sum()
        weights[part] = share / sum(present.values()) * tokens.sum() / each
    return weights


def importance_weights(
    trainer_logps: ArrayLike, sampler_logps: ArrayLike, *, cap: float = 2.0
) -> Floats:
    """Return min(exp(trainer - sampler), cap) per token: truncated importance sampling.

    Args:
        trainer_logps: log-probabilities under the trainer's weights before the update.
        sampler_logps: the same under the weights that sampled.
        cap: greatest weight, > 0.

    Raises:
        DataError: lengths differ or a number is not finite.

    Source: published implementation, TIS (reference 1.5).
    """
    trainer = numbers(trainer_logps, "trainer_logps")
    sampler = numbers(sampler_logps, "sampler_logps")
    if trainer.shape != sampler.shape or not cap > 0.0:
        raise DataError(f"{trainer.size} and {sampler.size} log-probabilities, cap {cap}")
    return np.exp(np.minimum(trainer - sampler, np.log(cap)))


def _grouped(
    rewards: ArrayLike,
    labels: Sequence[Hashable],
    valid: ArrayLike | None,
    *,
    divide: bool,
) -> Advantages:
    kept = mask(valid, len(labels))
    values = numbers(rewards, "rewards", mask(kept, np.size(rewards)))
    index = group_index(labels, values.size)
    advantages = np.zeros_like(values)
    informative = np.zeros_like(kept)
    groups = flat = 0
    for number in range(int(index.max()) + 1 if index.size else 0):
        members = (index == number) & kept
        if not members.any():
            continue
        groups += 1
        mine = values[members]
        # Equality, not a small standard deviation: the mean of equal floats may be off by one bit.
        if mine.min() == mine.max():
            flat += 1
            continue
        informative |= members
        advantages[members] = (mine - mine.mean()) / (mine.std() + EPSILON if divide else 1.0)
    return Advantages(advantages, kept, informative, groups, flat)
