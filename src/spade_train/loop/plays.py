"""What the episodes of an update add to the ledger of plays, by environment and level."""

from __future__ import annotations

from collections.abc import Iterable

from spade_envs.store.plays import INSTANCE, Plays
from spade_train.config import Config
from spade_train.types import EpisodeResult


def lines_of(config: Config, update: int, results: Iterable[EpisodeResult]) -> list[Plays]:
    """Return one line per environment and level, in the order in which they were first played.

    Episodes with a fault do not count. Instances that were finished once in each arm are pairs.
    The key names the update and the level, so that an update that is repeated counts once.

    Args:
        config: says whose hints were shown.
        update: number of the update.
        results: episodes of all processes.
    """
    groups: dict[tuple[str, int], list[EpisodeResult]] = {}
    for result in results:
        if result.fault is None:
            groups.setdefault((result.env, result.level), []).append(result)
    hint = "policy" if config.hint.writer == "policy" else INSTANCE
    return [_line(env, level, update, hint, group) for (env, level), group in groups.items()]


def _line(env: str, level: int, update: int, hint: str, group: list[EpisodeResult]) -> Plays:
    plain = [each for each in group if not each.hinted]
    hinted = [each for each in group if each.hinted]
    pairs = _pairs(plain, hinted)
    return Plays(
        digest=env,
        level=level,
        hint=hint,
        plays=len(plain),
        successes=sum(each.success for each in plain),
        returns=sum(each.total_reward for each in plain),
        squares=sum(each.total_reward**2 for each in plain),
        hinted=len(hinted),
        hinted_successes=sum(each.success for each in hinted),
        hinted_returns=sum(each.total_reward for each in hinted),
        hinted_squares=sum(each.total_reward**2 for each in hinted),
        pairs=len(pairs),
        both=sum(one.success and other.success for one, other in pairs),
        key=f"{update}/{level}",
    )


def _pairs(
    plain: list[EpisodeResult], hinted: list[EpisodeResult]
) -> list[tuple[EpisodeResult, EpisodeResult]]:
    """Return the episodes of instances that were played once in each arm."""
    arms: dict[int, tuple[list[EpisodeResult], list[EpisodeResult]]] = {}
    for place, group in enumerate((plain, hinted)):
        for each in group:
            arms.setdefault(each.seed, ([], []))[place].append(each)
    return [(a[0], b[0]) for a, b in arms.values() if len(a) == len(b) == 1]
