"""Part of L2.1 for libraries: the tasks of many seeds, since a few of them may come out otherwise.

A library's dataset often has many makers of tasks behind one name, and one careless maker among
twenty shows on one seed in twenty.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from spade_envs.gates.finding import Finding, failed
from spade_envs.gates.lane import Job, Lane
from spade_envs.gates.policies import script
from spade_envs.gates.subject import Subject, ask_solutions
from spade_envs.types import Fault

SEEDS = 120
TOGETHER = 20
"""Seeds looked at, and how many at a time."""
ENOUGH_S = 4.0
"""Time after which no further ones are looked at; some libraries take seconds for one task."""


def same_tasks(subject: Subject, other: Lane) -> Finding | None:
    """Return a failure if a seed's task is another one in another process; None if not.

    Args:
        subject: an environment that plays a library; of others nothing is looked at.
        other: its worker in the other process.
    """
    if not subject.trusted_imports or subject.depth == "quick":
        return None
    until = time.monotonic() + ENOUGH_S
    seeds = subject.other_seeds(SEEDS)
    for start in range(0, SEEDS, TOGETHER):
        for level in subject.edge_levels:
            if start and time.monotonic() > until:
                return None
            some = seeds[start : start + TOGETHER]
            here = _tasks(subject, subject.plain, level, some)
            there = _tasks(subject, other, level, some)
            moved = [seed for seed in some if here[seed] != there[seed]]
            if moved:
                return _failure(level, moved, len(some), here[moved[0]], there[moved[0]])
    return None


Task = tuple[str, str]
"""First observation and reference, or what went wrong."""


def _tasks(subject: Subject, lane: Lane, level: int, seeds: Sequence[int]) -> dict[int, Task]:
    if not subject.has_reference:
        started = lane.run([Job(level, seed, script(())) for seed in seeds], fresh=False)
        return {trace.seed or 0: (trace.start.observation, "") for trace in started}
    return {
        seed: (trace.start.observation, said.message if isinstance(said, Fault) else repr(said))
        for seed, (trace, said) in ask_solutions(lane, level, seeds).items()
    }


def _failure(level: int, moved: Sequence[int], played: int, one: Task, two: Task) -> Finding:
    what = "first observation" if one[0] != two[0] else "solution()"
    first, second = (task[0 if one[0] != two[0] else 1] for task in (one, two))
    return failed(
        f"the {what} of {len(moved)} in {played} seeds at level {level} is another one in another "
        "process; draw only from a generator of the seed's own and never iterate over a set",
        level=level,
        seed=moved[0],
        moved_seeds=len(moved),
        first=first[:400],
        second=second[:400],
    )
