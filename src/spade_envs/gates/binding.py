"""Family L3, binding: an answer belongs to its task and earns nothing on another one."""

from __future__ import annotations

from spade_envs.gates.finding import NO_REFERENCE, Finding, failed, passed, skipped
from spade_envs.gates.floors import confirm
from spade_envs.gates.lane import Job
from spade_envs.gates.policies import script
from spade_envs.gates.stats import Rate
from spade_envs.gates.subject import Subject
from spade_envs.gates.thresholds import CONSTANT_FAIL, CROSS_SEED_FAIL
from spade_envs.gates.trace import clip
from spade_envs.types import Json

SCREEN = 6
OFFSETS = (1, 2, 5)


def no_best_constant(subject: Subject) -> Finding:
    """L3.4: no single answer, taken from the references, wins on many seeds."""
    if not subject.has_reference:
        return skipped(NO_REFERENCE)
    best: dict[str, Json] = {}
    highest = 0.0
    for level in subject.levels:
        tasks = {trace.seed or 0: subject.task_key(trace) for trace in subject.references(level)}
        candidates = {trace.actions: trace.seed or 0 for trace in subject.references(level)}
        shares: dict[tuple[str, ...], float] = {}
        for actions, origin in candidates.items():
            others = [seed for seed in tasks if tasks[seed] != tasks[origin]]
            shares[actions] = _share(subject, level, actions, others)
        if not shares:
            continue
        winner = max(shares, key=lambda actions: shares[actions])
        share = shares[winner]
        if share > CONSTANT_FAIL:
            rate = confirm(subject, script(winner), level, "best constant")
            share = rate.mean
            if share > CONSTANT_FAIL:
                return failed(
                    f"one fixed answer wins {share:.0%} of the seeds at level {level}; "
                    "enlarge the answer space or compare with the instance's own answer",
                    level=level,
                    best_constant=rate.as_json(),
                    actions=[clip(action) for action in winner[:8]],
                )
        best[str(level)] = round(share, 4)
        highest = max(highest, share)
    return passed(f"the best fixed answer wins {highest:.0%} of the seeds", best_constant=best)


def _share(subject: Subject, level: int, actions: tuple[str, ...], seeds: list[int]) -> float:
    """Return the mean score on `seeds`, given up early if the first few earn nothing."""
    scores: list[float] = []
    for part in (seeds[:SCREEN], seeds[SCREEN:]):
        traces = subject.play(script(actions), level, part, fresh=False)
        scores += [subject.score(trace) for trace in traces]
        if sum(scores) <= 1:
            break
    return sum(scores) / len(seeds) if seeds else 0.0


def bound_to_its_seed(subject: Subject) -> Finding:
    """L3.5: the reference of one seed does not win on another seed's different task."""
    if not subject.has_reference:
        return skipped(NO_REFERENCE)
    shares: dict[str, Json] = {}
    highest = 0.0
    for level in subject.levels:
        traces = subject.references(level)
        jobs = []
        for position, trace in enumerate(traces):
            for offset in OFFSETS:
                other = traces[(position + offset) % len(traces)]
                if subject.task_key(other) != subject.task_key(trace):
                    jobs.append(Job(level, other.seed, script(trace.actions)))
        played = subject.plain.run(jobs, fresh=False)
        rate = Rate.of([subject.score(trace) for trace in played])
        shares[str(level)] = rate.as_json()
        highest = max(highest, rate.mean)
        if rate.mean > CROSS_SEED_FAIL:
            example = next(trace for trace in played if subject.score(trace) > 0.5)
            return failed(
                f"the reference of another seed wins {rate.mean:.0%} at level {level}; "
                "check the answer against the instance at hand, or enlarge the answer space",
                cross_seed=shares,
                **example.evidence(),
            )
    return passed(f"the reference of another seed wins at most {highest:.0%}", cross_seed=shares)
