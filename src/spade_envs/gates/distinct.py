"""Family L2, second half: seeds and levels give different tasks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from spade_envs.gates.finding import Finding, failed, passed, skipped, warned
from spade_envs.gates.lane import Job
from spade_envs.gates.policies import script
from spade_envs.gates.probes import DIGITS, scripts
from spade_envs.gates.subject import Subject
from spade_envs.gates.thresholds import MAX_SAME_ACROSS_LEVELS, MIN_DISTINCT, MIN_DISTINCT_SHARE
from spade_envs.gates.trace import Trace, clip
from spade_envs.types import Json


def different_tasks(subject: Subject) -> Finding:
    """L2.5: the seeds of every level give enough different tasks."""
    counts: dict[str, Json] = {}
    wanted = max(MIN_DISTINCT, 1 + math.floor(MIN_DISTINCT_SHARE * subject.seed_count))
    if _deaf(subject):
        return skipped(CANNOT_TELL)
    for level in subject.levels:
        count = len(set(_signatures(subject, level, wanted)))
        counts[str(level)] = count
        if count < wanted:
            return _verdict(subject)(
                f"{subject.seed_count} seeds give {count} different tasks at level {level}, "
                f"at least {wanted} are wanted; draw more of the task from self.np_random",
                distinct=counts,
                seeds=subject.seed_count,
            )
    return passed(
        f"at least {min(counts.values())} different tasks of {subject.seed_count} at every level",
        distinct=counts,
        seeds=subject.seed_count,
    )


def _verdict(subject: Subject) -> Callable[..., Finding]:
    """Return how sameness is judged: a library's game may hide its task from fixed actions."""
    hidden = subject.trusted_imports and not subject.has_reference
    return warned if hidden else failed


REPLY_SEEDS = 6
"""Seeds whose replies are compared where two levels show the same."""
CANNOT_TELL = "prompts and replies are all alike, so tasks cannot be told apart; see family L3"


def _deaf(subject: Subject) -> bool:
    """Whether neither seed nor action changes anything: then the reward is what is wrong."""
    if subject.has_reference or len({subject.task_key(t) for t in subject.starts(0)}) > 1:
        return False
    jobs = [Job(0, seed, script((text,))) for seed in subject.seeds[:3] for text in DIGITS]
    traces = subject.plain.run(jobs, fresh=False)
    replies = {Trace(0, 0, t.start, tuple(("", got) for _, got in t.steps)).key() for t in traces}
    return len(replies) == 1


def _signatures(subject: Subject, level: int, wanted: int) -> list[str]:
    """Return what tells the task of each seed from others.

    That is the first observation and the reference; replies to fixed actions are looked at only
    if these do not differ enough, since a task may be hidden behind the same prompt.
    """
    traces = subject.starts(level)
    shown = [subject.task_key(trace) for trace in traces]
    if len(set(shown)) >= wanted:
        return shown
    return _replies(subject, level, subject.seeds)


def _replies(subject: Subject, level: int, seeds: Sequence[int]) -> list[str]:
    fixed = [*scripts(subject.interface), *((digit,) for digit in DIGITS)]
    jobs = [Job(level, seed, script(actions)) for seed in seeds for actions in fixed]
    keys = [trace.key() for trace in subject.plain.run(jobs, fresh=False)]
    size = len(fixed)
    return ["\0".join(keys[start : start + size]) for start in range(0, len(keys), size)]


def seed_and_level_matter(subject: Subject) -> Finding:
    """L2.6: the seed changes the task, and so does every declared level."""
    seeds = subject.seeds
    if _deaf(subject):
        return skipped(CANNOT_TELL)
    before: list[str] | None = None
    last = 0
    for level in subject.levels:
        traces = subject.starts(level)
        tasks = [subject.task_key(trace) for trace in traces]
        if len(set(tasks)) < 2:
            tasks = _replies(subject, level, seeds)
        if len(set(tasks)) < 2:
            return _verdict(subject)(
                f"all seeds give the same task at level {level}; "
                "call super().reset(seed=seed) and draw from self.np_random",
                level=level,
            )
        if before is not None:
            same = _share(before, tasks)
            if same > MAX_SAME_ACROSS_LEVELS:  # what replies tell may differ all the same
                some = seeds[:REPLY_SEEDS]
                pair = [_replies(subject, one, some) for one in (last, level)]
                same = _share(*pair)
            if same > MAX_SAME_ACROSS_LEVELS:
                # A library's levels are the wrapper's, and not the library's, fault.
                make = warned if subject.trusted_imports else failed
                return make(
                    f"levels {level - 1} and {level} give the same task for {same:.0%} of the "
                    "seeds; what is shown or paid must change with the level, or declare fewer",
                    levels=[level - 1, level],
                    same_share=same,
                    seed=seeds[0],
                    first_observations=[
                        clip(subject.starts(one)[0].start.observation) for one in (last, level)
                    ],
                )
        before, last = tasks, level
    return passed("seed and level change the task")


def _share(one: Sequence[str], other: Sequence[str]) -> float:
    """Return the share of places at which two rows are equal."""
    return sum(a == b for a, b in zip(one, other, strict=True)) / len(one)
