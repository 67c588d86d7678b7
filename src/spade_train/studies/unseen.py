"""Held-out success on families that a fixed pool does not hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from spade_train.nano.families import FAMILIES
from spade_train.studies.outcome import Outcome

_KNOWN = tuple(family.name for family in FAMILIES)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedPool:
    """The fixed pool of one seed that holds the fewest families."""

    seed: int
    arm: str
    """Whose pool it is."""
    families: tuple[str, ...]
    """Of its programs, sorted."""
    unseen: tuple[str, ...]
    """Held-out families that it does not hold."""


def smallest_pools(outcomes: Sequence[Outcome]) -> tuple[SeedPool, ...]:
    """Return the smallest fixed pool of each seed that has one, by seed.

    Held-out families are those that every finished run of the seed was evaluated on. Pools from a
    store are not looked at, for the families of their programs are not known.

    Args:
        outcomes: of the finished runs of a study.
    """
    return tuple(_smallest(outcomes))


def _smallest(outcomes: Sequence[Outcome]) -> Iterator[SeedPool]:
    for seed in sorted({each.seed for each in outcomes}):
        runs = [each for each in outcomes if each.seed == seed]
        pooled = [each for each in runs if each.pool_families]
        if not pooled:
            continue
        least = min(pooled, key=lambda each: len(each.pool_families))
        unseen = (
            name
            for name in _KNOWN
            if name not in least.pool_families and all(name in each.groups for each in runs)
        )
        yield SeedPool(seed=seed, arm=least.arm, families=least.pool_families, unseen=tuple(unseen))


def unseen_success(outcomes: Sequence[Outcome], pools: Sequence[SeedPool]) -> dict[int, float]:
    """Return success by seed: the mean over the families that the seed's smallest pool lacks.

    Seeds without a pool, or whose pool holds every held-out family, are left out.

    Args:
        outcomes: of the finished runs of one arm.
        pools: the smallest ones.
    """
    unseen = {pool.seed: pool.unseen for pool in pools if pool.unseen}
    return {
        each.seed: sum(each.groups[name] for name in unseen[each.seed]) / len(unseen[each.seed])
        for each in outcomes
        if each.seed in unseen
    }
