"""Family L2, first half: the same seed and actions give the same episode, wherever it is played."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from spade_envs.gates.finding import Finding, failed, passed, warned
from spade_envs.gates.lane import Job, Lane, Live
from spade_envs.gates.many_starts import same_tasks
from spade_envs.gates.policies import Policy, cycle, limited, script
from spade_envs.gates.probes import PLAIN
from spade_envs.gates.subject import Subject, ask_hints, ask_solutions
from spade_envs.gates.trace import Trace, first_difference
from spade_envs.types import Fault, Json

OTHER_EPISODES = 20
OTHER_EPISODES_ABOVE = 2
"""Other episodes at levels above the lowest, where a reset may be slow."""
OTHER_TURNS = (len(PLAIN), 1, 2)
"""Turns of the other episodes, the one after the other."""
SEEDS, SEEDS_BETWEEN = 2, 1
"""Seeds compared at the lowest and highest level, and at each between."""


def reproducible(subject: Subject) -> Finding:
    """L2.1: byte-identical on the same object, another object and another process."""
    lane = subject.plain
    kept = [
        pair
        for level in subject.levels
        for pair in subject.samples(level, subject.seeds[: _count(subject, level)])
    ]
    base = [trace for _, trace in kept]
    jobs = [Job(trace.level, trace.seed, script(actions)) for actions, trace in kept]
    # In this process, the edge levels stand for the others.
    near = [row for row, trace in enumerate(base) if trace.level in subject.edge_levels]
    some = [jobs[row] for row in near]
    used = [row for row in near if _is_last(subject, kept, row)]
    other = subject.lane("elsewhere")
    if isinstance(other, Fault):
        return failed(f"the source does not load in another process: {other.message}")
    every = range(len(base))
    places: dict[str, tuple[Sequence[int], Callable[[], list[Trace]]]] = {
        "another object": (near, lambda: lane.run(some)),
        "the same object": (used, lambda: _on_one_object(lane, [jobs[row] for row in used])),
        # Backwards, so that nothing which an earlier level left behind is left behind there.
        "another process (hash seed, time zone, folder, order)": (
            every,
            lambda: other.run(jobs[::-1], fresh=not other.may_copy)[::-1],
        ),
    }
    for place, (rows, play) in places.items():
        for one, two in zip([base[row] for row in rows], play(), strict=True):
            difference = first_difference(one, two)
            if difference:
                return failed(
                    f"seed {one.seed} at level {one.level} plays differently on {place}; draw only "
                    "from self.np_random and never iterate over a set",
                    difference=difference,
                )
    return (
        _same_words(subject, other)
        or same_tasks(subject, other)
        or passed(
            f"{len(base)} episodes are byte-identical in {len(places) + 1} places", played=len(base)
        )
    )


def _count(subject: Subject, level: int) -> int:
    edge = level in (subject.levels[0], subject.levels[-1]) and subject.depth != "quick"
    return SEEDS if edge else SEEDS_BETWEEN


def _is_last(subject: Subject, kept: Sequence[tuple[Actions, Trace]], row: int) -> bool:
    """Whether these are a seed's last actions, or those of a level where resets are cheap."""
    own = kept[row][1]
    if own.level == 0 or subject.depth == "deep":
        return True
    return row + 1 == len(kept) or kept[row + 1][1].seed != own.seed


def _on_one_object(lane: Lane, jobs: Sequence[Job]) -> list[Trace]:
    rows: dict[int, list[Job]] = {}
    for job in jobs:
        rows.setdefault(job.level, []).append(job)
    # One row a level, so that its single instance is used again and again.
    played = dict(zip(rows, map(iter, lane.in_turn(*rows.values())), strict=True))
    return [next(played[job.level]) for job in jobs]


def _same_words(subject: Subject, other: Lane) -> Finding | None:
    """Compare hints and solutions between the two processes."""
    for level in subject.levels:
        seeds = subject.seeds[: _count(subject, level)]
        here, there = _words(subject, level, seeds), _words_of(other, level, seeds)
        for (what, seed), said in here.items():
            if said != there[what, seed]:
                return failed(
                    f"{what}() differs between two processes for seed {seed} at level {level}; "
                    "never iterate over a set",
                    level=level, seed=seed, first=said[:400], second=there[what, seed][:400],
                )  # fmt: skip
    return None


Actions = tuple[str, ...]
Words = dict[tuple[str, int], str]
"""What `hint` and `solution` give for each seed, as text; the message of the fault if one does."""


def _words(subject: Subject, level: int, seeds: Sequence[int]) -> Words:
    found: Words = {}
    if subject.interface.has_solution:
        for seed, answer in subject.solutions(level, seeds).items():
            found["solution", seed] = _said(answer)
    if subject.interface.has_hint:
        for seed, hint in subject.hints(level, seeds).items():
            found["hint", seed] = hint
    return found


def _words_of(lane: Lane, level: int, seeds: Sequence[int]) -> Words:
    found: Words = {}
    if lane.worker.interface.has_solution:
        for seed, (_, answer) in ask_solutions(lane, level, seeds).items():
            found["solution", seed] = _said(answer)
    if lane.worker.interface.has_hint:
        for seed, hint in ask_hints(lane, level, seeds).items():
            found["hint", seed] = _said(hint)
    return found


def _said(answer: str | tuple[str, ...] | Fault) -> str:
    if isinstance(answer, Fault):
        return answer.message
    return answer if isinstance(answer, str) else repr(list(answer))


def unmoved_by_neighbours(subject: Subject) -> Finding:
    """L2.2: an episode is the same when another one is stepped in between."""
    lane = subject.plain
    kept = [
        pair for level in subject.edge_levels for pair in subject.samples(level, subject.seeds[:1])
    ]
    jobs = [Job(alone.level, alone.seed, script(actions)) for actions, alone in kept]
    noise = limited(cycle(PLAIN), max((len(actions) for actions, _ in kept), default=0))
    others = [
        Job(alone.level, subject.seeds[-1], noise, f"plain {number}")
        for number, (_, alone) in enumerate(kept)
    ]
    for (_, alone), together in zip(kept, _interleaved(lane, jobs, others), strict=True):
        difference = first_difference(alone, together)
        if difference:
            return failed(
                "an episode changes when another environment is stepped in between; keep all "
                "state, the generator included, on the object",
                difference=difference,
            )
    return passed("episodes do not disturb each other")


def _interleaved(lane: Lane, jobs: Sequence[Job], others: Sequence[Job]) -> list[Trace]:
    """Play `jobs` in lockstep while others are reset after them and stepped before each step."""
    lane.check_time()
    begun = lane.begin([*jobs, *others])
    lives, noise = begun[: len(jobs)], begun[len(jobs) :]
    # Steps of one batch are taken in order.
    lane.play([one for pair in zip(noise, lives, strict=True) for one in pair])
    for one in noise:
        one.close()
    return [live.close() for live in lives]


def isolated_episodes(subject: Subject) -> Finding:
    """L2.3: an episode is the same after twenty others on the same object."""
    lane = subject.plain
    kept = {level: subject.samples(level, subject.seeds[:1]) for level in subject.edge_levels}
    counts = {
        level: OTHER_EPISODES_ABOVE if level and subject.depth != "deep" else OTHER_EPISODES
        for level in kept
    }
    rows = []
    for level, some in kept.items():
        few = 1 if level and subject.depth != "deep" else 3
        row = [Job(level, *other) for other in _played_well(subject, level, few)]
        row += [
            Job(level, seed, script(PLAIN[:turns]), "plain")
            for seed, turns in zip(
                subject.other_seeds(counts[level]), itertools.cycle(OTHER_TURNS), strict=False
            )
        ]
        if level and subject.depth != "deep":
            some = kept[level] = some[-1:]
        rows.append([*row, *(Job(level, one.seed, script(actions)) for actions, one in some)])
    for (level, some), traces in zip(kept.items(), lane.in_turn(*rows), strict=True):
        for (_, one), again in zip(some, traces[len(traces) - len(some) :], strict=True):
            difference = first_difference(one, again)
            if difference:
                return failed(
                    f"an episode changes after {counts[level]} others on the same object; "
                    "set every attribute anew in reset() and change no class attribute",
                    difference=difference,
                )
    return passed(f"an episode is the same after {OTHER_EPISODES} others")


def _played_well(subject: Subject, level: int, count: int) -> list[tuple[int, Policy]]:
    """Return some other seeds with their references, since mere noise may change no state."""
    if not subject.has_reference:
        return []
    found = subject.solutions(level, subject.seeds[1 : 1 + count]).items()
    return [(seed, script(actions)) for seed, actions in found if not isinstance(actions, Fault)]


def copyable(subject: Subject) -> Finding:
    """L2.4: a copy made in mid-episode plays on like the original."""
    notes: dict[str, Json] = {}
    seed = subject.seeds[0]
    cases = [
        (level, actions, how)
        for level in subject.edge_levels
        for actions in subject.sample_scripts(level, seed)
        for how in ("deepcopy", "pickle")
    ]
    jobs = [Job(level, seed, script(actions)) for level, actions, _ in cases]
    for (_, _, how), problem in zip(cases, _copied(subject.plain, jobs, cases), strict=True):
        if isinstance(problem, dict):
            return failed(
                f"a {how} made in mid-episode plays on differently; state must live on the "
                "object, and a Task predicate must read the state it is given",
                difference=problem,
            )
        if problem is not None:
            notes[how] = problem
    subject.allow_copies()
    subject.plain.may_copy = subject.plain.may_copy and "deepcopy" not in notes
    if "deepcopy" in notes:
        return failed(f"the environment cannot be copied: {notes['deepcopy']}", **notes)
    ours = subject.interface.api == "spade-1" and subject.interface.kind == "text"
    if "pickle" in notes and ours:
        return warned(f"the environment cannot be pickled: {notes['pickle']}", **notes)
    return passed("copies made in mid-episode play on alike", **notes)


def _copied(
    lane: Lane, jobs: Sequence[Job], cases: Sequence[tuple[int, tuple[str, ...], str]]
) -> list[dict[str, Json] | str | None]:
    """Return for each case where original and copy differ, or why there is no copy, or None."""
    lane.check_time()
    originals = lane.begin(jobs)
    for live, (_, actions, _) in zip(originals, cases, strict=True):
        live.pause_after = len(actions) // 2
    lane.play(originals)
    twins: list[Live | str | None] = []
    for original, (_, _, how) in zip(originals, cases, strict=True):
        original.pause_after = None
        number = None if original.over else _copy(lane, original, how)
        twins.append(original.twin(number) if isinstance(number, int) else number)
    lane.play(originals)
    # Only now, so that what a copy shares with its original is seen.
    lane.play([twin for twin in twins if isinstance(twin, Live)])
    played = [original.close() for original in originals]
    return [
        first_difference(trace, twin.close()) or None if isinstance(twin, Live) else twin
        for trace, twin in zip(played, twins, strict=True)
    ]


def _copy(lane: Lane, original: Live, how: str) -> int | str:
    answer = lane.worker.probe(original.instance, "copy", {"how": how})
    return str(answer.message) if isinstance(answer, Fault) else int(answer["instance"])
