"""The arms of a study as curves over what they spent: means over seeds with standard errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from spade_envs.types import Json
from spade_train.reports import RunRecord
from spade_train.reports.panels import Panel
from spade_train.reports.series import Curve, number
from spade_train.types import Floats

BINS = 24
"""Parts of the cost by which numbers of single updates are averaged."""
_COST = "budget/agent_episodes"
_ABOUT = "Mean over seeds; the band is one standard error over seeds. "


def study_panels(records: Mapping[str, Sequence[RunRecord]]) -> tuple[Panel, ...]:
    """Return the plots of a study.

    Args:
        records: the finished runs of every arm.
    """
    return tuple(_panels(records))


def _panels(records: Mapping[str, Sequence[RunRecord]]) -> Iterator[Panel]:
    yield Panel(
        name="study-held-out",
        title="Held-out success",
        about=_ABOUT + "Same instances for every run and evaluation.",
        curves=_kept(evaluated(arm, runs) for arm, runs in records.items()),
        unit="share",
        across="agent episodes",
        missing="No run has finished.",
    )
    for name, key, title, about in (
        ("regret", "agent/regret", "Regret", "Arms without hints have none."),
        ("success", "agent/success", "Success without the hint", "On what each arm plays itself."),
        (
            "level",
            "designer/level_mean",
            "Level of new environments",
            "Where the agent is neither sure nor lost.",
        ),
        ("solutions", "designer/solution_words", "Words of solutions", "Of new environments."),
        ("played", "agent/level_mean", "Mean level played", ""),
        ("entropy", "train/entropy", "Entropy", "Mean over the trained tokens, in nats."),
        ("difference", "train/logp_difference", "Sampler against trainer", ""),
    ):
        yield Panel(
            name=f"study-{name}",
            title=title,
            about=_ABOUT + about,
            curves=_kept(binned(arm, runs, key) for arm, runs in records.items()),
            unit="share" if name == "success" else "number",
            across="agent episodes",
            missing="No finished run has measured it.",
        )


def _kept(curves: Iterator[Curve]) -> tuple[Curve, ...]:
    return tuple(found for found in curves if found)


def evaluated(arm: str, runs: Sequence[RunRecord]) -> Curve:
    """Return held-out success by number of the evaluation, as many as every run has.

    The last evaluation of each run is the last point, whatever its number.
    """
    rows = [_points(record.metrics, "eval/success") for record in runs]
    rows = [row for row in rows if row]
    least = min(map(len, rows), default=0)
    ends = [[*row[: least - 1], row[-1]] for row in rows]
    table = np.array(ends, dtype=np.float64).reshape(len(ends), least, 2)
    return _mean(arm, table[:, :, 0].mean(axis=0) if len(ends) else np.zeros(0), table[:, :, 1])


def binned(arm: str, runs: Sequence[RunRecord], key: str) -> Curve:
    """Return a metric by cost: each seed's mean in each bin, then the mean over seeds.

    Bins that a seed has no number in are left out.
    """
    rows = [points for record in runs if (points := _points(record.metrics, key))]
    if not rows:
        return Curve(arm, np.zeros(0), np.zeros(0))
    top = min(row[-1][0] for row in rows)
    edges = np.linspace(0.0, top, BINS + 1)
    table = np.full((len(rows), BINS), np.nan)
    for place, row in enumerate(rows):
        costs, values = np.array(row, dtype=np.float64).T
        bins = np.clip(np.searchsorted(edges, costs, side="left") - 1, 0, BINS - 1)
        for each in np.unique(bins[costs <= top]):
            table[place, each] = values[(bins == each) & (costs <= top)].mean()
    whole = np.isfinite(table).all(axis=0)
    return _mean(arm, (0.5 * (edges[1:] + edges[:-1]))[whole], table[:, whole])


def _points(lines: Sequence[Mapping[str, Json]], key: str) -> list[tuple[float, float]]:
    """Return pairs of cost and value; an evaluation before the first update has cost 0."""
    found, cost = [], 0.0
    for line in lines:
        after = float(line[_COST]) if number(line.get(_COST)) else cost
        if number(line.get(key)):
            # Evaluations are made before the update whose line holds them.
            found.append((cost if key.startswith("eval/") else after, float(line[key])))
        cost = after
    return found


def _mean(arm: str, costs: Floats, table: Floats) -> Curve:
    if not table.size:
        return Curve(arm, np.zeros(0), np.zeros(0))
    seeds = table.shape[0]
    errors = table.std(axis=0, ddof=1) / np.sqrt(seeds) if seeds > 1 else None
    return Curve(arm, costs, table.mean(axis=0), errors)
