"""What briefs show of earlier environments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from spade_envs.design.modes import PARENTS
from spade_envs.types import Mode
from spade_train.config.sources import Memory
from spade_train.loop.state import Remembered


def remember(
    memory: Sequence[Remembered], scored: Iterable[Remembered], size: int
) -> tuple[Remembered, ...]:
    """Return the memory with what was scored now; the oldest beyond `size` go.

    An environment that is remembered already is moved to the end with its new figures.
    """
    kept = {each.digest: each for each in memory}
    for each in scored:
        kept.pop(each.digest, None)
        kept[each.digest] = each
    return tuple(kept.values())[-size:]


def examples(
    memory: Sequence[Remembered], settings: Memory, skill: str, rng: np.random.Generator
) -> tuple[str, ...]:
    """Return digests of environments of a skill that turned out well.

    Drawn from those with the greatest regret among the ones that are neither too easy nor too hard.
    """
    good = [
        each
        for each in memory
        if each.skill == skill and settings.low <= each.success <= settings.high
    ]
    best = sorted(good, key=lambda each: -each.regret)[: settings.top]
    return tuple(each.digest for each in _drawn(best, settings.examples, rng))


def warnings(
    memory: Sequence[Remembered], settings: Memory, skill: str, rng: np.random.Generator
) -> tuple[str, ...]:
    """Return one line each on environments of a skill that were too easy or too hard."""
    bad = [
        each
        for each in memory
        if each.skill == skill
        and (each.success < settings.avoid_low or each.success > settings.avoid_high)
    ]
    return tuple(_line(each, settings) for each in _drawn(bad, settings.avoid, rng))


def parents(
    memory: Sequence[Remembered],
    settings: Memory,
    mode: Mode,
    skill: str,
    rng: np.random.Generator,
) -> tuple[Remembered, ...]:
    """Return what a new environment is made of, as much as the mode takes; none if too little is.

    `harden` takes what was won most, `ease` what was won least, each beyond the middle of what is
    good; the others take what turned out well.
    """
    mine = [each for each in memory if each.skill == skill]
    middle = (settings.low + settings.high) / 2
    if mode == "harden":
        pool = sorted((e for e in mine if e.success > middle), key=lambda e: -e.success)
    elif mode == "ease":
        pool = sorted((e for e in mine if e.success < middle), key=lambda e: e.success)
    else:
        good = [e for e in mine if settings.low <= e.success <= settings.high]
        pool = sorted(good, key=lambda e: -e.regret)
    drawn = _drawn(pool[: settings.top], PARENTS[mode], rng)
    return drawn if len(drawn) == PARENTS[mode] else ()


def facts(each: Remembered) -> tuple[str, ...]:
    """Return what a designer is told of a parent, one line each."""
    won = f"Won in {each.success:.0%} of the plays without its hint."
    if not each.regret:  # or it was not measured
        return (won,)
    change = "raised" if each.regret > 0 else "lowered"
    points = f"{abs(each.regret) * 100:.0f}"
    return won, f"The hint {change} the share of plays that were won by {points} points."


def _drawn(
    pool: Sequence[Remembered], count: int, rng: np.random.Generator
) -> tuple[Remembered, ...]:
    places = rng.permutation(len(pool))[:count]
    return tuple(pool[int(place)] for place in places)


def _line(each: Remembered, settings: Memory) -> str:
    what = "too hard" if each.success < settings.avoid_low else "too easy"
    named = ": ".join(text for text in (each.title, each.summary) if text) or "an environment"
    return f"{named} ({what}: won in {each.success:.0%} of the plays)"
