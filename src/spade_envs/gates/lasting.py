"""Part of L1.8: what outlives an episode must not change a later one, however late it comes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from spade_envs.gates.finding import MAX_EXAMPLES, Finding, failed, warned
from spade_envs.gates.lane import Job, Lane, StalledError
from spade_envs.gates.policies import script
from spade_envs.gates.probes import PLAIN
from spade_envs.gates.subject import Subject
from spade_envs.gates.thresholds import LASTING_JUMPS, LASTING_LIVES, LIVES
from spade_envs.gates.trace import Trace, first_difference
from spade_envs.types import Fault, Json

Played: TypeAlias = tuple[tuple[str, ...], Trace]
_CACHE = ".cache_info()"
MORE = "\0more"
"""What a worker adds to the places if there are more than it looks at."""


def outlasting(subject: Subject) -> Finding | None:
    """Return a finding if playing leaves something behind, above all if it changes what follows.

    The same episodes are played thousands of times, in a process of its own, and far more often
    where something is seen to last. Then counters are set forward and back and containers grown,
    since millions of resets cannot be waited for.
    """
    changed = _changed(subject)
    worker = subject.sandbox.load(subject.source, limits=subject.limits)
    if isinstance(worker, Fault):
        return None
    try:
        difference, when = _later(subject, Lane(worker, deadline=subject.deadline), changed or [])
    except StalledError:
        difference, when = {}, ""
    finally:
        worker.close()
    places: list[Json] = [place for place in changed or () if "\0" not in place][:MAX_EXAMPLES]
    if difference:
        lasts = f"{places[0]} has" if places else "the environment has"
        return failed(
            f"an episode changes once {lasts} {when}; keep all state on the environment object "
            "and set it anew in reset()",
            places=places,
            difference=difference,
        )
    # A pure function may have a cache, which counts its calls and holds what it gave.
    shared = [
        place
        for place in changed or ()
        if not place.startswith("self.") and _CACHE not in place and "\0" not in place
    ]
    if shared:
        return warned(
            f"playing changes {shared[0]}, which outlives the episode; keep state on the object",
            places=places,
        )
    if changed is None:
        return warned(
            "not all that the environment's code holds could be looked through for what outlives "
            "an episode; keep less in the module and on the object"
        )
    return None


def _changed(subject: Subject) -> list[str] | None:
    """Return the places that differ between two resets with the same seed, play in between.

    The same other episode precedes both, so that what is kept of the last one alone is the same.
    None says that none differ among those that could be looked at, which were not all.
    """
    lane, level = subject.plain, subject.levels[-1]
    seed = subject.seeds[0]
    played = subject.sample_scripts(level, seed)[-1]
    taken = lane.take(level)
    if isinstance(taken, Fault):
        return []
    seen: list[dict[str, str]] = []
    whole = True
    # Nobody has played these here, since a set of seen tasks grows by new ones alone, or even by
    # those alone that are won. To ask for a solution begins its task.
    one, two, new = subject.unplayed_seeds(3)
    won = subject.sample_scripts(level, two)[-1]
    for of, actions in (
        (seed, played), (one, PLAIN),
        (seed, played), (two, won), (new, played), (one, PLAIN),
        (seed, ()),
    ):  # fmt: skip
        if of == new and not isinstance(made := lane.take(level), Fault):
            lane.give(level, made, keep=False)  # objects may be counted, too
        live = lane.reset(taken, Job(level, of, script(actions)))
        found: Json | Fault = {}
        if of == seed and not live.over:
            found = lane.worker.probe(live.instance, "lasting", {})
        lane.play([live])
        lane.note(live.trace())
        whole = whole and isinstance(found, dict) and MORE not in found
        if of == seed:
            seen.append(found if isinstance(found, dict) else {})
    lane.give(level, taken, keep=not live.over)
    _, first, last = seen
    # An entry of a container (behind a zero character) that is new does not count up.
    changed = [
        place
        for place, value in last.items()
        if first.get(place) != value and (place in first or "\0" not in place)
    ]
    return changed if changed or whole else None


def _later(subject: Subject, lane: Lane, changed: list[str]) -> tuple[dict[str, Json], str]:
    """Return the first difference that what playing leaves behind brings, and when it does."""
    levels, seed = sorted({0, subject.levels[-1]}), subject.seeds[0]
    bases = {level: subject.samples(level, [seed]) for level in levels}
    # Caches alone, as of pure functions, are no reason to play for long: they are filled below.
    lives = LASTING_LIVES if any(_CACHE not in place for place in changed) else LIVES
    for base in bases.values():
        # Nobody has asked this process for a hint or solution, as in play.
        if difference := _different(subject, lane, base):
            return difference, "not been asked for a hint or solution"
    for level, base in bases.items():
        # What is empty at first has nothing to grow by, so an episode is played before.
        lane.run([Job(level, seed, script(base[-1][0]))], fresh=False)
        found = _lived(subject, lane, base, *lives)
        if found is not None:
            return found
    for by in LASTING_JUMPS if changed else ():
        moved: dict[str, Json] = {"places": list[Json](changed), "by": by}
        if not _probed(lane, Job(levels[-1], seed, script(())), "advance", moved):
            break
        if difference := _different(subject, lane, bases[levels[-1]]):
            return difference, f"{'grown' if by > 0 else 'counted down'} by {abs(by):,}"
    return {}, ""


def _lived(
    subject: Subject, lane: Lane, base: Sequence[Played], rounds: int, seconds: float
) -> tuple[dict[str, Json], str] | None:
    """Play the same episodes again and again; return the first that was another one."""
    first = base[0][1]
    scripts: list[Json] = [list[Json](actions) for actions, _ in base]
    asked: dict[str, Json] = {"scripts": scripts, "rounds": rounds, "seconds": seconds}
    has = {"hint": subject.interface.has_hint, "solution": subject.interface.has_solution}
    asked |= {"seed": first.seed, "asks": [name for name in has if has[name]]}
    lived = _probed(lane, Job(first.level, first.seed, script(())), "live_on", asked)
    if not isinstance(lived, dict) or not isinstance(at := lived.get("script"), int):
        return None
    actions, before = base[at % len(base)]
    if not subject.reproduces(actions, before):
        return None
    said: dict[str, Json] = {"level": first.level, "script": list[Json](actions)}
    return said, f"lived through {lived['episodes']} episodes"


def _probed(lane: Lane, job: Job, kind: str, args: dict[str, Json]) -> Json:
    """Return what a probe of an episode that was just begun answers, None for a fault."""
    live = lane.begin([job], fresh=False)[0]
    if live.over:
        return None
    found = lane.worker.probe(live.instance, kind, args)
    lane.give(job.level, live.instance, keep=True)
    return None if isinstance(found, Fault) else found


def _different(subject: Subject, lane: Lane, base: Sequence[Played]) -> dict[str, Json]:
    """Return the first difference to what was played before, empty without."""
    for actions, before in base:
        job = Job(before.level, before.seed, script(actions))
        after = lane.run([job], fresh=False)[0]
        difference = first_difference(before, after)
        if difference and after.fault is None and subject.reproduces(actions, before):
            return difference
    return {}
