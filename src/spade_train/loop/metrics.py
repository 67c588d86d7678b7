"""The numbers of one update that the loop knows: functions of configuration and seed alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from spade_train.advantages import Advantages
from spade_train.loop.grade import Scored
from spade_train.loop.outcomes import Outcome
from spade_train.loop.phase import Draft
from spade_train.loop.state import LiveEnv
from spade_train.regret import paired_regret
from spade_train.runs import Spent
from spade_train.types import EpisodeResult

_ODD = re.compile(r"[^a-z0-9_\-.]+")


def agent_metrics(outcomes: Sequence[Outcome], groups: Advantages) -> dict[str, float]:
    """Return how the agent did: success of both arms, by level, and regret over all instances.

    Args:
        outcomes: episodes of the update in all processes.
        groups: advantages of those that are trained.
    """
    if not outcomes:
        return {}
    fair = [each for each in outcomes if each.result.fault is None]
    plain = [each.result for each in fair if not each.result.hinted]
    hinted = [each.result for each in fair if each.result.hinted]
    found = {
        "agent/fault_share": 1.0 - len(fair) / len(outcomes),
        "agent/truncated": _mean([each.truncated for each in fair]),
        "agent/flat_groups": groups.flat_groups / groups.groups if groups.groups else 0.0,
        **_arm("agent/success", plain),
        **_arm("agent/success_hinted", hinted),
    }
    if plain:
        found["agent/return"] = _mean([result.total_reward for result in plain])
        found["agent/level_mean"] = _mean([result.level for result in plain])
        found["agent/tokens"] = _mean([each.tokens for each in fair if not each.result.hinted])
    return found | _regret(outcomes)


def design_metrics(drafts: Sequence[Draft]) -> dict[str, float]:
    """Return what a design phase brought: acceptance, refusals by gate, the mix of what passed."""
    if not drafts:
        return {}
    good = [draft.live for draft in drafts if draft.env]
    found = {
        "designer/acceptance": len(good) / len(drafts),
        "designer/invalid": float(len(drafts) - len(good)),
        "designer/environments": float(len(good)),
        "designer/completion_tokens": _mean([draft.dialogue.sampled_tokens for draft in drafts]),
    }
    refused = Counter(refusal(draft) for draft in drafts if not draft.env)
    found |= _counted("designer/refused", refused)
    found |= _counted("designer/skill", Counter(env.skill for env in good))
    found |= _counted("designer/challenge", Counter(env.challenge for env in good))
    return found


def score_metrics(designs: Sequence[Scored]) -> dict[str, float]:
    """Return what the designer samples earned that fell due."""
    values = [each.score.value for each in designs if each.score.value is not None]
    regrets = [each.regret for each in designs if each.regret is not None]
    found: dict[str, float] = {}
    if values:
        found["designer/score"] = _mean(values)
    if regrets:
        found["designer/regret"] = _mean(regrets)
    return found


def budget_metrics(spent: Spent) -> dict[str, float]:
    """Return what was spent so far."""
    return {
        "budget/agent_episodes": float(spent.agent_episodes),
        "budget/generated_tokens": float(spent.generated_tokens),
    }


def difficulty_metrics(envs: Sequence[LiveEnv], outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Return how hard new environments are: for the agent, and by themselves.

    `designer/level_mean` is the mean over environments of the level at which the agent is neither
    sure nor lost, weighted by 4 p (1 - p); environments without such a level are left out. It
    rises when the agent gets better, too. `designer/solution_words`, the mean number of words in a
    reference solution of what was played with the hint, depends on the environments alone.
    """
    mine: dict[str, list[Outcome]] = {env.digest: [] for env in envs}
    for each in outcomes:
        if each.result.env in mine and each.result.fault is None:
            mine[each.result.env].append(each)
    levels = [level for level in map(_middle_level, mine.values()) if level is not None]
    words = [each.solution_words for found in mine.values() for each in found]
    solved = [count for count in words if count]
    found = {"designer/level_mean": _mean(levels)} if levels else {}
    return found | ({"designer/solution_words": _mean(solved)} if solved else {})


def _middle_level(outcomes: Sequence[Outcome]) -> float | None:
    rates: dict[int, list[bool]] = {}
    for each in outcomes:
        if not each.result.hinted:
            rates.setdefault(each.result.level, []).append(each.result.success)
    weights = {level: _mean(won) * (1.0 - _mean(won)) for level, won in rates.items()}
    total = sum(weights.values())
    if not total:
        return None
    return sum(level * weight for level, weight in weights.items()) / total


def refusal(draft: Draft) -> str:
    """Return the gate, or else the stage, that refused a draft, as a part of a metric's name."""
    name = re.match(r"L\d\.\d+", draft.reason)
    return name[0].lower() if name else _ODD.sub("-", draft.stage.lower()) or "unknown"


def _arm(name: str, results: Sequence[EpisodeResult]) -> dict[str, float]:
    if not results:
        return {}
    levels: dict[int, list[bool]] = {}
    for result in results:
        levels.setdefault(result.level, []).append(result.success)
    found = {name: _mean([result.success for result in results])}
    return found | {f"{name}/level-{level}": _mean(levels[level]) for level in sorted(levels)}


def _regret(outcomes: Sequence[Outcome]) -> dict[str, float]:
    hinted = {each.result.env for each in outcomes if each.result.hinted}
    both = [each.result for each in outcomes if each.result.env in hinted]
    regret = paired_regret(
        [result.success for result in both],
        [result.hinted for result in both],
        [(result.env, result.level, result.seed) for result in both],
        valid=[result.fault is None for result in both],
    )
    if regret is None:
        return {}
    found = {"agent/regret": regret.mean}
    if regret.standard_error is not None:
        found["agent/regret_se"] = regret.standard_error
    return found


def _counted(name: str, counts: Counter[str]) -> dict[str, float]:
    return {f"{name}/{key}": float(counts[key]) for key in sorted(counts) if key}


def _mean(values: Iterable[float]) -> float:
    numbers = [float(value) for value in values]
    return sum(numbers) / len(numbers) if numbers else 0.0
