"""Held-out environments and the episodes by which they measure the agent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from spade_envs.design.brief import derive_seed
from spade_train.rollouts.jobs import EpisodeJob
from spade_train.types import EpisodeResult


@dataclass(frozen=True, slots=True)
class HeldEnv:
    """One environment that is never trained on."""

    digest: str
    levels: int
    """>= 1."""
    group: str
    """What results are averaged by, such as its family."""


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Environments that are never trained on."""

    envs: tuple[HeldEnv, ...] = ()

    @property
    def digests(self) -> frozenset[str]:
        """Digests of all of them."""
        return frozenset(env.digest for env in self.envs)


def held_jobs(held: HeldOut, *, episodes: int, seed: int, update: int) -> tuple[EpisodeJob, ...]:
    """Return the episodes of one evaluation: the same instances and draws at every update.

    They are dealt out to environments and levels as evenly as they go.

    Args:
        held: the environments.
        episodes: episodes in all, >= 0.
        seed: seed of the first instance of each environment and level.
        update: number of the update whose weights act.
    """
    cells = [(env, level) for env in held.envs for level in range(env.levels)]
    if not cells:
        return ()
    jobs = []
    for number in range(episodes):
        turn, place = divmod(number, len(cells))
        # Where there are fewer episodes than cells, an even choice of them.
        if episodes < len(cells):
            place = number * len(cells) // episodes
        env, level = cells[place]
        jobs.append(
            EpisodeJob(
                key=f"eval/{update}/{number}",
                env=env.digest,
                level=level,
                seed=seed + turn,
                hinted=False,
                sample_seed=derive_seed("eval", seed, env.digest, level, turn),
                update=update,
            )
        )
    return tuple(jobs)


def held_metrics(held: HeldOut, results: Sequence[EpisodeResult]) -> dict[str, float]:
    """Return success by level and by group, and over all episodes without a fault."""
    groups = {env.digest: env.group for env in held.envs}
    fair = [result for result in results if result.fault is None]
    if not fair:
        return {}
    wins = [float(result.success) for result in fair]
    rate, count = _mean(wins), len(wins)
    found = {
        "eval/success": rate,
        "eval/success_se": math.sqrt(rate * (1.0 - rate) / max(1, count - 1)),
        "eval/episodes": float(count),
    }
    cells: dict[str, list[float]] = {}
    for result in fair:
        won = float(result.success)
        cells.setdefault(f"eval/success/level-{result.level}", []).append(won)
        cells.setdefault(f"eval/success/{groups[result.env]}", []).append(won)
    return found | {key: _mean(cells[key]) for key in sorted(cells)}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
