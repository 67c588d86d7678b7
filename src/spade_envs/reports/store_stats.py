"""What a store holds, in figures: counts, refusals, how varied it is, what plays came to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from spade_envs._version import __version__
from spade_envs.intervals import wilson
from spade_envs.memory.memory import Memory
from spade_envs.novelty.diversity import SAMPLE, Diversity, diversity
from spade_envs.reports.charts import histogram, share_bar
from spade_envs.reports.figures import Interval, Series, levels_chart, symbol
from spade_envs.reports.page import environment
from spade_envs.store.plays import INSTANCE, Cell, Figures
from spade_envs.store.rejected import Refused
from spade_envs.types import Json, Record

MAX_POLICIES = 6
"""Players with a chart of their own, those with most plays first."""
QUANTILES = (0.0, 0.1, 0.5, 0.9, 1.0)
_RATE_BINS, _REGRET_BINS = 10, 20

Counts = tuple[tuple[str, int], ...]
"""Names and numbers, the greatest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """What one player won at each level, over all environments together."""

    policy: str
    plays: int
    hinted: int
    plain: Mapping[int, Interval]
    """By level: mean and ends of the 95 % interval of success without the hint."""
    with_hint: Mapping[int, Interval]
    regret: Mapping[int, Interval]
    """By level: success with the hint minus success without, of environments played both ways."""

    def as_json(self) -> dict[str, Json]:
        """Return the curve as plain JSON."""
        return {
            "policy": self.policy,
            "plays": self.plays,
            "hinted": self.hinted,
            "success": {str(level): list(rate) for level, rate in self.plain.items()},
            "hinted_success": {str(level): list(rate) for level, rate in self.with_hint.items()},
            "regret": {str(level): list(gain) for level, gain in self.regret.items()},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What the ledgers say about the environments of a store."""

    environments: int
    """Those with a play."""
    success: tuple[float, ...]
    """Share of plays without the hint that were won, of each environment, ascending."""
    regret: tuple[float, ...]
    """Success with the hint minus success without, of each where both are known, ascending."""
    curves: tuple[Curve, ...]
    """Of players whose plays tell their level."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStats:
    """Everything that `spade-envs stats` shows."""

    store: str
    embedder: str
    environments: int
    """In use, each content once."""
    withdrawn: int
    skills: Counts
    kinds: Counts
    levels: Counts
    licences: Counts
    families: Counts
    """First environment of each shape of program, and how many have it (`shape_hash`)."""
    refused: Counts
    """Refused designs that are kept, by gate or by stage."""
    diversity: Diversity
    played: Played

    @property
    def acceptance(self) -> float | None:
        """Share of environments in all designs that are kept; None where none is refused."""
        refused = sum(number for _, number in self.refused)
        return self.environments / (self.environments + refused) if refused else None

    def as_json(self) -> dict[str, Json]:
        """Return the figures as plain JSON."""
        varied, played = self.diversity, self.played
        counted = ("skills", "kinds", "levels", "licences")
        return {
            "store": self.store,
            "embedder": self.embedder,
            "environments": self.environments,
            "withdrawn": self.withdrawn,
            **{name: dict(getattr(self, name)) for name in counted},
            "families": {"count": len(self.families), "largest": dict(self.families[:10])},
            "designs": {"acceptance": self.acceptance, "refused": dict(self.refused)},
            "diversity": {
                "vendi": varied.vendi,
                "sample": varied.sample,
                "environments": varied.environments,
                "left_out": varied.left_out,
                "nearest": {f"{q:g}": varied.quantile(q) for q in QUANTILES},
                "nearest_mean": varied.mean,
                "histogram": list(varied.histogram),
            },
            "plays": {
                "environments": played.environments,
                "success": list(played.success),
                "regret": list(played.regret),
                "curves": [curve.as_json() for curve in played.curves],
            },
        }


def stats_of(
    memory: Memory,
    *,
    cells: Mapping[Cell, Figures],
    refused: Sequence[Refused],
    shapes: Mapping[str, str],
) -> StoreStats:
    """Return the figures of a store.

    Args:
        memory: of the store, refreshed before.
        cells: what plays came to.
        refused: the designs that it keeps as refused.
        shapes: by digest, what is equal for environments of one family.
    """
    in_use: dict[str, Record] = {}
    withdrawn = 0
    for record in memory.store.records():
        withdrawn += record.withdrawn is not None
        if record.withdrawn is None:
            in_use.setdefault(record.digest, record)
    records = list(in_use.values())
    digests = sorted(record.digest for record in memory.records)
    return StoreStats(
        store=str(memory.store.root),
        embedder=str(memory.fingerprint),
        environments=len(records),
        withdrawn=withdrawn,
        skills=_counts(skill for r in records for skill in (r.skills or ("none",))),
        kinds=_counts(record.kind for record in records),
        levels=_counts(str(record.levels) for record in records),
        licences=_counts(record.licence for record in records),
        families=_families(records, shapes),
        refused=_counts(item.gate or item.stage for item in refused),
        diversity=diversity(memory.rows(digests), without=len(records) - len(digests)),
        played=played_of({cell: f for cell, f in cells.items() if cell.digest in in_use}),
    )


def played_of(cells: Mapping[Cell, Figures]) -> Played:
    """Return what plays came to, by environment, and by player and level.

    Hinted plays count where the hint was the environment's own: regrets over several kinds of hint
    do not mix.
    """
    by_digest: dict[str, Figures] = {}
    hinted: dict[str, Figures] = {}
    by_level: dict[str, dict[int, Figures]] = {}
    both_ways: dict[str, dict[int, Figures]] = {}
    for cell, figures in sorted(cells.items(), key=lambda item: item[0].digest):
        own = cell.hint == INSTANCE
        by_digest[cell.digest] = by_digest.get(cell.digest, Figures()).plus(figures)
        if own:
            hinted[cell.digest] = hinted.get(cell.digest, Figures()).plus(figures)
        if cell.level is not None:
            levels = by_level.setdefault(cell.policy, {})
            told = figures if own else Figures(plays=figures.plays, successes=figures.successes)
            levels[cell.level] = levels.get(cell.level, Figures()).plus(told)
            if told.plays and told.hinted:
                levels = both_ways.setdefault(cell.policy, {})
                levels[cell.level] = levels.get(cell.level, Figures()).plus(told)
    rates = (figures.success for figures in by_digest.values())
    regrets = (figures.regret for figures in hinted.values())
    curves = [
        _curve(policy, levels, both_ways.get(policy, {})) for policy, levels in by_level.items()
    ]
    return Played(
        environments=len(by_digest),
        success=tuple(sorted(rate for rate in rates if rate is not None)),
        regret=tuple(sorted(regret for regret in regrets if regret is not None)),
        curves=tuple(sorted(curves, key=lambda one: (-one.plays - one.hinted, one.policy))),
    )


def _curve(policy: str, levels: Mapping[int, Figures], both: Mapping[int, Figures]) -> Curve:
    found = sorted(levels.items())
    return Curve(
        policy=policy,
        plays=sum(figures.plays for _, figures in found),
        hinted=sum(figures.hinted for _, figures in found),
        plain={n: (f.successes / f.plays, *wilson(f.successes, f.plays))
               for n, f in found if f.plays},
        with_hint={n: (f.hinted_successes / f.hinted, *wilson(f.hinted_successes, f.hinted))
                   for n, f in found if f.hinted},
        regret={n: (f.regret, *f.regret_interval) for n, f in sorted(both.items())
                if f.regret is not None and f.regret_interval is not None},
    )  # fmt: skip


def _counts(names: Iterable[str]) -> Counts:
    return tuple(sorted(Counter(names).items(), key=lambda item: (-item[1], item[0])))


def _families(records: Sequence[Record], shapes: Mapping[str, str]) -> Counts:
    members: dict[str, list[str]] = {}
    for record in records:
        if (shape := shapes.get(record.digest)) is not None:
            members.setdefault(shape, []).append(record.id)
    found = [(min(ids), len(ids)) for ids in members.values()]
    return tuple(sorted(found, key=lambda item: (-item[1], item[0])))


def render_stats(found: StoreStats, *, made_at: str) -> str:
    """Return the figures as one HTML document without scripts, UTF-8 when encoded.

    Args:
        found: what to show.
        made_at: when it was made, as text for people.
    """
    played, varied = found.played, found.diversity
    rates, _ = np.histogram(played.success, bins=_RATE_BINS, range=(0.0, 1.0))
    regrets, _ = np.histogram(played.regret, bins=_REGRET_BINS, range=(-1.0, 1.0))
    tables = [
        (title, [(name, number, share_bar(number / max(1, found.environments))) for name, number
                 in counts])
        for title, counts in (("skill", found.skills), ("kind", found.kinds),
                              ("levels", found.levels), ("licence", found.licences))
    ]  # fmt: skip
    return (
        environment()
        .get_template("stats.html")
        .render(
            made_at=made_at,
            version=__version__,
            found=found,
            tables=tables,
            sample=SAMPLE,
            nearest=histogram(varied.histogram, 0.0, 1.0, "distance to the nearest other"),
            success=histogram(rates.tolist(), 0.0, 1.0, "success without the hint"),
            regret=histogram(regrets.tolist(), -1.0, 1.0, "regret"),
            curves=[
                (curve, levels_chart(_series(curve))) for curve in played.curves[:MAX_POLICIES]
            ],
            quantiles=[(f"{100 * q:.0f} %", varied.quantile(q)) for q in QUANTILES],
            marks=[(symbol(shape), name) for shape, name in _ARMS],
        )
    )


_ARMS = (("circle", "without the hint"), ("diamond", "with the hint"))


def _series(curve: Curve) -> list[Series]:
    values = (curve.plain, curve.with_hint)
    pairs = zip(_ARMS, values, strict=True)
    return [Series(name=name, shape=shape, values=each) for (shape, name), each in pairs if each]
