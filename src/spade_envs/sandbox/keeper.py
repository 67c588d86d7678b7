"""What a worker keeps: its process, the records of its instances, and how both fit together."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from spade_envs.errors import EnvironmentFault, SandboxError
from spade_envs.sandbox.channel import Broken
from spade_envs.sandbox.history import Instance
from spade_envs.sandbox.outcomes import Op, decode_value, decode_values, fault_from, renamed
from spade_envs.sandbox.process import Loaded, Program, WorkerProcess
from spade_envs.sandbox.protocol import Create, Many
from spade_envs.types import EnvSource, Fault, Interface, Limits

_MAX_REPLAY_S = 60.0


class Keeper:
    """One source, the process that runs it now, and what is known of each instance.

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
        self._dropped: list[int] = []
        self._recent: tuple[Sequence[int], list[Instance]] = ((), [])
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

    def abandon(self) -> None:
        """Leave the process to the parent, in a forked child; instances are rebuilt here."""
        self._lock = threading.RLock()
        if self._process is not None:
            self._process.abandon()
            self._process = None

    def _known(self, numbers: Sequence[int]) -> list[Instance]:
        if self._closed:
            raise SandboxError("the worker is closed")
        if numbers is self._recent[0]:
            return self._recent[1]
        try:
            instances = [self._instances[number] for number in numbers]
        except KeyError as error:
            raise ValueError(f"no instance {error}") from None
        if len(numbers) > 1 and len(set(numbers)) != len(numbers):
            raise ValueError("an instance may be asked for only once in a batch")
        if type(numbers) is tuple:  # it cannot change: whoever steps the same ones again is known
            self._recent = numbers, instances
        return instances

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
            self._dropped.clear()

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

    def _values(
        self, op: Op, items: Sequence[Callable[[int], Any]], *, least: int = 2
    ) -> list[Any] | None:
        """Send several requests with one answer each in one message; return values or faults.

        None if they are fewer than `least`, or the process is gone or does not survive that: then
        they are to be asked one by one, so that the right one is blamed.
        """
        if len(items) < least or not self.alive:
            return None
        process = self._live()
        try:
            request = process.new_id()
            many = Many(request, [make(request) for make in items])
            value = process.ask(many, self._limits.reset_timeout_s)
            return decode_values(value, len(items), op)
        except Broken:
            self._kill()
            return None
        except BaseException:
            self._kill()
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
