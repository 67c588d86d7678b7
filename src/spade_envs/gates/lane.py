"""A lane plays episodes in one worker, many in lockstep."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from spade_envs.gates.policies import Policy, View
from spade_envs.gates.ports import ResetRequest, WorkerPort
from spade_envs.gates.trace import Trace
from spade_envs.types import Fault, ResetOutcome, StepOutcome

MAX_BATCH = 128
MAX_TEMPLATES = 400
SLOW_RESET_S = 0.002
"""A reset that takes longer than this is replaced by a copy where the gates allow it."""


class OutOfTimeError(Exception):
    """Raised inside a gate when the deadline of the whole check has passed."""


class StalledError(Exception):
    """Raised inside a gate when the environment broke a time limit; carries the episode."""

    def __init__(self, trace: Trace) -> None:
        super().__init__(trace)
        self.trace = trace


@dataclass(frozen=True, slots=True)
class Job:
    """One episode to play."""

    level: int
    seed: int | None
    policy: Policy
    name: str = ""
    """Seeds the policy's own randomness, together with level and seed."""


class Live:
    """One episode under way, played by hand or by a lane."""

    def __init__(self, lane: Lane, job: Job, instance: int, start: ResetOutcome) -> None:
        self.job, self.instance, self.start = job, instance, start
        self.steps: list[tuple[str, StepOutcome]] = []
        self.over = start.fault is not None
        self._lane = lane
        shown = start.observation
        name = f"{job.name}/{job.level}/{job.seed}"
        self.view = View(lane.worker.interface, job.level, job.seed, shown, shown, name=name)

    def next_action(self) -> str | None:
        """Return the policy's next action, or None if the episode is over or too long."""
        if self.over or len(self.steps) >= self._lane.most_steps:
            return None
        return self.job.policy(self.view)

    def take(self, action: str, outcome: StepOutcome) -> None:
        """Note what a step brought."""
        self.steps.append((action, outcome))
        self.view.last, self.view.turn = outcome.observation, len(self.steps)
        self.over = outcome.done or outcome.fault is not None

    def step(self, action: str) -> StepOutcome:
        """Take one step now, even after the end."""
        outcome = self._lane.worker.step([(self.instance, action)])[0]
        self.take(action, outcome)
        return outcome

    def trace(self) -> Trace:
        """Return the episode so far."""
        return Trace(self.job.level, self.job.seed, self.start, tuple(self.steps))

    def close(self) -> Trace:
        """Discard the instance and return the episode; a broken time limit stops the gate."""
        if self.instance >= 0:
            self._lane.give(self.job.level, self.instance, keep=False)
        trace = self.trace()
        self._lane.note(trace)
        return trace


class Lane:
    """Plays jobs in one worker and keeps instances for reuse.

    Batches start small and grow, so that an environment that hangs on every seed costs one timeout
    and not a hundred.
    """

    def __init__(self, worker: WorkerPort, *, deadline: float) -> None:
        self.worker = worker
        self.may_copy = False
        """Set once copies are known to play on like their original; saves slow resets."""
        self.faults: list[Trace] = []
        self._deadline = deadline
        self._idle: dict[int, list[int]] = {}
        self._templates: dict[tuple[int, int | None], Live] = {}
        self._reset_s: dict[int, float] = {}
        self._copy_s: dict[int, float] = {}
        self._batch = 1

    @property
    def most_steps(self) -> int:
        """Steps after which a lane stops an episode that does not end."""
        return self.worker.interface.max_turns + 2

    def check_time(self) -> None:
        """Raise `OutOfTimeError` once the deadline has passed."""
        if time.monotonic() > self._deadline:
            raise OutOfTimeError

    def run(self, jobs: Sequence[Job], *, fresh: bool = True, most: int = MAX_BATCH) -> list[Trace]:
        """Play the jobs and return their traces in order.

        Args:
            jobs: the episodes to play.
            fresh: give every episode an instance of its own; otherwise instances are reused, or
                copied from one that was reset before.
            most: greatest number of episodes in lockstep.

        Raises:
            OutOfTimeError: the deadline passed.
            StalledError: a reset or step broke its time limit.
        """
        traces: list[Trace] = []
        position = 0
        while position < len(jobs):
            self.check_time()
            chunk = jobs[position : position + min(most, self._batch)]
            position += len(chunk)
            self._batch = min(MAX_BATCH, 2 * self._batch)
            traces += self._run_chunk(chunk, fresh=fresh)
        return traces

    def in_turn(self, *jobs: Job) -> Trace:
        """Play the jobs one after the other on one new instance; return the last trace."""
        instance = self.take(jobs[0].level)
        if isinstance(instance, int):
            self.give(jobs[0].level, instance, keep=True)
        return [trace for job in jobs for trace in self.run([job], fresh=False)][-1]

    def take(self, level: int, *, fresh: bool = True) -> int | Fault:
        """Return an instance of `level`; hand it back with `give`."""
        idle = self._idle.setdefault(level, [])
        return idle.pop() if idle and not fresh else self.worker.create(level)

    def _take_all(self, levels: Sequence[int], *, fresh: bool) -> list[int | Fault]:
        """Return an instance of each level, idle ones first."""
        taken: list[int | Fault | None] = [
            self._idle[level].pop() if not fresh and self._idle.get(level) else None
            for level in levels
        ]
        missing = [level for level, got in zip(levels, taken, strict=True) if got is None]
        made = iter(self.worker.create_many(missing) if missing else ())
        return [next(made) if got is None else got for got in taken]

    def give(self, level: int, instance: int, *, keep: bool) -> None:
        """Hand an instance back, for reuse or to be discarded."""
        if keep:
            self._idle.setdefault(level, []).append(instance)
        else:
            self.worker.discard(instance)

    def begin(self, jobs: Sequence[Job], *, fresh: bool = True) -> list[Live]:
        """Return reset episodes, to be played by hand and closed."""
        begun = time.perf_counter()
        taken = self._take_all([job.level for job in jobs], fresh=fresh)
        requests: list[ResetRequest] = [
            (instance, job.seed, None)
            for instance, job in zip(taken, jobs, strict=True)
            if isinstance(instance, int)
        ]
        starts = iter(self.worker.reset(requests) if requests else ())
        if len({job.level for job in jobs}) == 1:
            self._reset_s[jobs[0].level] = (time.perf_counter() - begun) / len(jobs)
        return [
            Live(self, job, -1, ResetOutcome(fault=instance))
            if isinstance(instance, Fault)
            else Live(self, job, instance, next(starts))
            for instance, job in zip(taken, jobs, strict=True)
        ]

    def _copied(self, jobs: Sequence[Job]) -> list[Live | None]:
        """Return copies of instances that were reset once, None where that is not quicker."""
        wanted = [job for job in jobs if self._copies_pay(job.level)]
        missing = {(job.level, job.seed): job for job in wanted}
        for key in self._templates:
            missing.pop(key, None)
        room = max(0, MAX_TEMPLATES - len(self._templates))
        for live in self.begin(list(missing.values())[:room]) if missing else ():
            self._templates[live.job.level, live.job.seed] = live
        found: dict[int, Live] = {}
        sources = [
            (row, template.instance)
            for row, job in enumerate(jobs)
            if self._copies_pay(job.level)
            and (template := self._templates.get((job.level, job.seed)))
            and template.start.fault is None
        ]
        begun = time.perf_counter()
        twins = self.worker.copies([instance for _, instance in sources]) if sources else []
        if len({jobs[row].level for row, _ in sources}) == 1:
            level = jobs[sources[0][0]].level
            self._copy_s[level] = (time.perf_counter() - begun) / len(sources)
        for (row, _), twin in zip(sources, twins, strict=True):
            job = jobs[row]
            if isinstance(twin, int):
                found[row] = Live(self, job, twin, self._templates[job.level, job.seed].start)
        return [found.get(row) for row in range(len(jobs))]

    def _copies_pay(self, level: int) -> bool:
        """Whether copies are allowed, resets of the level are slow, and copies quicker."""
        reset_s = self._reset_s.get(level, 0.0)
        return self.may_copy and reset_s > max(SLOW_RESET_S, self._copy_s.get(level, 0.0))

    def settle(self, live: Live) -> None:
        """Keep an episode in which no step was taken to copy from, or its instance for reuse."""
        level, key = live.job.level, (live.job.level, live.job.seed)
        free = key not in self._templates and len(self._templates) < MAX_TEMPLATES
        if self._copies_pay(level) and free:
            self._templates[key] = live
            return
        self.give(level, live.instance, keep=True)

    def _run_chunk(self, jobs: Sequence[Job], *, fresh: bool) -> list[Trace]:
        copies = [None] * len(jobs) if fresh else self._copied(jobs)
        left = [job for job, copy in zip(jobs, copies, strict=True) if copy is None]
        begun = iter(self.begin(left, fresh=fresh) if left else ())
        running = [next(begun) if copy is None else copy for copy in copies]
        self._play(running)
        traces = [episode.trace() for episode in running]
        for episode, copy, trace in zip(running, copies, traces, strict=True):
            if episode.instance >= 0:
                keep = not fresh and copy is None and trace.fault is None
                self.give(trace.level, episode.instance, keep=keep)
        for trace in traces:
            self.note(trace)
        return traces

    def _play(self, running: Sequence[Live]) -> None:
        while True:
            batch = [
                (episode, action)
                for episode in running
                if (action := episode.next_action()) is not None
            ]
            if not batch:
                return
            outcomes = self.worker.step([(episode.instance, text) for episode, text in batch])
            for (episode, action), outcome in zip(batch, outcomes, strict=True):
                episode.take(action, outcome)
            if any(_timed_out(outcome.fault) for outcome in outcomes):
                return
            self.check_time()

    def note(self, trace: Trace) -> None:
        """Count a finished trace; a broken time limit stops the gate.

        Raises:
            StalledError: the trace ended in a timeout.
        """
        if trace.fault is not None:
            self.faults.append(trace)
        if _timed_out(trace.fault):
            self._batch = 1
            raise StalledError(trace)


def _timed_out(fault: Fault | None) -> bool:
    return fault is not None and fault.kind == "timeout"
