"""How much the hints that were shown gave away, measured on the episodes that were played."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from spade_envs.gates.hints import tells
from spade_envs.gates.thresholds import HINT_SEEDS
from spade_train.batch import World
from spade_train.hint_information import hint_information
from spade_train.loop.state import LiveEnv
from spade_train.rollouts.jobs import Played
from spade_train.types import HintInformation, as_json, from_json

_INSTANCES = HINT_SEEDS
"""Instances of an environment whose hints are read; each is compared with all others."""


def shown_hints(played: Iterable[Played], world: World) -> dict[str, HintInformation]:
    """Return by digest what the hints of an environment held; every process must call it.

    Episodes of one environment are played in one process, unless there are fewer environments than
    processes; then one of them speaks for it.
    """
    shown: dict[str, dict[tuple[int, int], Played]] = {}
    for each in played:
        if each.job.hinted and each.result.fault is None and each.hint:
            instance = each.job.level, each.job.seed
            shown.setdefault(each.job.env, {}).setdefault(instance, each)
    mine = {env: _information(list(found.values())[:_INSTANCES]) for env, found in shown.items()}
    if world.size == 1:
        return mine
    parts = world.gather(as_json(mine))
    return {env: from_json(HintInformation, data) for part in parts for env, data in part.items()}


def with_hints(
    waiting: Mapping[str, LiveEnv], shown: Mapping[str, HintInformation]
) -> dict[str, LiveEnv]:
    """Return the environments with what their hints hold; what the gates said of them stays."""
    return {
        digest: replace(env, hint=_joined(env.hint, shown[digest])) if digest in shown else env
        for digest, env in waiting.items()
    }


def hint_metrics(envs: Iterable[LiveEnv]) -> dict[str, float]:
    """Return means over the environments whose hints are known."""
    hints = [env.hint for env in envs if env.hint is not None]
    if not hints:
        return {}
    return {
        "hint/words": sum(hint.words for hint in hints) / len(hints),
        "hint/overlap": sum(hint.overlap for hint in hints) / len(hints),
        "hint/withheld": sum(hint.withheld for hint in hints) / len(hints),
    }


def _information(played: list[Played]) -> HintInformation:
    told = tells(
        {place: each.hint for place, each in enumerate(played)},
        {place: each.solution for place, each in enumerate(played)},
    )
    return hint_information(
        [each.hint for each in played],
        [list(each.solution) for each in played],
        withheld=not told,
    )


def _joined(gates: HintInformation | None, shown: HintInformation) -> HintInformation:
    if gates is None:
        return shown
    withheld = gates.withheld and shown.withheld
    return replace(shown, reader_success=gates.reader_success, withheld=withheld)
