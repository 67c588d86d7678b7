"""The figures of a run that stand at the head of its page, as numbers and in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from spade_envs.intervals import Interval, gain_interval
from spade_envs.types import Json
from spade_train.reports.panels import times
from spade_train.reports.plots import percent
from spade_train.reports.record import RunRecord
from spade_train.reports.series import Change, Curve, change, curve, number


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOut:
    """Two evaluations of a run on the same held-out instances: the first and the last."""

    first: float
    last: float
    first_se: float | None
    last_se: float | None
    first_update: int
    last_update: int
    evaluations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What a run came to. None where the run has not measured it."""

    updates: int
    planned_updates: int
    stopped: str
    """Why it ended; empty if it is being trained or was killed."""
    success: Change | None
    success_hinted: Change | None
    regret: Change | None
    regret_se: float | None
    """Standard error of the mean regret of the last quarter, over its updates."""
    level_accepted: Change | None
    level_played: Change | None
    acceptance: Change | None
    held_out: HeldOut | None
    designed: int
    accepted: int
    agent_episodes: int | None
    generated_tokens: int | None
    wall_s: float | None
    """Sum over updates; those that a kill cost and a resume repeated are not in it."""
    model_share: float | None
    """Part of the wall time that was spent in the model."""
    fault_share: float | None
    """Mean share of episodes that environments broke."""


def figures(record: RunRecord) -> Figures:
    """Return the figures of a run."""
    lines = record.metrics
    designed = list(record.of_kind("designed"))
    regret = curve(lines, "agent/regret", "regret", "agent/regret_se")
    wall, model = _times(record)
    faults = curve(lines, "agent/fault_share", "faults")
    return Figures(
        updates=record.updates,
        planned_updates=record.planned_updates,
        stopped=record.stopped,
        success=_change(lines, "agent/success"),
        success_hinted=_change(lines, "agent/success_hinted"),
        regret=change(regret),
        regret_se=_last_error(regret),
        level_accepted=_change(lines, "designer/level_mean"),
        level_played=_change(lines, "agent/level_mean"),
        acceptance=_change(lines, "designer/acceptance"),
        held_out=_held_out(lines),
        designed=len(designed),
        accepted=sum(isinstance(event.get("env"), str) for event in designed),
        agent_episodes=_total(lines, "budget/agent_episodes"),
        generated_tokens=_total(lines, "budget/generated_tokens"),
        wall_s=wall,
        model_share=model / wall if wall and model is not None else None,
        fault_share=float(faults.values.mean()) if faults else None,
    )


def _change(lines: tuple[Mapping[str, Json], ...], key: str) -> Change | None:
    return change(curve(lines, key, key))


def _last_error(regret: Curve) -> float | None:
    found = change(regret)
    if found is None or regret.errors is None:
        return None
    errors = regret.errors[-found.points :]
    return (
        float(np.sqrt(np.square(errors).sum()) / errors.size) if np.isfinite(errors).all() else None
    )


def _held_out(lines: tuple[Mapping[str, Json], ...]) -> HeldOut | None:
    found = curve(lines, "eval/success", "success")
    if not found:
        return None
    errors = {line["update"]: line.get("eval/success_se") for line in lines}
    first, last = int(found.updates[0]), int(found.updates[-1])
    return HeldOut(
        first=float(found.values[0]),
        last=float(found.values[-1]),
        first_se=errors[first] if number(errors[first]) else None,
        last_se=errors[last] if number(errors[last]) else None,
        first_update=first,
        last_update=last,
        evaluations=found.values.size,
    )


def _total(lines: tuple[Mapping[str, Json], ...], key: str) -> int | None:
    found = [line[key] for line in lines if number(line.get(key))]
    return int(found[-1]) if found else None


def _times(record: RunRecord) -> tuple[float | None, float | None]:
    walls = [e["wall_s"] for e in record.of_kind("times") if number(e.get("wall_s"))]
    parts = {found.name: float(found.values.sum()) for found in times(record)}
    wall = float(sum(walls)) if walls else sum(parts.values()) or None
    return wall, parts.get("model")


def sentences(found: Figures) -> tuple[str, ...]:
    """Return the figures in words, one sentence each, without those that are not there."""
    return tuple(_sentences(found))


def _sentences(it: Figures) -> Iterator[str]:
    if it.held_out is not None:
        yield _held_out_words(it.held_out)
    if it.success is not None:
        yield f"The agent won {_moved(it.success)} of its episodes without the hint."
    if it.success_hinted is not None:
        yield f"With the hint it won {_moved(it.success_hinted)}."
    if it.regret is not None:
        error = f" (standard error {it.regret_se:.3f})" if it.regret_se is not None else ""
        yield (
            f"Regret averaged {it.regret.first:.3f} in the first quarter of the updates that "
            f"measured it, and {it.regret.last:.3f} in the last{error}."
        )
    if it.level_accepted is not None:
        moved = _numbers(it.level_accepted)
        yield f"The level at which new environments are neither sure nor lost went {moved}."
    if it.designed:
        yield (
            f"{it.accepted:,} of {it.designed:,} programs became environments "
            f"({percent(it.accepted / it.designed)})."
        )
    if it.agent_episodes is not None and it.generated_tokens is not None:
        yield (
            f"It spent {it.agent_episodes:,} episodes and {it.generated_tokens:,} sampled tokens; "
            "both arms and both roles, evaluation not counted."
        )
    if it.wall_s is not None:
        model = f", {percent(it.model_share)} of it in the model" if it.model_share else ""
        yield f"Its updates took {duration(it.wall_s)}{model}."
    if it.fault_share:
        yield (
            f"Environments broke {percent(it.fault_share)} of the episodes; these carry no reward."
        )


def _held_out_words(it: HeldOut) -> str:
    if it.evaluations == 1:
        return f"Held-out success is {percent(it.last)}{_pm(it.last_se)}, measured once."
    noise = _noise(it)
    if noise is not None and noise[0] <= 0.0 <= noise[1]:
        ends = f"{100 * noise[0]:+.1f} to {100 * noise[1]:+.1f}"
        return (
            f"Held-out success was {percent(it.first)}{_pm(it.first_se)} at update "
            f"{it.first_update} and {percent(it.last)}{_pm(it.last_se)} at update "
            f"{it.last_update}: no more apart than evaluations are by chance "
            f"(95 % interval of the change {ends} points)."
        )
    return (
        f"Held-out success went from {percent(it.first)}{_pm(it.first_se)} to "
        f"{percent(it.last)}{_pm(it.last_se)} (updates {it.first_update} and {it.last_update})."
    )


def _noise(it: HeldOut) -> Interval | None:
    """Return the 95 % interval of the change; None if nothing tells how many episodes there were.

    The records hold no episode alone, so it is that of unpaired ones, which is rather too wide.
    """
    first, last = _episodes(it.first, it.first_se), _episodes(it.last, it.last_se)
    if not (first or last):
        return None
    first, last = first or last, last or first  # both evaluations play the same instances
    return gain_interval((round(it.first * first), first), (round(it.last * last), last))


def _episodes(rate: float, error: float | None) -> int:
    """Return the episodes that a rate of this standard error is of; 0 if it does not tell."""
    return round(1 + rate * (1 - rate) / error**2) if error and 0 < rate < 1 else 0


def _pm(error: float | None) -> str:
    return f" ± {100 * error:.1f}" if error is not None else ""


def _moved(it: Change) -> str:
    return f"{percent(it.first)} at first and {percent(it.last)} at last"


def _numbers(it: Change) -> str:
    return f"from {it.first:.2f} to {it.last:.2f}"


def duration(seconds: float) -> str:
    """Return such as `42 s`, `3 min 20 s` or `2 h 5 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
