"""What each plot of the page shows, as plain values: curves, units, and a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from spade_envs.types import Json
from spade_train.reports.record import RunRecord
from spade_train.reports.series import Curve, counted, curve, family_of, number, shares, smooth

Kind: TypeAlias = Literal["lines", "stack"]
Unit: TypeAlias = Literal["share", "number", "log"]

TIME_PARTS = ("model", "gates", "play", "tokens", "other")
"""Parts of an update's wall time, as the event `times` names them, each with `_s` behind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One plot."""

    name: str
    """Its anchor on the page."""
    title: str
    about: str
    """What is drawn, in one sentence."""
    curves: tuple[Curve, ...]
    faint: tuple[Curve, ...] = ()
    """The numbers of single updates behind moving means, in the same order."""
    kind: Kind = "lines"
    unit: Unit = "number"
    mark: float | None = None
    """A value at which a dashed line is drawn."""
    across: str = "update"
    """What the horizontal axis counts."""
    missing: str = ""
    """What is said in place of a plot without curves."""

    def __bool__(self) -> bool:
        """Whether there is anything to draw."""
        return any(self.curves)


def panels(record: RunRecord) -> tuple[Panel, ...]:
    """Return every plot of a run in the order of the page, those without data too."""
    lines = record.metrics
    window = max(1, len(lines) // 20)
    return (
        *_success(record, window),
        *_difficulty(record, window),
        *_programs(record, window),
        *_held_out(record),
        *_cost(record, window),
        *_health(record, window),
    )


def _smoothed(
    name: str,
    title: str,
    about: str,
    curves: Sequence[Curve],
    window: int,
    *,
    unit: Unit = "number",
    mark: float | None = None,
    missing: str,
) -> Panel:
    """Return a panel of moving means, with the single updates behind them."""
    kept = tuple(found for found in curves if found)
    means = tuple(smooth(found, window) for found in kept)
    faint = kept if window > 1 and len(kept) <= 3 else ()
    if window > 1:
        about = f"{about} Moving means over {window} updates."
    return Panel(
        name=name,
        title=title,
        about=about,
        curves=means,
        faint=faint,
        unit=unit,
        mark=mark,
        missing=missing,
    )


def _success(record: RunRecord, window: int) -> Iterator[Panel]:
    lines = record.metrics
    hintless = not record.config.hint.episodes_per_env
    without = "No hints are played in this run." if hintless else "No update has measured it yet."
    yield _smoothed(
        "regret",
        "Regret",
        "Success with the hint minus success without it on the same instances; the band is one "
        "standard error on either side.",
        [curve(lines, "agent/regret", "regret", "agent/regret_se")],
        window,
        mark=0.0,
        missing=without,
    )
    yield _smoothed(
        "success",
        "Success with and without the hint",
        "Share of episodes won in the environments of each update.",
        [
            curve(lines, "agent/success", "without the hint"),
            curve(lines, "agent/success_hinted", "with the hint"),
        ],
        window,
        unit="share",
        missing="No episode has been played yet.",
    )
    yield _smoothed(
        "success-levels",
        "Success without the hint, by level",
        "Levels are those of the environments played, so each level's environments change.",
        family_of(lines, "agent/success/level-", "level "),
        window,
        unit="share",
        missing="The run logs no success by level yet.",
    )
    yield _smoothed(
        "hinted-levels",
        "Success with the hint, by level",
        "The same instances, played with the hint.",
        family_of(lines, "agent/success_hinted/level-", "level "),
        window,
        unit="share",
        missing=without,
    )


def _difficulty(record: RunRecord, window: int) -> Iterator[Panel]:
    lines = record.metrics
    undesigned = (
        "Environments come from a fixed pool."
        if not record.config.designer.interval
        else "Nothing has been designed yet."
    )
    yield _smoothed(
        "difficulty",
        "Mean level",
        "Of new environments, where the agent is neither sure nor lost (levels weighted by "
        "4 p (1 - p)); and of the episodes that were played.",
        [
            curve(lines, "designer/level_mean", "accepted"),
            curve(lines, "agent/level_mean", "played"),
        ],
        window,
        missing="No update has measured it yet.",
    )
    yield _smoothed(
        "solutions",
        "Length of solutions",
        "Mean words of the reference solutions of new environments, which depend on these alone.",
        [curve(lines, "designer/solution_words", "words")],
        window,
        missing=undesigned,
    )
    for name, title, about, curves in (
        (
            "challenge",
            "Challenge of accepted environments",
            "What the brief asked for, as shares of what was accepted.",
            [
                curve(lines, f"designer/challenge/{word}", word)
                for word in ("easy", "medium", "hard")
            ],
        ),
        (
            "skills",
            "Skills of accepted environments",
            "As shares of what was accepted.",
            family_of(lines, "designer/skill/"),
        ),
        (
            "families",
            "Families of accepted environments",
            "Kinds of tasks that the tiny model was taught; environments without one are left out.",
            counted(_accepted(record), "family"),
        ),
    ):
        yield Panel(
            name=name,
            title=title,
            about=about,
            curves=tuple(shares(curves, window)),
            kind="stack",
            unit="share",
            missing=undesigned,
        )


def _accepted(record: RunRecord) -> list[Mapping[str, Json]]:
    return [event for event in record.of_kind("designed") if event.get("env")]


def _programs(record: RunRecord, window: int) -> Iterator[Panel]:
    lines = record.metrics
    yield _smoothed(
        "acceptance",
        "Programs that passed the gates",
        "Share of the designer's programs that became environments.",
        [curve(lines, "designer/acceptance", "accepted")],
        window,
        unit="share",
        missing="No program has been written yet.",
    )
    yield Panel(
        name="refusals",
        title="What refused programs failed",
        about="Shares of the refusals, by the first gate that failed.",
        curves=tuple(shares(_gates(lines), window)),
        kind="stack",
        unit="share",
        missing="No program has been refused.",
    )
    yield _smoothed(
        "score",
        "Designer score",
        "Mean of what the designer was paid for; refused programs included.",
        [curve(lines, "designer/score", "score"), curve(lines, "designer/regret", "regret")],
        window,
        missing="No program has been scored yet.",
    )
    yield _smoothed(
        "hints",
        "Hints",
        "Share of the reference that a hint states, and share of environments whose hints passed "
        "their gates.",
        [
            curve(lines, "hint/overlap", "overlap with the reference"),
            curve(lines, "hint/withheld", "passed the gates on hints"),
        ],
        window,
        unit="share",
        missing="No hint has been measured yet.",
    )
    yield _smoothed(
        "hint-words",
        "Words of a hint",
        "Mean length.",
        [curve(lines, "hint/words", "words")],
        window,
        missing="No hint has been measured yet.",
    )


def _gates(lines: Sequence[Mapping[str, Json]]) -> list[Curve]:
    """Return the counts of refusals; metrics are named in lower case, gates are not."""
    curves = family_of(lines, "designer/refused/")
    gate = re.compile(r"l\d+\.\d+")
    return [
        replace(found, name=found.name.upper()) if gate.fullmatch(found.name) else found
        for found in curves
    ]


def _held_out(record: RunRecord) -> Iterator[Panel]:
    lines = record.metrics
    levels = family_of(lines, "eval/success/level-", "level ")
    groups = [
        found for found in family_of(lines, "eval/success/") if not found.name.startswith("level-")
    ]
    for name, title, about, curves in (
        (
            "held-out",
            "Held-out success",
            "Instances and environments that are never trained on; the band is one standard error.",
            [curve(lines, "eval/success", "success", "eval/success_se")],
        ),
        ("held-out-levels", "Held-out success by level", "The same evaluations.", levels),
        ("held-out-groups", "Held-out success by group", "The same evaluations.", groups),
    ):
        yield Panel(
            name=name,
            title=title,
            about=about,
            curves=tuple(found for found in curves if found),
            unit="share",
            missing="There has been no such evaluation yet.",
        )


def _cost(record: RunRecord, window: int) -> Iterator[Panel]:
    lines = record.metrics
    limits = record.config.budget
    for name, title, limit in (
        ("agent_episodes", "Agent episodes so far", limits.agent_episodes),
        ("generated_tokens", "Sampled tokens so far", limits.generated_tokens),
    ):
        found = curve(lines, f"budget/{name}", title.lower())
        yield Panel(
            name=name.replace("_", "-"),
            title=title,
            about="Both arms and both roles; evaluation is not counted."
            + (f" The budget is {limit:,}." if limit else ""),
            curves=(found,) if found else (),
            mark=float(limit) if limit else None,
            missing="Nothing has been spent yet.",
        )
    yield Panel(
        name="time",
        title="Where the time goes",
        about="Shares of the wall time of each update.",
        curves=tuple(shares(times(record), window)),
        kind="stack",
        unit="share",
        missing="The run has noted no times yet.",
    )


def times(record: RunRecord) -> list[Curve]:
    """Return the seconds of each part of each update, from the events `times`."""
    events = list(record.of_kind("times"))
    found = []
    for part in TIME_PARTS:
        key = f"{part}_s"
        points = {event["update"]: event[key] for event in events if number(event.get(key))}
        updates = sorted(points)
        values = np.array([points[update] for update in updates], dtype=np.float64)
        found.append(Curve(part, np.array(updates, dtype=np.float64), values))
    return [each for each in found if each]


def _health(record: RunRecord, window: int) -> Iterator[Panel]:
    lines = record.metrics
    nothing = "No update has been trained yet."
    yield _smoothed(
        "logp-difference",
        "Sampler against trainer",
        "Mean difference of their log-probabilities; the run stops at the dashed line.",
        [curve(lines, "train/logp_difference", "difference")],
        1,
        unit="log",
        mark=record.config.health.max_logp_difference,
        missing=nothing,
    )
    for name, title, about, keys in (
        ("loss", "Loss", "Of the policy gradient, with its other terms.", {"loss": "loss"}),
        ("gradient", "Norm of the gradient", "Before it is clipped.", {"grad_norm": "norm"}),
        ("entropy", "Entropy", "Mean over the trained tokens, in nats.", {"entropy": "entropy"}),
        ("kl", "Divergence", "From the initial weights.", {"kl": "divergence"}),
    ):
        yield _smoothed(
            name,
            title,
            about,
            [curve(lines, f"train/{key}", word) for key, word in keys.items()],
            window,
            missing=nothing,
        )
    yield _smoothed(
        "masked",
        "What carries no gradient",
        "Shares of episodes that an environment broke, that ran out of room, and of groups in "
        "which all episodes ended alike.",
        [
            curve(lines, "agent/fault_share", "broken by the environment"),
            curve(lines, "agent/truncated", "cut"),
            curve(lines, "agent/flat_groups", "flat groups"),
        ],
        window,
        unit="share",
        missing="No episode has been played yet.",
    )
