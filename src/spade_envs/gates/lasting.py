"""Part of L1.8: what outlives an episode must not change a later one, however late it comes."""

from __future__ import annotations

from spade_envs.gates.finding import MAX_EXAMPLES, Finding, failed, warned
from spade_envs.gates.lane import Job, Lane, StalledError
from spade_envs.gates.policies import script
from spade_envs.gates.probes import PLAIN
from spade_envs.gates.subject import Subject
from spade_envs.gates.thresholds import LASTING_JUMPS
from spade_envs.gates.trace import first_difference
from spade_envs.types import Fault, Json

MORE = "\0more"
"""What a worker adds to the places if there are more than it looks at."""


def outlasting(subject: Subject) -> Finding | None:
    """Return a finding if playing leaves something behind, above all if it changes what follows.

    Counters are set forward and containers grown, in a process of its own, and the same episodes
    played again: a thousand resets need not be waited for.
    """
    changed = _changed(subject)
    if changed is None:
        return warned(
            "not all that the environment's code holds could be looked through for what outlives "
            "an episode; keep less in the module and on the object"
        )
    if not changed:
        return None
    worker = subject.sandbox.load(subject.source, limits=subject.limits)
    if isinstance(worker, Fault):
        return None
    try:
        lane = Lane(worker, deadline=subject.deadline)
        difference, by = _moved(subject, lane, changed)
    except StalledError:
        difference, by = {}, 0
    finally:
        worker.close()
    changed = [place for place in changed if "\0" not in place]
    places: list[Json] = list(changed[:MAX_EXAMPLES])
    if difference:
        return failed(
            f"an episode changes once {changed[0]} has grown by {by}, which playing makes it do; "
            "keep all state on the environment object and set it anew in reset()",
            places=places,
            difference=difference,
        )
    # A pure function may have a cache, which counts its calls and holds what it gave.
    shared = [
        place for place in changed if not place.startswith("self.") and ".cache_info()" not in place
    ]
    if shared:
        return warned(
            f"playing changes {shared[0]}, which outlives the episode; keep state on the object",
            places=places,
        )
    return None


def _changed(subject: Subject) -> list[str] | None:
    """Return the places that differ between two resets with the same seed, play in between.

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
    # Another seed too, since a set of seen seeds grows by new ones alone.
    for of, actions in ((seed, played), (subject.seeds[1], PLAIN), (seed, ())):
        live = lane.reset(taken, Job(level, of, script(actions)))
        found: Json | Fault = {}
        if actions is not PLAIN and not live.over:
            found = lane.worker.probe(live.instance, "lasting", {})
        lane.play([live])
        lane.note(live.trace())
        whole = whole and isinstance(found, dict) and MORE not in found
        seen.append(found if isinstance(found, dict) else {})
    lane.give(level, taken, keep=not live.over)
    first, last = seen[0], seen[-1]
    # An entry of a container (behind a zero character) that is new does not count up.
    changed = [
        place
        for place, value in last.items()
        if first.get(place) != value and (place in first or "\0" not in place)
    ]
    return changed if changed or whole else None


def _moved(subject: Subject, lane: Lane, changed: list[str]) -> tuple[dict[str, Json], int]:
    """Return the first difference that moving the places on brings, and by how much."""
    level, seed = subject.levels[-1], subject.seeds[0]
    base = subject.samples(level, [seed])
    # What is empty at first has nothing to grow by, so an episode is played before.
    lane.run([Job(level, seed, script(base[-1][0]))], fresh=False)
    for by in LASTING_JUMPS:
        live = lane.begin([Job(level, seed, script(()))], fresh=False)[0]
        if live.over:
            return {}, 0
        moved = lane.worker.probe(live.instance, "advance", {"places": changed, "by": by})
        lane.give(level, live.instance, keep=True)
        if not moved or isinstance(moved, Fault):
            return {}, 0
        for actions, before in base:
            after = lane.run([Job(level, seed, script(actions))], fresh=False)[0]
            difference = first_difference(before, after)
            if difference and after.fault is None and subject.reproduces(actions, before):
                return difference, by
    return {}, 0
