"""One environment in a sandboxed worker, with the episodes that are in play in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from spade_envs.play.env import held_to
from spade_envs.sandbox import Worker, sandbox_for
from spade_envs.types import EnvSource, Fault, Json, Limits, StepOutcome

LIMITS = Limits()
"""Deadlines and sizes of play."""

MOST_KILLS = 3
"""Processes that an environment may cost in one rollout before the rest of it is given up."""
_NATIVE = {"native_tools": True}
_DEADLY = frozenset({"timeout", "crash", "memory", "protocol"})


class Asked(Protocol):
    """What a table needs to know of an episode."""

    @property
    def level(self) -> int:
        """Difficulty."""

    @property
    def seed(self) -> int:
        """Of the instance."""

    @property
    def native_tools(self) -> bool:
        """Whether tools may be left to the chat template."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Help:
    """What the environment knows of an instance and the agent does not."""

    hint: str = ""
    solution: tuple[str, ...] = ()
    """Empty if it has none, or failed to give it."""
    fault: Fault | None = None
    """Why there is no hint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """An episode that begins, or the fault that keeps it from it."""

    instance: int = -1
    observation: str = ""
    info: Any = field(default_factory=dict)
    fault: Fault | None = None


class Table:
    """Plays episodes of one environment; made with `Table.open`.

    An instance is played once and never asked for its hint: hints come from instances of their own
    with the same seed and level, so that a hint can change nothing but the agent's mind.
    """

    def __init__(self, worker: Worker | Fault) -> None:
        self._worker = worker
        self._broken: Fault | None = worker if isinstance(worker, Fault) else None
        self._kills = 0
        self._help: dict[tuple[int, int], Help] = {}
        self._turns: dict[int, int] = {}
        self._totals: dict[int, float] = {}

    @classmethod
    def open(cls, source: EnvSource, limits: Limits | None = None) -> Table:
        """Load an environment; one that does not load gives faults."""
        worker = sandbox_for(source).load(source, limits=limits or LIMITS)
        if not isinstance(worker, Fault):
            worker.most_kills = MOST_KILLS
        return cls(worker)

    @property
    def tools(self) -> tuple[Mapping[str, Json], ...]:
        """OpenAI function schemas of its tools, as it declared them when it was loaded."""
        return () if isinstance(self._worker, Fault) else tuple(self._worker.interface.tools)

    def begin(self, jobs: Sequence[Asked]) -> list[Start]:
        """Start an episode for each job."""
        worker = self._worker
        if isinstance(worker, Fault) or self._broken is not None:
            return [Start(fault=self._given_up("reset")) for _ in jobs]
        top = worker.interface.levels
        starts = [Start(fault=_no_level(job.level, top)) for job in jobs]
        rows = [row for row, job in enumerate(jobs) if starts[row].fault is None]
        made = worker.create_many([jobs[row].level for row in rows])
        takes = worker.interface.kind == "tool"
        asked = []
        for row, instance in zip(rows, made, strict=True):
            if isinstance(instance, Fault):
                starts[row] = Start(fault=self._noted(instance))
            else:
                asked.append((row, instance))
        outcomes = worker.reset(
            [
                (number, jobs[row].seed, _NATIVE if takes and jobs[row].native_tools else None)
                for row, number in asked
            ]
        )
        for (row, number), outcome in zip(asked, outcomes, strict=True):
            self._turns[number], self._totals[number] = 0, 0.0
            if outcome.fault is not None:
                self.leave(number)
                starts[row] = Start(fault=self._noted(outcome.fault))
            else:
                starts[row] = Start(
                    instance=number, observation=outcome.observation, info=outcome.info
                )
        return starts

    def help(self, wanted: Iterable[tuple[int, int]]) -> dict[tuple[int, int], Help]:
        """Return hint and solution of instances, each `(level, seed)`."""
        pairs = list(dict.fromkeys(wanted))
        new = [pair for pair in pairs if pair not in self._help]
        if new:
            self._help.update(zip(new, self._asked(new), strict=True))
        return {pair: self._help[pair] for pair in pairs}

    def step(self, instances: Sequence[int], actions: Sequence[str]) -> list[StepOutcome]:
        """Take one step in each of the instances, held to what the environment declares."""
        worker = self._worker
        if isinstance(worker, Fault) or self._broken is not None:
            fault = self._given_up("step")
            return [StepOutcome(truncated=True, fault=fault) for _ in instances]
        most = worker.limits.max_action_chars
        batch = worker.step_batch(instances, [action[:most] for action in actions])
        answers = batch.outcomes()
        for row, number in enumerate(instances):
            self._turns[number] += 1
            self._totals[number] += answers[row].reward
            answers[row] = held_to(
                worker.interface, answers[row], self._turns[number], self._totals[number]
            )
            if (broke := answers[row].fault) is not None:
                self._noted(broke)
        return answers

    def leave(self, instance: int) -> None:
        """Forget an instance whose episode is over."""
        self._turns.pop(instance, None)
        self._totals.pop(instance, None)
        if not isinstance(self._worker, Fault):
            self._worker.discard(instance)

    def close(self) -> None:
        """End the worker."""
        if not isinstance(self._worker, Fault):
            self._worker.close()

    def _asked(self, pairs: Sequence[tuple[int, int]]) -> list[Help]:
        worker = self._worker
        if isinstance(worker, Fault) or self._broken is not None:
            return [Help(fault=self._given_up("hint")) for _ in pairs]
        found = [Help() for _ in pairs]
        made = worker.create_many([level for level, _ in pairs])
        asked = []
        for row, instance in enumerate(made):
            if isinstance(instance, Fault):
                found[row] = Help(fault=self._noted(instance))
            else:
                asked.append((row, instance))
        outcomes = worker.reset([(number, pairs[row][1], None) for row, number in asked])
        for (row, number), outcome in zip(asked, outcomes, strict=True):
            found[row] = self._told(worker, number, outcome.fault)
            worker.discard(number)
        return found

    def _told(self, worker: Worker, number: int, fault: Fault | None) -> Help:
        if fault is not None or self._broken is not None:
            return Help(fault=self._noted(fault) if fault else self._given_up("hint"))
        declared = worker.interface
        hint: str | Fault = Fault(kind="contract", op="hint", message="it has no hint()")
        if declared.has_hint:
            hint = worker.hint(number)
        solution: list[str] | Fault = []
        if declared.has_solution and self._broken is None:
            solution = worker.solution(number)
        for answer in (hint, solution):
            if isinstance(answer, Fault):
                self._noted(answer)
        actions = () if isinstance(solution, Fault) else tuple(solution)
        if isinstance(hint, Fault):
            return Help(solution=actions, fault=hint)
        return Help(hint=hint, solution=actions)

    def _noted(self, fault: Fault) -> Fault:
        if fault.kind in _DEADLY and fault is not self._broken:
            self._kills += 1
            if self._kills >= MOST_KILLS and self._broken is None:
                self._broken = fault
        return fault

    def _given_up(self, op: Any) -> Fault:
        assert self._broken is not None
        message = f"given up: {self._broken.message}"
        return Fault(kind=self._broken.kind, op=op, message=message)


def _no_level(level: int, levels: int) -> Fault | None:
    if 0 <= level < levels:
        return None
    message = f"there is no level {level}; it has {levels}"
    return Fault(kind="contract", op="create", message=message)
