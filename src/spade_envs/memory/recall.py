"""What a brief shows of earlier environments: good ones to learn from, and what not to repeat.

Good is what was won neither too rarely nor too often, and gained most by the hint (regret). Of the
best of these, those are shown that are near the passage but not near each other (maximal marginal
relevance). Everything here is a function of the memory, the figures and the settings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spade_envs.errors import ConfigError
from spade_envs.memory.embedders.base import Vectors
from spade_envs.memory.memory import Memory
from spade_envs.store.plays import Figures
from spade_envs.types import Record

Numbers = NDArray[np.floating]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """Settings of what is shown.

    Raises:
        ConfigError: the bounds are out of order or out of [0, 1].
    """

    examples: int = 2
    """Good environments to show."""
    low: float = 0.15
    high: float = 0.85
    """Share of plays won, between which an environment is good."""
    top: int = 10
    """Out of how many with the greatest regret the examples are chosen; at least three per
    example."""
    avoid: int = 4
    """Lines on what was too easy or too hard."""
    avoid_low: float = 0.1
    avoid_high: float = 0.9
    """Below it an environment is too hard, above it too easy."""
    near: int = 3
    """Lines on what is nearest to the passage and so the likeliest to be written again."""
    min_plays: int = 4
    """Fewer plays say nothing."""
    nearness: float = 0.7
    """How much nearness to the passage counts against difference from what is chosen already."""

    def __post_init__(self) -> None:
        if not 0 <= self.avoid_low <= self.low <= self.high <= self.avoid_high <= 1:
            raise ConfigError("0 <= avoid_low <= low <= high <= avoid_high <= 1 does not hold")
        if not 0 <= self.nearness <= 1:
            raise ConfigError(f"nearness must be in [0, 1], not {self.nearness}")
        if min(self.examples, self.avoid, self.near, self.top) < 0 or self.min_plays < 1:
            raise ConfigError("counts must be >= 0, and min_plays >= 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """What a brief shows of earlier environments."""

    examples: tuple[Record, ...] = ()
    avoid: tuple[str, ...] = ()
    """One line each."""


def recall(
    memory: Memory,
    figures: Mapping[str, Figures],
    *,
    skill: str,
    passage: str | None,
    settings: Recall | None = None,
) -> Material:
    """Return what to show for a brief.

    Args:
        memory: refreshed.
        figures: of the plays, by digest (`store.plays.PlayReader`).
        skill: examples, too easy and too hard ones exercise it.
        passage: what the new environment is to be about, or None.
        settings: None takes the published ones.

    Raises:
        ClientError: the embedder failed.
    """
    settings = settings or Recall()
    query = None if passage is None else memory.embed_text(passage)
    mine = [record for record in memory.records if skill in record.skills]
    played = {r.digest: f for r in mine if (f := figures.get(r.digest)) is not None}
    played = {d: f for d, f in played.items() if f.plays >= settings.min_plays}
    examples = _examples(memory, mine, played, query, settings)
    shown = {record.digest for record in examples}
    lines = _extremes(memory, mine, played, query, settings)
    if query is not None and settings.near:
        told = shown | {record.digest for record, _ in lines}
        nearest = memory.near(query, settings.near + len(told))
        fresh = [each.record for each in nearest if each.record.digest not in told]
        lines += [(record, "there already") for record in fresh[: settings.near]]
    return Material(
        examples=tuple(examples),
        avoid=tuple(dict.fromkeys(f"{describe(record)} ({why})" for record, why in lines)),
    )


def describe(record: Record) -> str:
    """Return one line on an environment: title and summary, where they say different things."""
    title, summary = (" ".join(text.split()) for text in (record.title, record.summary))
    if not summary or summary.casefold() == title.casefold():
        return title or record.id
    return f"{title}: {summary.rstrip('.')}" if title else summary.rstrip(".")


def mmr(relevance: Numbers, rows: Vectors, count: int, *, nearness: float) -> list[int]:
    """Return places of up to `count` items: each the most relevant and least like those before it.

    Args:
        relevance: of each item, shape (items,).
        rows: unit vectors, shape (items, dimension).
        count: how many to choose.
        nearness: weight of relevance in [0, 1]; the rest is that of the greatest similarity to
            what is chosen. Of equals, the first is taken.
    """
    chosen: list[int] = []
    likeness = np.full(len(relevance), -1.0)
    open_ = np.ones(len(relevance), dtype=bool)
    while len(chosen) < min(count, len(relevance)):
        penalty = np.maximum(likeness, 0.0) if not chosen else likeness
        worth = nearness * relevance - (1 - nearness) * penalty
        best = int(np.argmax(np.where(open_, worth, -np.inf)))
        chosen.append(best)
        open_[best] = False
        likeness = np.maximum(likeness, rows @ rows[best])
    return chosen


def _examples(
    memory: Memory,
    mine: Sequence[Record],
    played: Mapping[str, Figures],
    query: Vectors | None,
    settings: Recall,
) -> list[Record]:
    good = []
    for record in mine:
        found = played.get(record.digest)
        if found is None or found.success is None or found.regret is None:
            continue
        if settings.low <= found.success <= settings.high:
            good.append((-found.regret, record.digest, record))
    pool = sorted(good, key=lambda entry: entry[:2])[: max(3 * settings.examples, settings.top)]
    regrets = np.array([-entry[0] for entry in pool])
    return _chosen(
        memory, [entry[2] for entry in pool], regrets, query, settings.examples, settings
    )


def _chosen(
    memory: Memory,
    pool: Sequence[Record],
    otherwise: Numbers,
    query: Vectors | None,
    count: int,
    settings: Recall,
) -> list[Record]:
    """Choose by nearness to the passage, or by `otherwise` where there is no passage."""
    if not pool or not count:
        return []
    rows = memory.rows(record.digest for record in pool)
    relevance = otherwise if query is None or not np.any(query) else rows @ query
    places = mmr(relevance, rows, count, nearness=settings.nearness)
    return [pool[place] for place in places]


def _extremes(
    memory: Memory,
    mine: Sequence[Record],
    played: Mapping[str, Figures],
    query: Vectors | None,
    settings: Recall,
) -> list[tuple[Record, str]]:
    """Return environments that were too easy or too hard, and why each is named."""
    pool, reasons, extremes = [], {}, []
    for record in sorted(mine, key=lambda record: record.digest):
        found = played.get(record.digest)
        rate = None if found is None else found.success
        if found is None or rate is None or settings.avoid_low <= rate <= settings.avoid_high:
            continue
        what = "too hard" if rate < settings.avoid_low else "too easy"
        pool.append(record)
        extremes.append(abs(rate - 0.5))
        reasons[record.digest] = f"{what}: won in {found.successes} of {found.plays} plays"
    chosen = _chosen(memory, pool, np.array(extremes), query, settings.avoid, settings)
    return [(record, reasons[record.digest]) for record in chosen]
