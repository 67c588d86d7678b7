"""A lane plays episodes in one worker, many in lockstep."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from spade_envs.gates.policies import Policy, View
from spade_envs.gates.ports import ResetRequest, WorkerPort
from spade_envs.gates.trace import Trace
from spade_envs.types import Fault, Json, ResetOutcome, StepOutcome

MAX_BATCH = 128
MAX_TEMPLATES = 200
SLOW_RESET_S = 0.00025
"""A reset that takes longer than this is replaced by a copy where the gates allow it."""


Key = tuple[int, int | None]
"""Level and seed."""


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
    options: Mapping[str, Json] | None = None
    """Given to the reset; such episodes are never copied."""


class Live:
    """One episode under way, played by hand or by a lane."""

    def __init__(
        self, lane: Lane, job: Job, instance: int, start: ResetOutcome, *, copied: bool = False
    ) -> None:
        self.job, self.instance, self.start, self.copied = job, instance, start, copied
        self.steps: list[tuple[str, StepOutcome]] = []
        self.over = start.fault is not None
        self.pause_after: int | None = None
        """Steps after which no further action is asked for."""
        self._lane, self._most_steps = lane, lane.most_steps
        shown = start.observation
        name = f"{job.name}/{job.level}/{job.seed}"
        self.view = View(lane.worker.interface, job.level, job.seed, shown, shown, name=name)

    def next_action(self) -> str | None:
        """Return the policy's next action, or None if the episode is over or too long."""
        taken = len(self.steps)
        if self.over or taken >= self._most_steps or taken == self.pause_after:
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

    def twin(self, instance: int) -> Live:
        """Return the episode of a copy that was made now."""
        twin = Live(self._lane, self.job, instance, self.start, copied=True)
        for action, outcome in self.steps:
            twin.take(action, outcome)
        return twin

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


@dataclass(slots=True)
class Costs:
    """What resets and copies take, by level."""

    reset_s: dict[int, float] = field(default_factory=dict)
    copy_s: float = 0.0

    def copies_pay(self, level: int) -> bool:
        """Whether resets of the level are slow, and copies quicker.

        A level that was not measured yet is taken for the slowest.
        """
        reset_s = self.reset_s.get(level, max(self.reset_s.values(), default=0.0))
        return reset_s > max(SLOW_RESET_S, self.copy_s)


class Lane:
    """Plays jobs in one worker and keeps instances for reuse.

    Batches start small and grow, so that an environment that hangs on every seed costs one timeout
    and not a hundred.

    Args:
        worker: where to play.
        deadline: moment on the monotonic clock after which playing stops.
        again: seeds that several gates play.
        like: a lane of the same source, whose experience holds here as well.
    """

    def __init__(
        self,
        worker: WorkerPort,
        *,
        deadline: float,
        again: Collection[int] = (),
        like: Lane | None = None,
    ) -> None:
        self.worker = worker
        self._again = frozenset(again)
        self.may_copy: bool = like is not None and like.may_copy
        """Set once copies are known to play on like their original; saves slow resets."""
        self.faults: list[Trace] = []
        self._costs: Costs = Costs() if like is None else replace(like._costs)
        self._deadline = deadline
        self._idle: dict[int, list[int]] = {}
        self._templates: dict[Key, Live] = {}
        self._batch: int = 1 if like is None else like._batch

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
            fresh: give every episode an instance that was made and reset for this call, or a
                copy of one; otherwise instances are reused, or copied from one of an earlier call.
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
            self._batch = min(MAX_BATCH, 4 * self._batch)
            traces += self._run_chunk(chunk, fresh=fresh)
        return traces

    def in_turn(self, *rows: Sequence[Job]) -> list[list[Trace]]:
        """Play the jobs of each row one after the other on one new instance; return all traces.

        The rows, each of one level, are played in lockstep. All but their first episodes begin
        with a reset of the instance that played the one before.
        """
        instances: list[int | Fault] = [-1 for _ in rows]
        played: list[list[Trace]] = [[] for _ in rows]
        for turn in range(max(map(len, rows), default=0)):
            self.check_time()
            going = [index for index, row in enumerate(rows) if turn < len(row)]
            for index in going:
                if played[index] and played[index][-1].fault is not None:
                    instances[index] = self.take(rows[index][0].level)
            jobs = [rows[index][turn] for index in going]
            if turn == 0:
                running = self.begin(jobs)
                instances = [live.start.fault or live.instance for live in running]
            else:
                running = self._reset(jobs, [instances[index] for index in going])
            self.play(running)
            for index, episode in zip(going, running, strict=True):
                trace = episode.trace()
                played[index].append(trace)
                if trace.fault is not None and episode.instance >= 0:
                    self.give(trace.level, episode.instance, keep=False)
                self.note(trace)
        for row, traces, instance in zip(rows, played, instances, strict=True):
            if isinstance(instance, int) and traces[-1].fault is None:
                self.give(row[0].level, instance, keep=True)
        return played

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
        """Return reset episodes, to be played by hand and closed.

        Of those that begin alike, one is reset, in the order of the jobs, and then played or kept;
        the others are copies of it, or of one that was kept before. What is kept is worth it for a
        seed that comes again.
        """
        known = {} if fresh else self._templates
        keys = [self._key(job) for job in jobs]
        counts = Counter(keys)
        first = {key: row for row, key in reversed(list(enumerate(keys))) if key is not None}
        found: list[Live | None] = [None] * len(jobs)
        models = {key: known[key] for key in first if key in known}
        own = [
            row
            for row, key in enumerate(keys)
            if key is None or (key not in models and first[key] == row)
        ]
        begun = self.originals([jobs[row] for row in own], fresh=fresh) if own else []
        for row, live in zip(own, begun, strict=True):
            key = keys[row]
            if key is None or live.start.fault is not None:
                found[row] = live
                continue
            models[key] = live
            again = counts[key] > 1 or live.job.seed in self._again
            if not fresh and again and len(known) < MAX_TEMPLATES:
                known[key] = live
            else:
                found[row] = live
        rows = [row for row, key in enumerate(keys) if found[row] is None and key in models]
        copies = self._copies(models, [jobs[row] for row in rows])
        for row, copy in zip(rows, copies, strict=True):
            found[row] = copy
        left = [row for row, live in enumerate(found) if live is None]
        late = self.originals([jobs[row] for row in left], fresh=fresh) if left else []
        for row, live in zip(left, late, strict=True):
            found[row] = live
        return [live for live in found if live is not None]

    def _key(self, job: Job) -> Key | None:
        """Return what an episode has in common with those that may be copied from it."""
        usual = job.seed is not None and job.options is None
        pays = usual and self.may_copy and self._costs.copies_pay(job.level)
        return (job.level, job.seed) if pays else None

    def _copies(self, models: Mapping[Key, Live], jobs: Sequence[Job]) -> list[Live | None]:
        """Return episodes that begin in a copy of their model, None where there is none."""
        if not jobs:
            return []
        sources = [models[job.level, job.seed] for job in jobs]
        begun = time.perf_counter()
        twins = self.worker.copies([live.instance for live in sources])
        self._costs.copy_s = (time.perf_counter() - begun) / len(jobs)
        return [
            Live(self, job, twin, live.start, copied=True) if isinstance(twin, int) else None
            for job, live, twin in zip(jobs, sources, twins, strict=True)
        ]

    def originals(self, jobs: Sequence[Job], *, fresh: bool = True) -> list[Live]:
        """Return episodes of instances that were reset for them."""
        return self._reset(jobs, self._take_all([job.level for job in jobs], fresh=fresh))

    def reset(self, instance: int, job: Job) -> Live:
        """Return an episode of this very instance."""
        return self._reset([job], [instance])[0]

    def _reset(self, jobs: Sequence[Job], taken: Sequence[int | Fault]) -> list[Live]:
        requests: list[ResetRequest] = [
            (instance, job.seed, job.options)
            for instance, job in zip(taken, jobs, strict=True)
            if isinstance(instance, int)
        ]
        begun = time.perf_counter()
        starts = iter(self.worker.reset(requests) if requests else ())
        if len({job.level for job in jobs}) == 1:
            self._costs.reset_s[jobs[0].level] = (time.perf_counter() - begun) / len(jobs)
        return [
            Live(self, job, -1, ResetOutcome(fault=instance))
            if isinstance(instance, Fault)
            else Live(self, job, instance, next(starts))
            for instance, job in zip(taken, jobs, strict=True)
        ]

    def kept(self, level: int, seed: int) -> Live | None:
        """Return the episode before its first step that is kept to copy from, if there is one."""
        return self._templates.get((level, seed))

    def drop(self, live: Live) -> None:
        """Discard an episode's instance, also one that is kept to copy from."""
        self._templates.pop((live.job.level, live.job.seed), None)
        self.give(live.job.level, live.instance, keep=False)

    def settle(self, live: Live) -> None:
        """Keep an episode in which no step was taken to copy from, or its instance for reuse."""
        level, key = live.job.level, (live.job.level, live.job.seed)
        if self._templates.get(key) is live:
            return
        free = key not in self._templates and len(self._templates) < MAX_TEMPLATES
        if free and self.may_copy and not live.copied and self._costs.copies_pay(level):
            self._templates[key] = live
            return
        self.give(level, live.instance, keep=not live.copied)

    def _run_chunk(self, jobs: Sequence[Job], *, fresh: bool) -> list[Trace]:
        running = self.begin(jobs, fresh=fresh)
        self.play(running)
        traces = [episode.trace() for episode in running]
        for episode, trace in zip(running, traces, strict=True):
            if episode.instance >= 0:
                keep = not fresh and not episode.copied and trace.fault is None
                self.give(trace.level, episode.instance, keep=keep)
        for trace in traces:
            self.note(trace)
        return traces

    def play(self, running: Sequence[Live]) -> None:
        """Play episodes that were begun by hand, in lockstep, to where their policies stop."""
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
            faults = [outcome.fault for outcome in outcomes if outcome.fault is not None]
            if any(map(_timed_out, faults)):
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
