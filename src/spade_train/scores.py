"""Designer scores by name: one number per completion of the designer, with what it is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from spade_train.errors import DataError
from spade_train.frontier import FrontierSettings, frontier_terms, is_feasible
from spade_train.measure import Measurement
from spade_train.potential import Potential
from spade_train.rewards import plateau, regret_term

ScoreName: TypeAlias = Literal["regret", "blend", "solve_rate", "learning_potential", "frontier"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreSettings:
    """Which score, and its constants; the defaults are the published ones where there are any."""

    name: ScoreName = "blend"
    regret_weight: float = 0.4
    plateau_weight: float = 0.6
    regret_scale: float = 0.15
    """Regret that earns the full term of `blend`, > 0."""
    band_low: float = 0.4
    band_high: float = 0.6
    band_ramp: float = 0.25
    """Band of success rates that earns the full plateau, and the width of its slopes."""
    shrink: bool = False
    """Whether `regret` and `blend` draw the regret to 0 by what noise explains (ours)."""
    guard: bool = True
    """Whether regret counts only for environments won without the hint, above chance, on some
    level, and whose hints passed their gates (ours; the published scores take any regret)."""
    published_order: bool = False
    """Whether `learning_potential` moves its averages before it reads them, as published."""
    invalid_score: float | None = -0.5
    """For a program that was refused; None leaves it untrained, as published."""
    fault_score: float | None = -0.5
    """For an environment that breaks too often while played; None leaves it untrained."""
    max_fault_share: float = 0.1
    """Broken episodes per episode that are forgiven, in [0, 1]."""
    frontier: FrontierSettings = field(default_factory=FrontierSettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What a completion of the designer earned."""

    value: float | None
    """None: not scored, so the sample is masked and counts in no baseline."""
    reason: str = ""
    """Why it is not an ordinary score; empty for one that is."""
    terms: Mapping[str, float] = field(default_factory=dict)
    """The parts, for logs."""


def designer_scores(
    measurements: Sequence[Measurement | None],
    settings: ScoreSettings,
    potential: Potential | None = None,
) -> tuple[tuple[Score, ...], Potential]:
    """Return one score per completion, and the moving averages after this batch.

    The scores are `regret`: max(0, regret); `blend`: 0.4 of the clipped regret and 0.6 of the
    plateau of the success rate; `solve_rate`: the plateau alone; `learning_potential`: the distance
    of the environment's success rate from the slow average of its skill; `frontier`: see there. A
    regret that is missing, or that the guard does not admit, counts 0, and the reason says so.

    Args:
        measurements: what was measured of each environment; None for a refused program.
        settings: the score and its constants.
        potential: the moving averages so far; every score moves them.

    Returns:
        Scores in the order of the measurements, in [0, 1] but for refused programs and faults.

    Raises:
        DataError: the name is unknown or a constant is out of range.

    Source: published implementation, environment reward variants (reference 5.3); `frontier` and
        the scores of refused and broken programs are ours.
    """
    potential = potential or Potential()
    rates = _skill_rates(
        [each for each in measurements if each is not None and not _broken(each, settings)]
    )
    moved = potential.updated(rates)
    means = (moved if settings.published_order else potential).means
    # A skill that is new has no past: its baseline is this batch, as in the published first update.
    baseline = {skill: means[skill].slow if skill in means else rates[skill] for skill in rates}
    scores = tuple(_score(each, settings, baseline) for each in measurements)
    return scores, moved


def _score(
    measurement: Measurement | None, settings: ScoreSettings, baseline: Mapping[str, float]
) -> Score:
    if measurement is None:
        return Score(value=settings.invalid_score, reason="refused")
    if _broken(measurement, settings):
        share = {"fault_share": measurement.fault_share}
        return Score(value=settings.fault_score, reason="faults", terms=share)
    rate = measurement.success.rate
    if rate is None:
        return Score(value=None, reason="not played")
    reason = _objection(measurement, settings)
    logged, regret = {"success": rate}, 0.0
    if measurement.regret is not None:
        logged["measured_regret"] = measurement.regret.mean
        if not reason:
            regret = measurement.regret.shrunk() if settings.shrink else measurement.regret.mean
    terms = _terms(measurement, rate, regret, settings, baseline)
    return Score(value=terms.pop("score"), reason=reason, terms={**logged, **terms})


def _objection(measurement: Measurement, settings: ScoreSettings) -> str:
    """Return why the regret does not count; empty if it does, or if the score has none."""
    if settings.name not in ("regret", "blend", "frontier"):
        return ""
    if measurement.regret is None:
        return "no regret"
    if not settings.guard:
        return ""
    if measurement.hint is not None and not measurement.hint.withheld:
        return "the hint tells the answer"
    if not is_feasible(measurement, settings.frontier.feasible_success):
        return "not won without the hint"
    return ""


def _terms(
    measurement: Measurement,
    rate: float,
    regret: float,
    settings: ScoreSettings,
    baseline: Mapping[str, float],
) -> dict[str, float]:
    clipped = regret_term(regret, scale=settings.regret_scale)
    band = plateau(rate, low=settings.band_low, high=settings.band_high, ramp=settings.band_ramp)
    if settings.name == "regret":
        return {"score": max(0.0, regret), "regret": regret}
    if settings.name == "blend":
        score = settings.regret_weight * clipped + settings.plateau_weight * band
        return {"score": score, "regret": regret, "regret_term": clipped, "plateau": band}
    if settings.name == "solve_rate":
        return {"score": band, "plateau": band}
    if settings.name == "learning_potential":
        usual = baseline[measurement.skill]
        return {"score": abs(rate - usual), "baseline": usual}
    if settings.name == "frontier":
        return {"regret": regret, **frontier_terms(measurement, settings.frontier)}
    raise DataError(f"unknown designer score {settings.name!r}")


def _broken(measurement: Measurement, settings: ScoreSettings) -> bool:
    return measurement.fault_share > settings.max_fault_share


def _skill_rates(measurements: Sequence[Measurement]) -> dict[str, float]:
    rates: dict[str, list[float]] = {}
    for each in measurements:
        if each.success.rate is not None:
            rates.setdefault(each.skill, []).append(each.success.rate)
    return {skill: sum(values) / len(values) for skill, values in rates.items()}
