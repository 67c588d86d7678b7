"""Which stored environments a new one is made of, and what the designer is told of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from spade_envs.design.brief import SUCCESS_HIGH, SUCCESS_LOW, derive_seed
from spade_envs.design.modes import PARENTS
from spade_envs.errors import StoreError
from spade_envs.memory import Memory
from spade_envs.store import EnvStore
from spade_envs.store.plays import Cell, Figures, PlayReader
from spade_envs.types import EnvSource, Mode, Record

MIN_PLAYS = 4
"""Fewer plays say nothing about how hard an environment is."""

_TELLING = frozenset({"L3.1", "L3.3", "L3.4", "L3.5", "L4.2"})
"""Gates that measure how an environment is won: by its reference, and by who knows nothing."""
_MAX_FACTS = 12
_MAX_FACT_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Environments that may become parents, with what is known of them."""

    records: Sequence[Record]
    figures: Mapping[str, Figures]
    children: Mapping[str, int]
    """How often each was taken already, by digest."""
    seed: int
    named: bool = False
    """Whether the user chose them, so that no figures are asked of them."""


def choose_parents(
    mode: Mode,
    among: Candidates,
    source: Callable[[Record], EnvSource | None],
    memory: Memory | None,
) -> tuple[Record, ...]:
    """Return the parents for a mode: as many as it takes, or none where too few suit it.

    Those that were taken least come first; then, to `mutate` and `cross`, those of the greatest
    regret that were won neither too rarely nor too often, then those that nobody played; to
    `harden` the ones won most, to `ease` the ones won least. The second parent of `cross` is of
    the first one's kind, and as unlike it as there is.

    Args:
        mode: one that takes parents.
        among: what to choose from.
        source: gives the source of an environment; None if it cannot be shown.
        memory: tells likeness; without it, the second parent is the next one.
    """
    ranked = sorted(_ranked(mode, among), key=lambda pair: pair[0])
    pool = (record for _, record in ranked if source(record) is not None)
    first = next(pool, None)
    if first is None:
        return ()
    if PARENTS[mode] == 1:
        return (first,)
    others = [record for record in pool if record.kind == first.kind]
    if not others:
        return ()
    return first, min(others, key=lambda other: _likeness(memory, first, other))


def short_source(store: EnvStore, record: Record, *, limit: int | None) -> EnvSource | None:
    """Return a source that can be shown to a designer; None if it cannot be read or is too long.

    Args:
        store: that holds it.
        record: which.
        limit: its greatest length in characters; None for any.
    """
    try:
        source = store.source(record)
    except StoreError:
        return None
    return None if limit is not None and len(source.code) > limit else source


def facts_of(store: EnvStore, record: Record, plays: PlayReader) -> tuple[str, ...]:
    """Return what a designer is told of a parent, one line each: plays, levels, gates."""
    facts = [f"It exercises {', '.join(record.skills)}."] if record.skills else []
    found = plays.figures().get(record.digest)
    if found is None or not found.plays:
        facts.append("Nobody has played it yet.")
    else:
        low, high = found.success_interval
        facts.append(
            f"Won in {found.successes} of {found.plays} plays "
            f"(95 % interval {low:.0%} to {high:.0%})."
        )
        if found.hinted:
            facts.append(f"With its hint: {found.hinted_successes} of {found.hinted}.")
        facts += _by_level(record.digest, plays.cells())
    try:
        results = store.report(record).results
    except StoreError:
        results = ()
    facts += [
        f"Gate {result.gate} ({result.title}): {result.message}."
        for result in results
        if result.outcome == "warn" or (result.gate in _TELLING and result.outcome == "pass")
    ]
    return tuple(" ".join(fact.split())[:_MAX_FACT_CHARS] for fact in facts[:_MAX_FACTS])


def _ranked(mode: Mode, among: Candidates) -> Iterable[tuple[tuple[float, ...], Record]]:
    """Yield those that suit the mode, each with what it is ordered by."""
    for record in among.records:
        found = among.figures.get(record.digest)
        played = found is not None and found.plays >= MIN_PLAYS
        rate = found.success if found is not None and played else None
        regret = found.regret if found is not None and played else None
        if (worth := _worth(mode, rate, regret, named=among.named)) is None:
            continue
        chance = derive_seed("parent", among.seed, record.digest)
        yield (among.children.get(record.digest, 0), *worth, chance), record


def _worth(
    mode: Mode, rate: float | None, regret: float | None, *, named: bool
) -> tuple[float, float] | None:
    """Return what orders a parent of this success rate, least first; None if it does not suit."""
    middle = (SUCCESS_LOW + SUCCESS_HIGH) / 2
    if mode in ("harden", "ease"):
        if rate is None:
            return (1.0, 0.0) if named else None
        towards = rate if mode == "harden" else 1 - rate
        return (0.0, -towards) if named or towards > middle else None
    if rate is None:
        return (1.0, 0.0)
    good = SUCCESS_LOW <= rate <= SUCCESS_HIGH
    return (0.0 if good else 2.0, -(regret or 0.0)) if good or named else None


def _likeness(memory: Memory | None, first: Record, other: Record) -> float:
    if memory is None:
        return 0.0
    rows = [memory.vector(record.digest) for record in (first, other)]
    if rows[0] is None or rows[1] is None:
        return 1.0
    return float(rows[0] @ rows[1])


def _by_level(digest: str, cells: Mapping[Cell, Figures]) -> list[str]:
    levels: dict[int, Figures] = {}
    for cell, found in cells.items():
        if cell.digest == digest and cell.level is not None:
            before = levels.get(cell.level, Figures())
            levels[cell.level] = before.plus(found)
    told = [
        f"level {level}: {levels[level].successes} of {levels[level].plays}"
        for level in sorted(levels)
        if levels[level].plays
    ]
    return [f"By level: {'; '.join(told)}."] if told else []
