"""Running a reviewed source in this process: no isolation, no deadlines, full speed."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import msgspec

from spade_envs.api.loading import find_entry, interface_of
from spade_envs.errors import ConfigError
from spade_envs.sandbox.instances import ReplyTuple, Table, fault_of
from spade_envs.types import (
    EnvSource,
    Fault,
    Interface,
    Limits,
    ResetOutcome,
    StepBatch,
    StepOutcome,
)


class LocalSession:
    """Instances of one source in this process. Make it with `load`."""

    layers: tuple[str, ...] = ()

    def __init__(self, interface: Interface, table: Table, limits: Limits) -> None:
        self.interface = interface
        self._table = table
        self.limits = limits
        self._numbers = itertools.count()

    @classmethod
    def load(cls, source: EnvSource, limits: Limits) -> LocalSession | Fault:
        """Execute the source here; what it raises comes back as a fault."""
        name = f"spade_environment_{source.sha256[:16]}"
        module = ModuleType(name)
        sys.modules[name] = module  # dataclasses and pickle look their module up
        try:
            exec(compile(source.code, source.origin, "exec"), module.__dict__)  # noqa: S102
            entry = find_entry(module.__dict__)
            interface = interface_of(entry)
        except Exception as error:  # noqa: BLE001  the boundary to the environment's code
            kind, message, traceback = fault_of(error)
            return Fault(kind=kind, op="load", message=message, traceback=traceback)  # type: ignore[arg-type]
        table = Table(entry, limits.max_observation_chars, limits.max_info_bytes)
        return cls(interface, table, limits)

    def create(self, level: int) -> int | Fault:
        """Make one instance and return its number."""
        number = next(self._numbers)
        fault = self._table.create(number, level)
        return number if fault is None else _fault(fault, "create")

    def reset(
        self, requests: Sequence[tuple[int, int | None, dict[str, Any] | None]]
    ) -> list[ResetOutcome]:
        """Start episodes; every request needs a seed."""
        outcomes = []
        for instance, seed, options in requests:
            if seed is None:
                raise ConfigError("reset needs a seed for every instance")
            reply = self._table.reset(instance, seed, options)
            _, observation, *_, cut, info, fault = reply
            outcomes.append(
                ResetOutcome(
                    observation=observation,
                    info=msgspec.msgpack.decode(info) if info else {},
                    fault=None if fault is None else _fault(fault, "reset"),
                    observation_cut=cut,
                )
            )
        return outcomes

    def step(self, requests: Sequence[tuple[int, str]]) -> list[StepOutcome]:
        """Take one step each."""
        return [_step_outcome(self._table.step(instance, action)) for instance, action in requests]

    def step_batch(self, instances: Sequence[int], actions: Sequence[str]) -> StepBatch:
        """Take one step in each instance."""
        outcomes = self.step(list(zip(instances, actions, strict=True)))
        marked = {
            row: outcome
            for row, outcome in enumerate(outcomes)
            if outcome.done or outcome.info or outcome.observation_cut
        }
        shown = [outcome.observation for outcome in outcomes]
        return StepBatch(shown, [outcome.reward for outcome in outcomes], marked)

    def hint(self, instance: int) -> str | Fault:
        """Return the hint for the instance's current state."""
        value, fault = self._table.ask(instance, "hint")
        return str(value) if fault is None else _fault(fault, "hint")

    def solution(self, instance: int) -> list[str] | Fault:
        """Return actions that win from the instance's current state."""
        value, fault = self._table.ask(instance, "solution")
        return list(value) if fault is None else _fault(fault, "solution")

    def close(self) -> None:
        """Forget the instances."""
        self._table.envs.clear()


def _step_outcome(reply: ReplyTuple) -> StepOutcome:
    _, observation, reward, terminated, truncated, cut, info, fault = reply
    return StepOutcome(
        observation=observation,
        reward=reward,
        terminated=terminated,
        truncated=truncated,
        observation_cut=cut,
        info=msgspec.msgpack.decode(info) if info else {},
        fault=None if fault is None else _fault(fault, "step"),
    )


def _fault(fault: tuple[str, str, str], op: str) -> Fault:
    kind, message, traceback = fault
    return Fault(kind=kind, op=op, message=message, traceback=traceback)  # type: ignore[arg-type]
