"""Family L2, first half: the same seed and actions give the same episode, wherever it is played."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from spade_envs.gates.finding import Finding, failed, passed, warned
from spade_envs.gates.lane import Job, Lane, Live
from spade_envs.gates.many_starts import same_tasks
from spade_envs.gates.policies import Policy, cycle, script
from spade_envs.gates.probes import PLAIN
from spade_envs.gates.subject import Subject
from spade_envs.gates.trace import Trace, first_difference
from spade_envs.types import Fault, Json

OTHER_EPISODES = 20
OTHER_EPISODES_ABOVE = 3
"""Other episodes at levels above the lowest, where a reset may be slow."""
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
    other = subject.lane("elsewhere")
    if isinstance(other, Fault):
        return failed(f"the source does not load in another process: {other.message}")
    every = range(len(base))
    places: dict[str, tuple[Sequence[int], Callable[[], list[Trace]]]] = {
        "another object": (near, lambda: lane.run(some)),
        "the same object": (near, lambda: _on_one_object(lane, some)),
        # Backwards, so that nothing which an earlier level left behind is left behind there.
        "another process (hash seed, time zone, folder, order)": (
            every,
            lambda: other.run(jobs[::-1])[::-1],
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


def _on_one_object(lane: Lane, jobs: Sequence[Job]) -> list[Trace]:
    for level in {job.level for job in jobs}:
        instance = lane.take(level, fresh=False)
        if isinstance(instance, int):
            lane.give(level, instance, keep=True)
    # One job at a time, so that the single idle instance of the level is used again and again.
    return [trace for job in jobs for trace in lane.run([job], fresh=False)]


def _same_words(subject: Subject, other: Lane) -> Finding | None:
    """Compare hints and solutions between the two processes."""
    for level in subject.levels:
        seeds = subject.seeds[: _count(subject, level)]
        here, there = (_words(lane, level, seeds) for lane in (subject.plain, other))
        for (what, seed), said in here.items():
            if said != there[what, seed]:
                return failed(
                    f"{what}() differs between two processes for seed {seed} at level {level}; "
                    "never iterate over a set",
                    level=level, seed=seed, first=said[:400], second=there[what, seed][:400],
                )  # fmt: skip
    return None


def _words(lane: Lane, level: int, seeds: Sequence[int]) -> dict[tuple[str, int], str]:
    """Return hint and solution of each seed, as text; the message of the fault if there is one."""
    found: dict[tuple[str, int], str] = {}
    declared = lane.worker.interface
    for live in lane.begin([Job(level, seed, script(())) for seed in seeds], fresh=False):
        lane.check_time()
        seed = live.job.seed or 0
        for what, has, ask in (
            ("solution", declared.has_solution, lane.worker.solution),
            ("hint", declared.has_hint, lane.worker.hint),
        ):
            if not has:
                continue
            answer = live.start.fault or ask(live.instance)
            if isinstance(answer, Fault):
                lane.note(Trace(level, seed, replace(live.start, fault=answer)))
                answer = answer.message
            found[what, seed] = answer if isinstance(answer, str) else repr(answer)
        if live.instance >= 0:
            lane.give(level, live.instance, keep=True)
    return found


def unmoved_by_neighbours(subject: Subject) -> Finding:
    """L2.2: an episode is the same when another one is stepped in between."""
    lane = subject.plain
    kept = [
        pair for level in subject.edge_levels for pair in subject.samples(level, subject.seeds[:1])
    ]
    for actions, alone in kept:
        other = Job(alone.level, subject.seeds[-1], cycle(PLAIN), "plain")
        together = _interleaved(lane, Job(alone.level, alone.seed, script(actions)), other)
        difference = first_difference(alone, together)
        if difference:
            return failed(
                "an episode changes when another environment is stepped in between; keep all "
                "state, the generator included, on the object",
                difference=difference,
            )
    return passed("episodes do not disturb each other")


def _interleaved(lane: Lane, job: Job, other: Job) -> Trace:
    """Play `job` while `other` is reset after it and stepped before each of its steps."""
    lane.check_time()
    live, noise = lane.begin([job, other])
    while (action := live.next_action()) is not None:
        disturbance = noise.next_action()
        if disturbance is not None:
            noise.step(disturbance)
        live.step(action)
    noise.close()
    return live.close()


def isolated_episodes(subject: Subject) -> Finding:
    """L2.3: an episode is the same after twenty others on the same object."""
    lane = subject.plain
    for level in subject.edge_levels:
        kept = subject.samples(level, subject.seeds[:1])
        instance = lane.take(level, fresh=False)
        if isinstance(instance, int):
            lane.give(level, instance, keep=True)
        count = OTHER_EPISODES_ABOVE if level and subject.depth != "deep" else OTHER_EPISODES
        lane.run([Job(level, *other) for other in _played_well(subject, level)], fresh=False)
        for seed in subject.other_seeds(count):
            lane.run([Job(level, seed, script(PLAIN), "plain")], fresh=False)
        for actions, one in kept:
            job = Job(level, one.seed, script(actions))
            difference = first_difference(one, lane.run([job], fresh=False)[0])
            if difference:
                return failed(
                    f"an episode changes after {count} others on the same object; "
                    "set every attribute anew in reset() and change no class attribute",
                    difference=difference,
                )
    return passed(f"an episode is the same after {OTHER_EPISODES} others")


def _played_well(subject: Subject, level: int) -> list[tuple[int, Policy]]:
    """Return other seeds with their references, since mere noise may change no state."""
    if not subject.has_reference:
        return []
    found = subject.solutions(level, subject.seeds[1:4]).items()
    return [(seed, script(actions)) for seed, actions in found if not isinstance(actions, Fault)]


def copyable(subject: Subject) -> Finding:
    """L2.4: a copy made in mid-episode plays on like the original."""
    notes: dict[str, Json] = {}
    for level in subject.edge_levels:
        seed = subject.seeds[0]
        for actions in subject.sample_scripts(level, seed):
            for how in ("deepcopy", "pickle"):
                problem = _copied(subject.plain, level, seed, actions, how)
                if isinstance(problem, dict):
                    return failed(
                        f"a {how} made in mid-episode plays on differently; state must live on the "
                        "object, and a Task predicate must read the state it is given",
                        difference=problem,
                    )
                if problem is not None:
                    notes[how] = problem
    subject.plain.may_copy = "deepcopy" not in notes
    if "deepcopy" in notes:
        return failed(f"the environment cannot be copied: {notes['deepcopy']}", **notes)
    ours = subject.interface.api == "spade-1" and subject.interface.kind == "text"
    if "pickle" in notes and ours:
        return warned(f"the environment cannot be pickled: {notes['pickle']}", **notes)
    return passed("copies made in mid-episode play on alike", **notes)


def _copied(
    lane: Lane, level: int, seed: int, actions: tuple[str, ...], how: str
) -> dict[str, Json] | str | None:
    """Return the difference between original and copy, or why there is no copy, or None."""
    lane.check_time()
    job = Job(level, seed, script(actions))
    original = lane.begin([job])[0]
    while (
        len(original.steps) < len(actions) // 2 and (action := original.next_action()) is not None
    ):
        original.step(action)
    if original.over:
        original.close()
        return None
    number = lane.worker.probe(original.instance, "copy", {"how": how})
    if isinstance(number, Fault):
        original.close()
        return str(number.message)
    twin = Live(lane, job, int(number["instance"]), original.start)
    for action, outcome in original.steps:
        twin.take(action, outcome)
    for live in (original, twin):
        while (action := live.next_action()) is not None:
            live.step(action)
    return first_difference(original.close(), twin.close()) or None
