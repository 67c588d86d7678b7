"""`Stage`: the environments of a rollout, driven by batches of plain values.

This is all that playing needs of environments, so another class with the same methods may run them
on other machines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from spade_envs.play.table import Table
from spade_envs.types import EnvSource, Fault, StepOutcome

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """An episode that is to be played."""

    key: str
    """Name of the episode, unique in the rollout."""
    env: str
    """Digest of the environment."""
    source: EnvSource
    level: int
    seed: int
    hinted: bool = False
    """Whether hint and solution of the instance are wanted."""
    native_tools: bool = False
    """Whether an environment with tools may leave them to the chat template."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """How an episode begins."""

    observation: str = ""
    info: Any = field(default_factory=dict)
    tools: tuple[Any, ...] = ()
    """Schemas for the chat template; empty if there are none, or the observation lists them."""
    hint: str = ""
    solution: tuple[str, ...] = ()
    fault: Fault | None = None
    """Why it cannot be played."""
    hint_fault: Fault | None = None
    """Why there is no hint although one was wanted."""


class Scene(Protocol):
    """What plays episodes; the local one is `Stage`."""

    def open(self, seats: Sequence[Seat]) -> list[Opened]:
        """Begin episodes; none of the keys is in play."""
        ...

    def step(self, moves: Sequence[tuple[str, str]]) -> list[StepOutcome]:
        """Take one step in each `(key, action)`; a fault or an end is final."""
        ...

    def leave(self, keys: Iterable[str]) -> None:
        """Forget episodes; unknown keys are passed over."""
        ...

    def close(self) -> None:
        """Stop everything; calling it twice does no harm."""
        ...


class Stage:
    """Plays on this machine: one sandboxed worker per environment.

    Args:
        workers: environments that step at once, >= 1.
        most_open: environments that stay loaded while nobody plays them, >= 0.
    """

    def __init__(self, workers: int = 1, *, most_open: int = 16) -> None:
        self._threads = ThreadPoolExecutor(workers) if workers > 1 else None
        self._most_open = most_open
        self._tables: dict[str, Table] = {}
        self._places: dict[str, tuple[str, int]] = {}

    def open(self, seats: Sequence[Seat]) -> list[Opened]:
        """Begin episodes; see `Scene`."""
        by_env = _grouped(seats, lambda seat: seat.env)
        self._close_idle(by_env)
        groups = self._each(self._opened, list(by_env.values()))
        begun: dict[str, Opened] = {}
        for rows, found in zip(by_env.values(), groups, strict=True):
            for seat, (instance, opened) in zip(rows, found, strict=True):
                begun[seat.key] = opened
                self._places[seat.key] = seat.env, instance
        return [begun[seat.key] for seat in seats]

    def step(self, moves: Sequence[tuple[str, str]]) -> list[StepOutcome]:
        """Take one step in each; see `Scene`."""
        by_env = _grouped(range(len(moves)), lambda row: self._places[moves[row][0]][0])

        def stepped(item: tuple[str, list[int]]) -> list[StepOutcome]:
            env, rows = item
            instances = [self._places[moves[row][0]][1] for row in rows]
            return self._tables[env].step(instances, [moves[row][1] for row in rows])

        answers: dict[int, StepOutcome] = {}
        for rows, found in zip(
            by_env.values(), self._each(stepped, list(by_env.items())), strict=True
        ):
            answers.update(zip(rows, found, strict=True))
        return [answers[row] for row in range(len(moves))]

    def leave(self, keys: Iterable[str]) -> None:
        """Forget episodes."""
        for key in keys:
            env, instance = self._places.pop(key, ("", -1))
            if instance >= 0:
                self._tables[env].leave(instance)

    def close(self) -> None:
        """Stop all workers."""
        for table in self._tables.values():
            table.close()
        self._tables.clear()
        self._places.clear()
        if self._threads is not None:
            self._threads.shutdown()

    def _opened(self, seats: list[Seat]) -> list[tuple[int, Opened]]:
        env = seats[0].env
        table = self._tables.get(env)
        if table is None:
            table = self._tables[env] = Table.open(seats[0].source)
        told = table.help((seat.level, seat.seed) for seat in seats if seat.hinted)
        found = []
        for seat, start in zip(seats, table.begin(seats), strict=True):
            known = told.get((seat.level, seat.seed)) if seat.hinted else None
            listed = seat.native_tools and isinstance(start.info.get("tools"), list | tuple)
            opened = Opened(
                observation=start.observation,
                info=start.info,
                tools=table.tools if listed else (),
                hint=known.hint if known else "",
                solution=known.solution if known else (),
                fault=start.fault,
                hint_fault=known.fault if known else None,
            )
            found.append((start.instance, opened))
        return found

    def _each(self, act: Callable[[Any], T], items: Sequence[Any]) -> Iterable[T]:
        if self._threads is None or len(items) < 2:
            return [act(item) for item in items]
        return self._threads.map(act, items)

    def _close_idle(self, wanted: Iterable[str]) -> None:
        """Close what nobody plays, the longest open first."""
        kept = {env for env, _ in self._places.values()}.union(wanted)
        idle = [env for env in self._tables if env not in kept]
        for env in idle[: max(0, len(idle) - self._most_open)]:
            self._tables.pop(env).close()


def _grouped(items: Iterable[T], label: Callable[[T], str]) -> dict[str, list[T]]:
    groups: dict[str, list[T]] = {}
    for item in items:
        groups.setdefault(label(item), []).append(item)
    return groups
