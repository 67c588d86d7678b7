"""Family L1, second half: clean resets, size and time limits, no side effects."""

from __future__ import annotations

from spade_envs.gates.finding import (
    MAX_EXAMPLES,
    Finding,
    failed,
    fault_text,
    passed,
    skipped,
    warned,
)
from spade_envs.gates.lane import Job, Lane
from spade_envs.gates.lasting import outlasting
from spade_envs.gates.native import plays_otherwise
from spade_envs.gates.policies import script
from spade_envs.gates.subject import Subject
from spade_envs.gates.thresholds import MAX_MEMORY_SHARE
from spade_envs.gates.trace import first_difference
from spade_envs.types import Fault, Json


def clean_reset(subject: Subject) -> Finding:
    """L1.6: a reset in mid-episode, and one after the end, give the same episode as a fresh one."""
    first, second = subject.seeds[0], subject.seeds[-1]
    cases = []
    for level in subject.edge_levels:
        kept = subject.samples(level, [first])
        if level and subject.depth != "deep":
            kept = kept[-1:]
        before_reset = subject.sample_scripts(level, second)
        if level and subject.depth != "deep":
            before_reset = before_reset[-1:]
        for before in before_reset:
            for name, turns in (("in mid-episode", (len(before) + 1) // 2), ("later", len(before))):
                dirty = Job(level, second, script(before[:turns]))
                cases += [(name, dirty, *pair) for pair in kept]
    rows = [(dirty, Job(dirty.level, first, script(said))) for _, dirty, said, _ in cases]
    for (name, _, actions, fresh), traces in zip(cases, subject.plain.in_turn(*rows), strict=True):
        difference = first_difference(fresh, traces[-1])
        if difference and subject.reproduces(actions, fresh):
            return failed(
                f"a reset {name} does not give a clean episode; "
                "set every attribute anew in reset()",
                difference=difference,
            )
    return plays_otherwise(subject) or passed("resets in mid-episode and after the end are clean")


def keeps_to_limits(subject: Subject) -> Finding:
    """L1.7: observations, infos, memory and time stay within the limits."""
    lane = subject.plain
    for trace in lane.faults:
        if trace.fault is not None and trace.fault.kind in ("timeout", "memory", "crash"):
            return failed(f"{fault_text(trace)}; bound every loop and size", **trace.evidence())
    for trace in subject.plain_episodes(subject.edge_levels, subject.seeds[:2]):
        cut = [got.observation_cut for _, got in trace.steps]
        if trace.start.observation_cut or any(cut):
            return failed(
                f"an observation has more than {subject.limits.max_observation_chars} characters; "
                "show less at once",
                **trace.evidence(),
            )
    used = _memory_mb(lane)
    most = subject.limits.memory_mb
    if used is not None and used > MAX_MEMORY_SHARE * most:
        return failed(f"the worker uses {used:.0f} MB of {most} MB; keep less state", rss_mb=used)
    return passed("sizes and times stay within the limits", rss_mb=used)


def _memory_mb(lane: Lane) -> float | None:
    instance = lane.take(0)
    if isinstance(instance, Fault):
        return None
    answer = lane.worker.probe(instance, "rss_mb", {})
    lane.give(0, instance, keep=False)
    if isinstance(answer, dict):
        answer = answer.get("rss_mb")
    return float(answer) if isinstance(answer, int | float) else None


def no_side_effects(subject: Subject) -> Finding:
    """L1.8: playing leaves the process as it was."""
    lane = subject.plain
    level = subject.levels[-1]
    subject.samples(level, subject.seeds[:1])
    instance = lane.take(level)
    if isinstance(instance, Fault):
        return skipped("no instance can be made")
    answer = lane.worker.probe(instance, "effects", {})
    lane.give(level, instance, keep=False)
    if isinstance(answer, Fault):
        return failed(f"the process cannot be examined any more: {answer.message}")
    effects: list[Json] = list(answer)
    if effects:
        verdict = warned if subject.trusted_imports else failed
        return verdict(
            f"playing changes the process: {effects[0]}; keep all state on the environment object",
            effects=effects[:MAX_EXAMPLES],
        )
    difference = _moved_by_asking(subject)
    if difference:
        return failed(
            "an episode plays differently once hint() or solution() was asked for; "
            "they must change nothing",
            difference=difference,
        )
    return outlasting(subject) or passed(
        "the process is as it was, and hints and solutions change nothing"
    )


def _moved_by_asking(subject: Subject) -> dict[str, Json]:
    lane = subject.plain
    kept = [
        pair for level in subject.edge_levels for pair in subject.samples(level, subject.seeds[:1])
    ]
    jobs = [Job(base.level, base.seed, script(actions)) for actions, base in kept]
    running = lane.begin(jobs)
    sound = [live.instance for live in running if not live.over]
    if subject.interface.has_hint and sound:
        lane.worker.hints(sound)
    if subject.interface.has_solution and sound:
        lane.worker.solutions(sound)
    lane.play(running)
    for (actions, base), live in zip(kept, running, strict=True):
        difference = first_difference(base, live.close())
        if difference and subject.reproduces(actions, base):
            return difference
    return {}
