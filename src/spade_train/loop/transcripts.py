"""Whole episodes for reports: the same instance without and with the hint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spade_envs.types import Json
from spade_train.rollouts.jobs import Played

_MOST_CHARS = 4000


def transcripts(played: Sequence[Played], env: str) -> Iterator[dict[str, Json]]:
    """Give the fields of the event `episode` for one instance of an environment.

    The first instance that was played in both arms, else the first one without the hint; nothing
    if this process did not play the environment.
    """
    mine = [each for each in played if each.job.env == env]
    hinted = [each for each in mine if each.job.hinted]
    helped = {(each.job.level, each.job.seed): each for each in reversed(hinted)}
    plain = [each for each in mine if not each.job.hinted]
    both = [each for each in plain if (each.job.level, each.job.seed) in helped]
    for first in (both or plain)[:1]:
        yield _fields(first)
        partner = helped.get((first.job.level, first.job.seed))
        if partner is not None:
            yield _fields(partner)


def _fields(played: Played) -> dict[str, Json]:
    episode, result = played.episode, played.result
    return {
        "env": result.env,
        "level": result.level,
        "seed": result.seed,
        "hinted": result.hinted,
        "success": result.success,
        "return": result.total_reward,
        "fault": result.fault,
        "hint": played.hint[:_MOST_CHARS],
        "first_observation": episode.first_observation[:_MOST_CHARS],
        "turns": [
            {
                "action": turn.action[:_MOST_CHARS],
                "observation": turn.observation[:_MOST_CHARS],
                "reward": turn.reward,
            }
            for turn in episode.turns
        ],
    }
