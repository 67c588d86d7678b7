"""The bench on which a mutant has to show its defect: the original and the mutant, side by side.

This plays through the sandbox and knows nothing of the gates.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from benchmarks.defects.sources import Sound
from spade_envs.api import answer_of
from spade_envs.sandbox import Sandbox, Worker
from spade_envs.types import EnvSource, Fault, Limits, ResetOutcome, StepOutcome

LIMITS = Limits(load_timeout_s=10.0, reset_timeout_s=5.0, step_timeout_s=1.5)
GARBAGE = "zzz"
SEEDS = (3, 11, 27, 58)

Spot = tuple[int, int]
"""Level and seed."""


class NotLoadedError(Exception):
    """Raised when a source does not load; carries the fault."""


@dataclass(frozen=True)
class Played:
    """One episode."""

    start: ResetOutcome
    steps: tuple[StepOutcome, ...] = ()

    @property
    def total(self) -> float:
        return sum(step.reward for step in self.steps)

    @property
    def won(self) -> bool:
        """Whether the episode counts as a success and was paid in full."""
        return bool(self.steps) and self.steps[-1].info.get("success") is True and self.total > 0.99

    @property
    def over(self) -> bool:
        return bool(self.steps) and self.steps[-1].done

    @property
    def fault(self) -> Fault | None:
        if self.start.fault is not None:
            return self.start.fault
        return next((step.fault for step in self.steps if step.fault is not None), None)

    @property
    def shown(self) -> list[str]:
        """Everything that the agent sees."""
        seen = [self.start.observation, *(step.observation for step in self.steps)]
        infos = [self.start.info, *(step.info for step in self.steps)]
        return seen + [json.dumps(dict(info), ensure_ascii=False) for info in infos]


class Side:
    """One loaded source."""

    def __init__(self, sandbox: Sandbox, code: str) -> None:
        self.code = code
        self.sandbox = sandbox
        loaded = sandbox.load(EnvSource(code=code), limits=LIMITS)
        if isinstance(loaded, Fault):
            raise NotLoadedError(loaded.message)
        self.worker: Worker = loaded
        self._references: dict[Spot, list[str] | None] = {}

    def close(self) -> None:
        self.worker.close()

    def elsewhere(self, sandbox: Sandbox) -> Side:
        """Return the same source in another sandbox."""
        return Side(sandbox, self.code)

    def play(self, spot: Spot, actions: Sequence[str], *, past_end: bool = False) -> Played:
        """Play actions on a fresh object until the episode ends."""
        with self.open(spot) as live:
            return live.play(actions, past_end=past_end)

    def open(self, spot: Spot) -> Live:
        return Live(self, spot)

    def reference(self, spot: Spot) -> list[str] | None:
        """Return the reference's actions, or None if they cannot be had."""
        if spot not in self._references:
            with self.open(spot) as live:
                self._references[spot] = live.solution()
        return self._references[spot]

    def hint(self, spot: Spot) -> str | None:
        with self.open(spot) as live:
            value = self.worker.hint(live.number) if live.number >= 0 else None
        return value if isinstance(value, str) else None

    def probe(self, spot: Spot, kind: str, actions: Sequence[str] = ()) -> Any:
        """Return what a probe of the worker says after some actions."""
        with self.open(spot) as live:
            live.play(actions)
            value = self.worker.probe(live.number, kind, {}) if live.number >= 0 else None
        return None if isinstance(value, Fault) else value


class Live:
    """One object that plays."""

    def __init__(self, side: Side, spot: Spot) -> None:
        self.side = side
        number = side.worker.create(spot[0])
        self.number = -1 if isinstance(number, Fault) else number
        self.start = ResetOutcome(fault=number) if isinstance(number, Fault) else ResetOutcome()
        if self.number >= 0:
            self.reset(spot[1])

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *_: object) -> None:
        if self.number >= 0:
            self.side.worker.discard(self.number)

    def reset(self, seed: int | None) -> ResetOutcome:
        self.start = self.side.worker.reset([(self.number, seed, None)])[0]
        return self.start

    def step(self, action: str) -> StepOutcome:
        return self.side.worker.step([(self.number, action)])[0]

    def solution(self) -> list[str] | None:
        value = self.side.worker.solution(self.number) if self.number >= 0 else None
        return value if isinstance(value, list) and value else None

    def play(self, actions: Sequence[str], *, past_end: bool = False) -> Played:
        steps: list[StepOutcome] = []
        if self.start.fault is None:
            for action in actions:
                steps.append(self.step(action))
                if steps[-1].fault is not None or (steps[-1].done and not past_end):
                    break
        return Played(self.start, tuple(steps))


@dataclass
class Bench:
    """The original and the mutant of one sound environment."""

    sound: Sound
    original: Side
    mutant: Side
    other: Callable[[], Sandbox]
    """Gives a sandbox with another hash seed."""
    notes: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def spots(self) -> list[Spot]:
        """Levels and seeds that a defect is shown on: the lowest, a middle and the top level."""
        levels = self.original.worker.interface.levels
        chosen = sorted({0, levels // 2, levels - 1})
        return [(level, seed) for level in chosen for seed in SEEDS]

    @property
    def max_turns(self) -> int:
        return self.original.worker.interface.max_turns

    @property
    def top(self) -> int:
        return self.original.worker.interface.levels - 1

    def box(self, text: str) -> str:
        """Write an answer as this shape wants it."""
        if self.sound.kind == "published-tool":
            return f"<answer>{text}</answer>"
        return f"\\boxed{{{text}}}"

    def answer(self, spot: Spot) -> str | None:
        """Return the bare last answer of the reference; None if it is a tool call."""
        actions = self.original.reference(spot)
        if actions is None or "<tool_call>" in actions[-1]:
            return None
        return answer_of(actions[-1])

    def decides(self, spot: Spot) -> bool:
        """Whether the last answer alone is what the task is about."""
        actions = self.original.reference(spot)
        if actions is None or "<tool_call>" in actions[-1]:
            return False
        if self.sound.kind in ("text", "published"):
            return self.original.play(spot, actions[-1:]).won
        other = [*actions[:-1], self.box(GARBAGE)]
        return not self.original.play(spot, other).won  # it may also be mere closing words

    def share(self, trial: Callable[[Spot], bool | None], least: float = 0.5) -> str | None:
        """Return where a trial succeeds, if it does on enough of the spots that it applies to."""
        results = [(spot, trial(spot)) for spot in self.spots]
        told = [(spot, result) for spot, result in results if result is not None]
        hits = [spot for spot, result in told if result]
        if not hits or len(hits) < least * len(told):
            return None
        level, seed = hits[0]
        return f"{len(hits)} of {len(told)} episodes, such as level {level}, seed {seed}"

    def gains(self, spot: Spot, last: str, *, raw: bool = False) -> bool:
        """Whether the reference with another last action wins in the mutant only."""
        actions = self.original.reference(spot)
        if actions is None:
            return False
        played = [*actions[:-1], last if raw else self.box(last)]
        return self.differs(spot, played)

    def differs(self, spot: Spot, actions: Sequence[str]) -> bool:
        """Whether actions win in the mutant and not in the original."""
        return self.mutant.play(spot, actions).won and not self.original.play(spot, actions).won

    def loses(self, spot: Spot) -> bool | None:
        """Whether the original's reference no longer wins in the mutant."""
        actions = self.original.reference(spot)
        return None if actions is None else not self.mutant.play(spot, actions).won


def items(text: str) -> list[str]:
    """Return the parts of a list answer, or none if the answer is not a list."""
    parts = [part for part in re.split(r"[,\s]+", text) if part]
    return parts if len(parts) > 1 else []


def number(text: str) -> int | None:
    """Return a whole-number answer as a number."""
    plain = text.strip().lstrip("$").replace(",", "")
    return int(plain) if re.fullmatch(r"-?\d{1,15}", plain) else None


def flattened(value: Mapping[str, Any]) -> Iterator[str]:
    """Yield the text of an info."""
    yield json.dumps(dict(value), ensure_ascii=False)
