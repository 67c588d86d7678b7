"""`Worker`: many instances of one source, whatever happens to the process that holds them.

A process that hangs, dies or lies is killed. The instance it was running gets a fault; all others
are rebuilt from their seed and actions in a fresh process, when they are next used.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from spade_envs.errors import EnvironmentFault, SandboxError
from spade_envs.sandbox.channel import Broken
from spade_envs.sandbox.history import Instance
from spade_envs.sandbox.outcomes import (
    Op,
    accept_resets,
    accept_steps,
    decode_value,
    fault_from,
    faulted,
    renamed,
)
from spade_envs.sandbox.process import Loaded, Program, WorkerProcess
from spade_envs.sandbox.protocol import Ask, Create, Discard, Probe, Reset, Step
from spade_envs.types import EnvSource, Fault, Interface, Json, Limits, ResetOutcome, StepOutcome

MAX_KILLS = 8
"""Processes that one batch may cost before the rest of it is given up."""
RECYCLE_AFTER_STEPS = 2_000_000
"""A process is replaced after about this many steps, at the next reset."""
_MAX_REPLAY_S = 60.0


class Worker:
    """One loaded source; made by `Sandbox.load`. A context manager; safe to share by threads.

    Args:
        start: returns a fresh process that has loaded the program, or the fault.
        program: what the processes execute.
        process: the first of them.
        loaded: what it said of the source.
    """

    def __init__(
        self,
        start: Callable[[], tuple[WorkerProcess, Loaded] | Fault],
        program: Program,
        process: WorkerProcess,
        loaded: Loaded,
    ) -> None:
        self.interface: Interface = loaded.interface
        self.layers: tuple[str, ...] = tuple(loaded.layers)
        self._start = start
        self._program = program
        self._limits: Limits = program.limits
        self._process: WorkerProcess | None = process
        self._generation = 1
        self._instances: dict[int, Instance] = {}
        self._next_number = 0
        self._steps = 0
        self._closed = False
        self._lock = threading.RLock()

    @property
    def source(self) -> EnvSource:
        """The source that is loaded."""
        return self._program.source

    @property
    def limits(self) -> Limits:
        """The resources that the worker may use."""
        return self._limits

    @property
    def alive(self) -> bool:
        """Whether a process is running now; a closed or killed worker has none."""
        return self._process is not None and self._process.alive

    @property
    def generation(self) -> int:
        """How many processes have been started so far."""
        return self._generation

    def create(self, level: int = 0) -> int | Fault:
        """Construct an instance and return its number, or the fault that prevented it."""
        with self._lock:
            number = self._next_number
            self._next_number += 1
            answer = self._value("create", lambda i: Create(i, number, level))
            if isinstance(answer, Fault):
                return answer
            self._instances[number] = Instance(level, self._generation)
            return number

    def reset(
        self, requests: Sequence[tuple[int, int | None, Mapping[str, Json] | None]]
    ) -> list[ResetOutcome]:
        """Start an episode in each `(instance, seed, options)`.

        Seeds are in [0, 2**63) or None, which continues the instance's own sequence of seeds.

        Raises:
            ValueError: an instance is unknown or asked for twice, or a seed is out of range.
        """
        with self._lock:
            items: list[tuple[int, int, dict[str, Any] | None]] = []
            instances = self._known([number for number, _, _ in requests])
            if any(seed is not None and not 0 <= seed < 1 << 63 for _, seed, _ in requests):
                raise ValueError("a seed must be in [0, 2**63)")
            if self._steps > RECYCLE_AFTER_STEPS:
                self.recycle()
            for instance, (number, seed, options) in zip(instances, requests, strict=True):
                instance.playing = False
                given = None if options is None else dict(options)
                items.append((number, instance.next_seed(seed), given))
            outcomes: list[Any] = [None] * len(items)
            self._batch("reset", items, instances, outcomes)
            return outcomes

    def step(self, requests: Sequence[tuple[int, str]]) -> list[StepOutcome]:
        """Take one step in each `(instance, action)`.

        An instance without a running episode, or an action over the limit, gets a `contract`
        fault and is left as it is.

        Raises:
            ValueError: an instance is unknown or asked for twice.
        """
        with self._lock:
            items = list(requests)
            instances = self._known([number for number, _ in items])
            outcomes: list[Any] = [None] * len(items)
            self._refuse(items, instances, outcomes)
            self._batch("step", items, instances, outcomes)
            self._steps += len(items)
            return outcomes

    def hint(self, number: int) -> str | Fault:
        """Return the privileged hint for the current episode of an instance."""
        answer = self._about("hint", number, lambda i: Ask(i, number, "hint"))
        if isinstance(answer, Fault | str):
            return answer
        return Fault(kind="protocol", op="hint", message="not a text")

    def solution(self, number: int) -> list[str] | Fault:
        """Return the actions that win the current episode of an instance from here."""
        answer = self._about("solution", number, lambda i: Ask(i, number, "solution"))
        if isinstance(answer, Fault):
            return answer
        if isinstance(answer, list) and all(isinstance(action, str) for action in answer):
            return answer
        return Fault(kind="protocol", op="solution", message="not a list of texts")

    def probe(self, number: int, kind: str, args: Mapping[str, Json] | None = None) -> Json | Fault:
        """Run one of the worker's examinations (see `probes`) on an instance.

        `copy` returns `{"instance": n}`, a new instance in the state of the old one.
        """
        with self._lock:
            arguments = dict(args or {})
            if kind == "copy":
                arguments["into"] = self._next_number
                self._next_number += 1
            answer = self._about("probe", number, lambda i: Probe(i, number, kind, arguments))
            if kind == "copy" and not isinstance(answer, Fault):
                twin = self._instances[number].copy(self._generation)
                self._instances[arguments["into"]] = twin
                return {**answer, "instance": arguments["into"]}
            return answer

    def discard(self, number: int) -> None:
        """Forget an instance; unknown numbers are ignored."""
        with self._lock:
            instance = self._instances.pop(number, None)
            if instance is not None and instance.generation == self._generation and self.alive:
                self._value("probe", lambda i: Discard(i, number))

    def recycle(self) -> None:
        """Replace the process; no instance loses its state."""
        with self._lock:
            self._kill()

    def close(self) -> None:
        """End the process and forget all instances."""
        with self._lock:
            self._closed = True
            self._kill()
            self._instances.clear()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def abandon(self) -> None:
        """Leave the process to the parent, in a forked child; instances are rebuilt here."""
        self._lock = threading.RLock()
        if self._process is not None:
            self._process.abandon()
            self._process = None

    # -- machinery ---------------------------------------------------------------------------

    def _known(self, numbers: Sequence[int]) -> list[Instance]:
        if self._closed:
            raise SandboxError("the worker is closed")
        try:
            instances = [self._instances[number] for number in numbers]
        except KeyError as error:
            raise ValueError(f"no instance {error}") from None
        if len(numbers) > 1 and len(set(numbers)) != len(numbers):
            raise ValueError("an instance may be asked for only once in a batch")
        return instances

    def _refuse(
        self, items: list[tuple[int, str]], instances: list[Instance], outcomes: list[Any]
    ) -> None:
        """Answer what no worker needs to see; replace what cannot be encoded."""
        most = self._limits.max_action_chars
        if not "".join([action for _, action in items]).isascii():
            items[:] = [
                (number, action.encode("utf-8", "replace").decode()) for number, action in items
            ]
        odd = [
            position
            for position, instance in enumerate(instances)
            if not instance.playing or len(items[position][1]) > most
        ]
        for position in odd:
            length = len(items[position][1])
            message = "no episode is running in this instance; reset it first"
            if length > most:
                message = f"the action has {length} characters, more than {most}"
            fault = Fault(kind="contract", op="step", message=message)
            outcomes[position] = faulted("step", fault)

    def _live(self) -> WorkerProcess:
        """Return a process that runs.

        Raises:
            EnvironmentFault: the source does not load any more.
        """
        if self._closed:
            raise SandboxError("the worker is closed")
        process = self._process
        if process is None or not process.alive:
            started = self._start()
            if isinstance(started, Fault):
                raise EnvironmentFault(started)
            process = self._process = started[0]
            self._generation += 1
            self._steps = 0
        return process

    def _kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None

    def _value(self, op: Op, make: Callable[[int], Any]) -> Any:
        """Send a request with one answer; return its value or a fault."""
        limits = self._limits
        timeout_s = limits.step_timeout_s if op in ("hint",) else limits.reset_timeout_s
        try:
            process = self._live()
        except EnvironmentFault as error:
            return renamed(error.fault, op)
        try:
            value = process.ask(make(process.new_id()), timeout_s)
            if value.fault is not None:
                return fault_from(value.fault, op)
            return decode_value(value.value)
        except Broken as broken:
            self._kill()
            return Fault(kind=broken.kind, op=op, message=broken.message)
        except BaseException:
            self._kill()  # interrupted: what is under way in the process is unknown
            raise

    def _about(self, op: Op, number: int, make: Callable[[int], Any]) -> Any:
        with self._lock:
            self._known([number])
            fault = self._restore(number)
            if fault is not None:
                return renamed(fault, op)
            answer = self._value(op, make)
            if isinstance(answer, Fault) and not self.alive:
                self._instances[number].playing = False
            return answer

    def _restore(self, number: int) -> Fault | None:
        """Bring a stale instance to its state in the present process."""
        try:
            process = self._live()
        except EnvironmentFault as error:
            return error.fault
        instance = self._instances[number]
        if instance.generation == self._generation:
            return None
        if not instance.playing:
            answer = self._value("create", lambda i: Create(i, number, instance.level))
            if isinstance(answer, Fault):
                return answer
            instance.generation = self._generation
            return None
        request = instance.replay(process.new_id(), number)
        limits = self._limits
        try:
            timeout_s = limits.reset_timeout_s + min(
                _MAX_REPLAY_S, len(instance.actions) * limits.step_timeout_s
            )
            process.send(request, timeout_s)
            reply = process.replies(request.request, 1, timeout_s)[0]
        except Broken as broken:
            self._kill()
            instance.playing = False
            return Fault(kind=broken.kind, op="reset", message=f"on replay: {broken.message}")
        except BaseException:
            self._kill()
            raise
        instance.generation = self._generation
        if reply.fault is None and reply.observation == instance.last_observation:
            return None
        instance.playing = False
        if reply.fault is not None:
            return fault_from(reply.fault, "reset")
        message = "the episode could not be replayed: seed and actions gave another observation"
        return Fault(kind="contract", op="reset", message=message)

    def _batch(
        self,
        op: Literal["reset", "step"],
        items: Sequence[tuple[Any, ...]],
        instances: list[Instance],
        outcomes: list[Any],
    ) -> None:
        """Fill the open positions of `outcomes`, at the cost of as few processes as needed."""
        left = [position for position, outcome in enumerate(outcomes) if outcome is None]
        kills, before = 0, self._generation if self.alive else -1
        while left:
            left = self._restored(op, left, items, instances, outcomes)
            if not left:
                return
            process = self._live()
            try:
                self._exchange(process, op, left, items, instances, outcomes)
                return
            except Broken as broken:
                at = process.under_way()
                self._kill()
                kills += 1
                if op == "reset" and broken.kind != "timeout" and self._generation == before:
                    # What an earlier step left behind in the process may be to blame: ask again.
                    left = [position for position in left if outcomes[position] is None]
                    continue
                fault = Fault(kind=broken.kind, op=op, message=broken.message)
                unanswered = [position for position in left if outcomes[position] is None]
                culprit = left[at] if at < len(left) else left[-1]
                if unanswered and culprit not in unanswered:
                    culprit = unanswered[0]
                blamed = [culprit] if kills < MAX_KILLS else [culprit, *unanswered]
                for position in blamed:
                    self._blame(op, instances[position], position, outcomes, fault)
                left = [position for position in unanswered if position not in blamed]
            except BaseException:
                self._kill()  # interrupted: what is under way in the process is unknown
                raise

    def _exchange(
        self,
        process: WorkerProcess,
        op: Literal["reset", "step"],
        left: list[int],
        items: Sequence[tuple[Any, ...]],
        instances: list[Instance],
        outcomes: list[Any],
    ) -> None:
        """Send the items at the positions `left` and take in their replies, which come in order."""
        chosen: Any = items if len(left) == len(items) else [items[position] for position in left]
        request = process.new_id()
        limits = self._limits
        message: Step | Reset
        if op == "step":
            message, accept, timeout_s = Step(request, chosen), accept_steps, limits.step_timeout_s
        else:
            message, accept, timeout_s = (
                Reset(request, chosen),
                accept_resets,  # type: ignore[assignment]
                limits.reset_timeout_s,
            )
        process.send(message, timeout_s)
        done, count = 0, len(left)
        while done < count:
            replies = process.replies(request, count - done, timeout_s)
            accept(replies, left[done:] if done else left, items, instances, outcomes, limits)
            done += len(replies)
        process.expect_silence()

    def _restored(
        self,
        op: Literal["reset", "step"],
        left: list[int],
        items: Sequence[tuple[Any, ...]],
        instances: list[Instance],
        outcomes: list[Any],
    ) -> list[int]:
        """Return the positions whose instances are in the present process; fault the others."""
        while True:
            generation = self._generation if self.alive else -1
            if not [None for at in left if instances[at].generation != generation]:
                return left
            for position in left:
                fault = self._restore(items[position][0])
                if fault is not None:
                    self._blame(op, instances[position], position, outcomes, renamed(fault, op))
            left = [position for position in left if outcomes[position] is None]

    def _blame(
        self, op: Op, instance: Instance, position: int, outcomes: list[Any], fault: Fault
    ) -> None:
        instance.playing = False
        outcomes[position] = faulted(op, fault)
