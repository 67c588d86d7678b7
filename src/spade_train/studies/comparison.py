"""The table of a study: each arm over its seeds, and the first arm against the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from spade_train.reports.figures import Figures
from spade_train.reports.series import Change
from spade_train.studies.outcome import Outcome
from spade_train.studies.plan import Study
from spade_train.studies.statistics import Interval, interval, paired
from spade_train.studies.unseen import SeedPool, smallest_pools, unseen_success

TARGET = 0.05
"""Held-out success by which the first arm is meant to lead."""
_UNSEEN = " on families that the smallest fixed pool lacks"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One arm over the seeds that it finished."""

    arm: str
    about: str
    seeds: tuple[int, ...]
    held_out: Interval | None
    start: Interval | None
    """Held-out success before the first update."""
    gain: Interval | None
    """Held-out success after the last update minus that before the first."""
    gain_lead: Interval | None
    """Gain of the first arm minus this one's, by seed; None for the first arm."""
    lead: Interval | None
    """Held-out success of the first arm minus this one's, by seed; None for the first arm."""
    unseen: Interval | None
    """Held-out success on the families that the smallest fixed pool of the seed does not hold; a
    run counts each family alike. None without a fixed pool or without such families."""
    unseen_lead: Interval | None
    """The same of the first arm minus this one's, by seed; None for the first arm."""
    success_first: Interval | None
    """Success without the hint on what the arm itself plays, over the first quarter."""
    success_last: Interval | None
    regret_first: Interval | None
    """Mean regret over the first quarter of the updates that measured it."""
    regret_last: Interval | None
    level_first: Interval | None
    """Level at which new environments are neither sure nor lost, over the first quarter."""
    level_last: Interval | None
    level_rise: Interval | None
    """Last minus first quarter, by seed."""
    acceptance: Interval | None
    agent_episodes: Interval | None
    generated_tokens: Interval | None
    updates: Interval | None
    wall_s: Interval | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRow:
    """Held-out success of every arm in one level or group."""

    group: str
    rates: Mapping[str, Interval]
    """By arm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What a study came to."""

    study: Study
    rows: tuple[Row, ...]
    groups: tuple[GroupRow, ...]
    best_baseline: str
    """The baseline with the greatest mean held-out success; empty if none is finished."""
    best_unseen: str
    """The baseline with the greatest mean success on unseen families; empty if none has any."""
    pools: tuple[SeedPool, ...]
    """The smallest fixed pool of each seed, and the families that are held out and not in it."""
    held_out_episodes: int | None
    """Held-out episodes of each run."""
    failures: tuple[str, ...] = ()
    """Runs that did not finish, and why."""

    def row(self, arm: str) -> Row | None:
        """Return the row of an arm."""
        return next((row for row in self.rows if row.arm == arm), None)


def compare(
    study: Study,
    outcomes: Sequence[Outcome],
    *,
    abouts: Mapping[str, str] | None = None,
    failures: Sequence[str] = (),
) -> Comparison:
    """Return the table of a study.

    Args:
        study: what was compared.
        outcomes: of the finished runs.
        abouts: one line for each arm.
        failures: runs that did not finish, one sentence each.
    """
    by_arm = {name: [each for each in outcomes if each.arm == name] for name in study.arms}
    pools = smallest_pools(outcomes)
    first = by_arm[study.arms[0]]
    rows = tuple(
        _row(
            name,
            (abouts or {}).get(name, ""),
            found,
            pools,
            first if name != study.arms[0] else None,
        )
        for name, found in by_arm.items()
    )
    baselines = [row for row in rows if row.arm in study.baselines]
    episodes = {each.held_out_episodes for each in outcomes if each.held_out_episodes}
    return Comparison(
        study=study,
        rows=rows,
        groups=tuple(_groups(by_arm)),
        best_baseline=_best(baselines, lambda row: row.held_out),
        best_unseen=_best(baselines, lambda row: row.unseen),
        pools=pools,
        held_out_episodes=min(episodes, default=None),
        failures=tuple(failures),
    )


def _best(rows: Sequence[Row], take: Callable[[Row], Interval | None]) -> str:
    means = {row.arm: it.mean for row in rows if (it := take(row)) is not None}
    return max(means, key=means.__getitem__, default="")


def _held_out(found: Sequence[Outcome]) -> dict[int, float]:
    return {each.seed: each.held_out for each in found}


def _starts(found: Sequence[Outcome]) -> dict[int, float]:
    return {it.seed: it.held_out_first for it in found if it.held_out_first is not None}


def _gains(found: Sequence[Outcome]) -> dict[int, float]:
    starts = _starts(found)
    return {it.seed: it.held_out - starts[it.seed] for it in found if it.seed in starts}


def _row(
    name: str,
    about: str,
    found: Sequence[Outcome],
    pools: Sequence[SeedPool],
    first: Sequence[Outcome] | None,
) -> Row:
    held, unseen = _held_out(found), unseen_success(found, pools)
    starts, gains = _starts(found), _gains(found)
    levels = [each.figures.level_accepted for each in found if each.figures.level_accepted]
    regrets = [each.figures.regret for each in found if each.figures.regret]
    successes = [each.figures.success for each in found if each.figures.success]
    acceptances = [each.figures.acceptance for each in found if each.figures.acceptance]
    return Row(
        arm=name,
        about=about,
        seeds=tuple(sorted(held)),
        held_out=interval(list(held.values())),
        start=interval(list(starts.values())),
        gain=interval(list(gains.values())),
        gain_lead=paired(_gains(first), gains) if first is not None else None,
        lead=paired(_held_out(first), held) if first is not None else None,
        unseen=interval(list(unseen.values())),
        unseen_lead=paired(unseen_success(first, pools), unseen) if first is not None else None,
        success_first=_ends(successes, lambda change: change.first),
        success_last=_ends(successes, lambda change: change.last),
        regret_first=_ends(regrets, lambda change: change.first),
        regret_last=_ends(regrets, lambda change: change.last),
        level_first=_ends(levels, lambda change: change.first),
        level_last=_ends(levels, lambda change: change.last),
        level_rise=_ends(levels, lambda change: change.last - change.first),
        acceptance=_ends(acceptances, lambda change: change.last),
        agent_episodes=_of(found, lambda it: it.agent_episodes),
        generated_tokens=_of(found, lambda it: it.generated_tokens),
        updates=_of(found, lambda it: it.updates),
        wall_s=_of(found, lambda it: it.wall_s),
    )


def _ends(changes: Sequence[Change], end: Callable[[Change], float]) -> Interval | None:
    return interval([end(change) for change in changes])


def _of(found: Sequence[Outcome], take: Callable[[Figures], float | None]) -> Interval | None:
    values = [take(each.figures) for each in found]
    return interval([float(value) for value in values if value is not None])


def _groups(by_arm: Mapping[str, Sequence[Outcome]]) -> Iterator[GroupRow]:
    names = list(
        dict.fromkeys(name for found in by_arm.values() for each in found for name in each.groups)
    )
    for name in names:
        rates = {
            arm: interval([each.groups[name] for each in found if name in each.groups])
            for arm, found in by_arm.items()
        }
        kept = {arm: rate for arm, rate in rates.items() if rate is not None}
        yield GroupRow(group=name, rates=kept)


def verdicts(found: Comparison) -> tuple[str, ...]:
    """Return what the table says about the first arm, one sentence each, the bad news too."""
    return tuple(_verdicts(found))


def _verdicts(found: Comparison) -> Iterator[str]:
    first = found.rows[0]
    if first.held_out is None:
        yield f"No run of {first.arm} has finished, so nothing can be said."
        return
    where = ""
    if found.best_unseen:
        yield from _leads(found, found.best_unseen, lambda row: row.unseen_lead, _UNSEEN)
        where = " on all held-out families"
    elif found.pools:
        yield "The smallest fixed pools hold every held-out family, so none is unseen."
    yield from _leads(found, found.best_baseline, lambda row: row.lead, where)
    if first.gain is not None:
        change = points(first.gain)
        yield f"{first.arm}: held-out success changed by {change} from before training to its end."
    if first.regret_last is not None:
        regret = first.regret_last
        word = "stays positive" if regret.above_zero else "is not above zero beyond doubt"
        yield f"{first.arm}: regret {word}; in the last quarter it is {plain(regret, 3)}."
    if first.level_rise is not None:
        rise = first.level_rise
        word = "rises" if rise.above_zero else "falls" if rise.below_zero else "shows no clear move"
        yield f"{first.arm}: the level of new environments {word}, by {plain(rise, 2)}."


def _leads(
    found: Comparison, best: str, take: Callable[[Row], Interval | None], where: str
) -> Iterator[str]:
    for name in (best, *(other for other in found.study.baselines if other != best)):
        row = found.row(name)
        if row is not None and (by := take(row)) is not None:
            which = f"{name} (the best baseline)" if name == best else name
            yield _lead_words(found.rows[0].arm, which, by, where)


def _lead_words(first: str, which: str, lead: Interval, where: str) -> str:
    if lead.above_zero:
        least = "" if lead.mean >= TARGET else f", but by less than {100 * TARGET:.0f} points"
        return f"{first} leads {which}{where}{least}: {points(lead)}."
    if lead.below_zero:
        return f"{first} trails {which}{where}: {points(lead)}."
    return f"{first} and {which} are not told apart{where}: {points(lead)}."


def lead(it: Interval | None) -> str:
    """Return an interval of shares as points, `+7.0 [+6.1, +7.9]`; empty for none."""
    if it is None:
        return ""
    if it.low is None or it.high is None:
        return f"{100 * it.mean:+.1f}"
    return f"{100 * it.mean:+.1f} [{100 * it.low:+.1f}, {100 * it.high:+.1f}]"


def points(it: Interval) -> str:
    """Return an interval of shares as percentage points."""
    if it.low is None:
        return f"{lead(it)} points (one seed, no interval)"
    return lead(it).replace(" ", " points ", 1)


def plain(it: Interval | None, digits: int) -> str:
    """Return an interval as `0.120 [0.100, 0.140]`; `–` for none."""
    if it is None:
        return "–"
    if it.low is None or it.high is None:
        return f"{it.mean:.{digits}f}"
    return f"{it.mean:.{digits}f} [{it.low:.{digits}f}, {it.high:.{digits}f}]"


def share(it: Interval | None) -> str:
    """Return an interval of shares as `43.2 % [40.1, 46.3]`; `–` for none."""
    if it is None:
        return "–"
    if it.low is None or it.high is None:
        return f"{100 * it.mean:.1f} %"
    return f"{100 * it.mean:.1f} % [{100 * it.low:.1f}, {100 * it.high:.1f}]"


def count(it: Interval | None) -> str:
    """Return the mean of whole numbers as `12,345`; `–` for none."""
    return "–" if it is None else f"{it.mean:,.0f}"
