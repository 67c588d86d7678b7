"""Fixed pools: environments of a store, or what the untrained designer writes beforehand."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from spade_envs.design.brief import CHALLENGES
from spade_envs.errors import ConfigError
from spade_envs.types import Record
from spade_train.config import Config
from spade_train.errors import HealthError
from spade_train.loop.phase import Draft
from spade_train.loop.state import LiveEnv, LoopState
from spade_train.pool import PoolCursor

_STAND_INS = 2
_ROUNDS = 20
"""Times that the untrained designer is asked for what is missing."""


def pool_of(
    config: Config, records: Sequence[Record], held: Collection[str], *, key: str = "pool.source"
) -> tuple[LiveEnv, ...]:
    """Return the environments of a store that make a pool, without those that are held out.

    Args:
        config: its `setting` decides which kinds are played.
        records: all records of the store.
        held: digests of held-out environments.
        key: what named the store in the configuration, for the message.

    Raises:
        ConfigError: nothing is left.
    """
    kinds = {"games": ("text",), "tools": ("tool",), "mixed": ("text", "tool")}[config.setting]
    found = tuple(
        LiveEnv(
            digest=record.digest,
            skill=record.skills[0] if record.skills else "",
            levels=record.levels,
            title=record.title,
            summary=record.summary,
        )
        for record in records
        if record.withdrawn is None and record.kind in kinds and record.digest not in held
    )
    if not found:
        raise ConfigError(
            f"the store of {key} holds no environment for setting = {config.setting!r} that is "
            "not held out; name another store, or another evaluation.source"
        )
    return found


def stand_ins(config: Config, envs: Sequence[LiveEnv], update: int) -> list[LiveEnv]:
    """Return as many of some environments as an update plays, drawn anew for each update."""
    rng = np.random.default_rng([config.run.seed, update, _STAND_INS])
    places = rng.permutation(len(envs))[: config.designer.environments]
    return [envs[int(place)] for place in places]


def with_pool(state: LoopState, envs: Sequence[LiveEnv], seed: int) -> LoopState:
    """Return the state with a fixed pool and a place at its beginning."""
    return replace(state, pool=tuple(envs), cursor=PoolCursor(size=len(envs), seed=seed))


def missing_slots(config: Config, found: Sequence[LiveEnv], round_: int) -> list[int]:
    """Return the slots to ask the untrained designer for, so that the pool gets its size.

    A slot's number decides its skill and, in an even pool, its challenge. Each round asks for as
    many as are missing, in an even pool of each challenge.

    Args:
        config: size and mix of the pool.
        found: environments so far.
        round_: number of the round, from 0.

    Raises:
        HealthError: too many rounds went by.
    """
    pool = config.pool
    if round_ >= _ROUNDS and len(found) < pool.size:
        raise HealthError(
            f"the untrained designer wrote {len(found)} of {pool.size} environments for the pool "
            f"in {_ROUNDS} rounds; set a smaller pool.size, or name a store in pool.source"
        )
    start = round_ * pool.size * len(CHALLENGES)
    if pool.challenges != "even":
        return list(range(start, start + pool.size - len(found)))
    slots = []
    for place, challenge in enumerate(CHALLENGES):
        wanted = (pool.size + len(CHALLENGES) - 1 - place) // len(CHALLENGES)
        there = sum(env.challenge == challenge for env in found)
        slots += [start + place + len(CHALLENGES) * n for n in range(max(0, wanted - there))]
    return sorted(slots)


def accepted(drafts: Sequence[Draft]) -> list[LiveEnv]:
    """Return the environments among the drafts, in order."""
    return [draft.live for draft in drafts if draft.env is not None]
