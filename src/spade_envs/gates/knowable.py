"""Family L3, knowledge: what is shown must tell apart tasks that have different answers."""

from __future__ import annotations

import itertools
from collections import Counter

from spade_envs.gates.finding import NO_REFERENCE, Finding, failed, passed, skipped
from spade_envs.gates.lane import Job
from spade_envs.gates.policies import script
from spade_envs.gates.probes import PLAIN
from spade_envs.gates.reference import wins
from spade_envs.gates.subject import Subject
from spade_envs.gates.thresholds import MIN_ALIKE_ANSWERS, MIN_ALIKE_SEEDS
from spade_envs.gates.trace import Trace

PAIRS = 6


def answers_can_be_known(subject: Subject) -> Finding:
    """L3.15, without tools: seeds that look alike have one answer, where the first one decides.

    Where an episode goes on after an answer, its replies may tell what the prompt does not; so only
    levels are judged at which every answer, right or wrong, ends the episode.
    """
    if not subject.has_reference:
        return skipped(NO_REFERENCE)
    for level in subject.levels:
        alike = _alike(subject, level)
        if len(alike) < MIN_ALIKE_SEEDS or len({t.actions for t in alike}) < MIN_ALIKE_ANSWERS:
            continue
        if not _first_answer_decides(subject, level) or _won_by_others(subject, alike):
            continue
        return failed(
            f"{len(alike)} of {subject.seed_count} seeds of level {level} show the same text and "
            "have different answers, so nobody can know which is right; show what it depends on",
            seeds=[trace.seed for trace in alike],
            answers=[list(trace.actions) for trace in alike[:PAIRS]],
            **alike[0].evidence(),
        )
    return passed("what is shown tells tasks with different answers apart")


def _alike(subject: Subject, level: int) -> list[Trace]:
    """Return the won reference episodes of the most frequent first observation."""
    traces = [trace for trace in subject.references(level) if wins(subject, trace)]
    counts = Counter(trace.start.observation for trace in traces)
    most = counts.most_common(1)[0][0] if counts else ""
    return [trace for trace in traces if trace.start.observation == most]


def _first_answer_decides(subject: Subject, level: int) -> bool:
    """Whether any single action ends an episode of the level."""
    if any(len(trace.steps) > 1 for trace in subject.references(level)):
        return False
    if subject.interface.max_turns == 1:
        return True
    jobs = [Job(level, subject.seeds[0], script((text,))) for text in PLAIN]
    return all(trace.done for trace in subject.plain.run(jobs, fresh=False))


def _won_by_others(subject: Subject, alike: list[Trace]) -> bool:
    """Whether the answers of some of the seeds win on others of them."""
    pairs = list(itertools.pairwise(alike))[:PAIRS]
    different = [(one, two) for one, two in pairs if one.actions != two.actions]
    jobs = [Job(two.level, two.seed, script(one.actions)) for one, two in different]
    traces = subject.plain.run(jobs, fresh=False)
    return not traces or any(wins(subject, trace) for trace in traces)
