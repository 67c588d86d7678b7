"""The thing under test: one source, its workers, and the episodes that several gates look at."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from spade_envs.gates.lane import Job, Lane, StalledError
from spade_envs.gates.policies import Policy, script
from spade_envs.gates.ports import Mode, SandboxPort
from spade_envs.gates.probes import scripts
from spade_envs.gates.trace import Trace, info_text
from spade_envs.types import EnvSource, Fault, Interface, Limits, ResetOutcome

Depth = Literal["quick", "standard", "deep"]
LaneName = Literal["plain", "restricted", "poisoned", "elsewhere"]

FIRST_SEED = 1000
CONFIRM_SEED = 500_000


@dataclass
class Subject:
    """One source with everything that was already measured on it.

    Lanes (loaded workers) and reference episodes are made when first asked for and then kept, so
    that gates are independent functions and yet cheap together.
    """

    source: EnvSource
    sandbox: SandboxPort
    elsewhere: Callable[[], SandboxPort]
    """Gives another sandbox: other hash seed, time zone and folder."""
    limits: Limits = field(default_factory=Limits)
    depth: Depth = "standard"
    seed_count: int = 20
    deadline: float = float("inf")
    """Moment on the monotonic clock after which gates stop."""

    def __post_init__(self) -> None:
        self._lanes: dict[LaneName, Lane | Fault] = {}
        self._solutions: dict[tuple[int, int], tuple[str, ...] | Fault] = {}
        self._references: dict[tuple[int, int], Trace] = {}

    @property
    def seeds(self) -> list[int]:
        """Seeds that every level is judged on."""
        return list(range(FIRST_SEED, FIRST_SEED + self.seed_count))

    @property
    def levels(self) -> range:
        """All levels."""
        return range(self.interface.levels)

    @property
    def edge_levels(self) -> list[int]:
        """The lowest and the highest level; all of them in a deep check."""
        return list(self.levels if self.depth == "deep" else {0: 0, self.levels[-1]: 0})

    @property
    def loaded(self) -> Lane | Fault:
        """The plain lane, or why the source cannot be loaded."""
        return self.lane("plain")

    @property
    def plain(self) -> Lane:
        """The plain lane of a source that can be loaded."""
        lane = self.loaded
        if isinstance(lane, Fault):
            raise TypeError(f"the source does not load: {lane.message}")
        return lane

    @property
    def interface(self) -> Interface:
        """What the loaded class declares."""
        return self.plain.worker.interface

    @property
    def has_reference(self) -> bool:
        """Whether the environment offers solutions."""
        return self.interface.has_solution

    @property
    def top(self) -> float:
        """Greatest return of an episode."""
        return self.interface.reward_range[1]

    def lane(self, name: LaneName) -> Lane | Fault:
        """Return a loaded worker of the given kind, or the fault of loading it."""
        if name not in self._lanes:
            sandbox = self.elsewhere() if name == "elsewhere" else self.sandbox
            mode: Mode = "restricted" if name == "restricted" else "plain"
            worker = sandbox.load(
                self.source, limits=self.limits, mode=mode, poison=name == "poisoned"
            )
            self._lanes[name] = (
                worker if isinstance(worker, Fault) else Lane(worker, deadline=self.deadline)
            )
        return self._lanes[name]

    def close(self) -> None:
        """End every worker."""
        for lane in self._lanes.values():
            if isinstance(lane, Lane):
                lane.worker.close()
        self._lanes.clear()

    def play(
        self,
        policy: Policy,
        level: int,
        seeds: Sequence[int],
        *,
        name: str = "",
        fresh: bool = True,
    ) -> list[Trace]:
        """Play one policy on several seeds of a level, in the plain lane."""
        return self.plain.run([Job(level, seed, policy, name) for seed in seeds], fresh=fresh)

    def score(self, trace: Trace) -> float:
        """Return the share of the greatest return that an episode earned, in [0, 1]."""
        if trace.fault is not None or self.top <= 0:
            return float(trace.success)
        return min(1.0, max(0.0, trace.total / self.top))

    def solution(self, level: int, seed: int) -> tuple[str, ...] | Fault:
        """Return the reference actions for a fresh episode, asked for once and kept."""
        key = (level, seed)
        if key not in self._solutions:
            self._solutions[key] = ask_solution(self.plain, level, seed)
        return self._solutions[key]

    def references(self, level: int, seeds: Sequence[int] | None = None) -> list[Trace]:
        """Return the reference episodes of a level, each played on a fresh instance.

        Seeds whose solution cannot be had are left out.
        """
        wanted = self.seeds if seeds is None else list(seeds)
        jobs = []
        for seed in wanted:
            actions = self.solution(level, seed)
            if (level, seed) not in self._references and not isinstance(actions, Fault):
                jobs.append(Job(level, seed, script(actions), "reference"))
        for trace in self.plain.run(jobs) if jobs else ():
            self._references[level, trace.seed or 0] = trace
        return [
            self._references[level, seed] for seed in wanted if (level, seed) in self._references
        ]

    def sample_scripts(self, level: int, seed: int) -> list[tuple[str, ...]]:
        """Return action sequences to compare runs on: fixed ones, and the reference if any."""
        found = list(scripts(self.interface))
        actions = self.solution(level, seed) if self.has_reference else ()
        if not isinstance(actions, Fault) and actions:
            found.append(actions)
        return found

    def task_key(self, trace: Trace) -> str:
        """Return what tells the task of an episode from others: its start and its reference."""
        actions = self.solution(trace.level, trace.seed or 0) if self.has_reference else ()
        shown = repr(actions) if not isinstance(actions, Fault) else ""
        return f"{trace.start.observation}\0{info_text(trace.start.info)}\0{shown}"

    def time_left_s(self) -> float:
        """Seconds until the deadline."""
        return self.deadline - time.monotonic()


def ask_solution(lane: Lane, level: int, seed: int) -> tuple[str, ...] | Fault:
    """Reset a fresh instance and ask it for its solution.

    Raises:
        StalledError: the solution took too long.
    """
    lane.check_time()
    instance = lane.take(level)
    if isinstance(instance, Fault):
        return instance
    start = lane.worker.reset([(instance, seed, None)])[0]
    actions = start.fault or lane.worker.solution(instance)
    lane.give(level, instance, keep=False)
    if isinstance(actions, Fault):
        fault = ResetOutcome(observation=start.observation, fault=actions)
        if actions.kind == "timeout":
            raise StalledError(Trace(level, seed, fault))
        return actions
    return tuple(actions)
