"""Which episodes an update plays: levels, seeds, and both arms on the same instances."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from spade_envs.design.brief import derive_seed
from spade_train.config import Config
from spade_train.curriculum import SlidingWindow, draw_levels, level_weights
from spade_train.loop.state import LevelCounts, LiveEnv, LoopState
from spade_train.rollouts.jobs import EpisodeJob
from spade_train.types import EpisodeResult, Ints

_PLAY = 1
_SEEDS = 2**31


def play_jobs(
    config: Config, state: LoopState, envs: Sequence[LiveEnv], *, update: int, hinted: int
) -> tuple[EpisodeJob, ...]:
    """Return the episodes of one update, environment by environment.

    Args:
        config: numbers of episodes, rule of the levels.
        state: what is known of the levels.
        envs: the environments to play; one may stand there twice.
        update: number of the update.
        hinted: episodes with the hint of each environment, >= 0.
    """
    return tuple(
        job
        for place, env in enumerate(envs)
        for job in env_jobs(config, state, env, place=place, update=update, hinted=hinted)
    )


def env_jobs(
    config: Config, state: LoopState, env: LiveEnv, *, place: int, update: int, hinted: int
) -> list[EpisodeJob]:
    """Return the episodes of one environment, the `place`-th of an update; see `play_jobs`."""
    rng = np.random.default_rng([config.run.seed, update, _PLAY, place])
    count = config.agent.episodes_per_env // config.agent.episodes_per_instance
    levels = _levels(config, state, env, count, rng)
    seeds = rng.integers(0, _SEEDS, size=count)
    instances = list(zip(map(int, levels), map(int, seeds), strict=True))
    jobs = [
        _job(config, env, f"u{update}/{place}/{number}/{repeat}", *instance, update, hinted=False)
        for number, instance in enumerate(instances)
        for repeat in range(config.agent.episodes_per_instance)
    ]
    for repeat, number in enumerate(_hinted(hinted, count)):
        key = f"u{update}/{place}/{number}/h{repeat}"
        jobs.append(_job(config, env, key, *instances[number], update, hinted=True))
    return jobs


def with_counts(
    levels: Mapping[str, LevelCounts], envs: Iterable[LiveEnv], results: Iterable[EpisodeResult]
) -> dict[str, LevelCounts]:
    """Return the counts with these episodes added; hinted ones and faults are passed over."""
    top = {env.digest: env.levels for env in envs}
    plays = {digest: list(counts.plays) for digest, counts in levels.items()}
    wins = {digest: list(counts.wins) for digest, counts in levels.items()}
    for result in results:
        if result.hinted or result.fault is not None:
            continue
        size = top[result.env]
        plays.setdefault(result.env, [0] * size)[result.level] += 1
        wins.setdefault(result.env, [0] * size)[result.level] += result.success
    return {
        digest: LevelCounts(plays=tuple(count), wins=tuple(wins[digest]))
        for digest, count in plays.items()
    }


def moved_windows(
    config: Config, state: LoopState, envs: Iterable[LiveEnv], results: Sequence[EpisodeResult]
) -> dict[str, SlidingWindow]:
    """Return the sliding windows after these episodes; those of other environments as they were."""
    windows = dict(state.windows)
    for env in {each.digest: each for each in envs}.values():
        window = windows.get(env.digest) or config.levels.window(env.levels - 1)
        mine = [
            result
            for result in results
            if result.env == env.digest and not result.hinted and result.fault is None
        ]
        high = [result for result in mine if result.level == window.high]
        windows[env.digest] = window.record(
            window.high, episodes=len(high), successes=sum(result.success for result in high)
        )
    return windows


def with_hint(job: EpisodeJob, text: str) -> EpisodeJob:
    """Return a job whose hint the policy wrote."""
    return replace(job, hint=text)


def _levels(
    config: Config, state: LoopState, env: LiveEnv, count: int, rng: np.random.Generator
) -> Ints:
    rule = config.levels.rule
    if rule == "sliding":
        window = state.windows.get(env.digest) or config.levels.window(env.levels - 1)
        return window.draw(count, rng)
    if rule == "uniform":
        return draw_levels(np.ones(env.levels), count, rng)
    known = state.levels.get(env.digest)
    counts = known or LevelCounts(plays=(0,) * env.levels, wins=(0,) * env.levels)
    return draw_levels(level_weights(counts.wins, counts.plays), count, rng)


def _hinted(plays: int, instances: int) -> list[int]:
    """Return the instances that the hinted arm plays: spread evenly, or round and round."""
    if plays <= instances:
        return [number * instances // plays for number in range(plays)]
    return [number % instances for number in range(plays)]


def _job(
    config: Config, env: LiveEnv, key: str, level: int, seed: int, update: int, *, hinted: bool
) -> EpisodeJob:
    return EpisodeJob(
        key=key,
        env=env.digest,
        level=level,
        seed=seed,
        hinted=hinted,
        sample_seed=derive_seed("agent", config.run.seed, key),
        update=update,
    )
