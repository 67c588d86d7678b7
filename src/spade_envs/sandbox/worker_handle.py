"""`Worker`: many instances of one source, whatever happens to the process that holds them.

A process that hangs, dies or lies is killed. The instance it was running gets a fault; all others
are rebuilt from their seed and actions in a fresh process, when they are next used.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar

import msgspec

from spade_envs.errors import EnvironmentFault, SandboxError
from spade_envs.sandbox.channel import Broken
from spade_envs.sandbox.history import Instance
from spade_envs.sandbox.process import Loaded, Program, WorkerProcess, fault_from
from spade_envs.sandbox.protocol import (
    EMPTY_INFO,
    Ask,
    Create,
    Discard,
    Probe,
    Reply,
    Reset,
    Step,
    check_json,
)
from spade_envs.types import EnvSource, Fault, Interface, Json, Limits, ResetOutcome, StepOutcome

MAX_KILLS = 8
"""Processes that one batch may cost before the rest of it is given up."""
RECYCLE_AFTER_STEPS = 2_000_000
"""A process is replaced after about this many steps, at the next reset."""
_MAX_REPLAY_S = 60.0

Op = Literal["load", "create", "reset", "step", "hint", "solution", "probe"]
T = TypeVar("T")
_decode_info = msgspec.msgpack.Decoder(dict[str, Any]).decode


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
            numbers = [number for number, _, _ in requests]
            self._check(numbers)
            if any(seed is not None and not 0 <= seed < 1 << 63 for _, seed, _ in requests):
                raise ValueError("a seed must be in [0, 2**63)")
            if self._steps > RECYCLE_AFTER_STEPS:
                self.recycle()
            items: list[tuple[int, int, dict[str, Any] | None]] = []
            for number, seed, options in requests:
                instance = self._instances[number]
                instance.playing = False
                used = instance.next_seed(seed)
                items.append((number, used, None if options is None else dict(options)))
            outcomes: list[Any] = [None] * len(items)
            self._batch(
                "reset",
                numbers,
                lambda i, left: Reset(i, [items[k] for k in left]),
                self._limits.reset_timeout_s,
                outcomes,
                items,
            )
            return outcomes

    def step(self, requests: Sequence[tuple[int, str]]) -> list[StepOutcome]:
        """Take one step in each `(instance, action)`.

        An instance without a running episode, or an action over the limit, gets a `contract`
        fault and is left as it is.

        Raises:
            ValueError: an instance is unknown or asked for twice.
        """
        with self._lock:
            numbers = [number for number, _ in requests]
            self._check(numbers)
            items = list(requests)
            outcomes: list[Any] = [None] * len(items)
            self._refuse(items, outcomes)
            self._batch(
                "step",
                numbers,
                lambda i, left: Step(
                    i, [items[k] for k in left] if len(left) < len(items) else items
                ),
                self._limits.step_timeout_s,
                outcomes,
                items,
            )
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

    def _check(self, numbers: Sequence[int]) -> None:
        if self._closed:
            raise SandboxError("the worker is closed")
        instances = self._instances
        for number in numbers:
            if number not in instances:
                raise ValueError(f"no instance {number}")
        if len(numbers) > 1 and len(set(numbers)) != len(numbers):
            raise ValueError("an instance may be asked for only once in a batch")

    def _refuse(self, items: list[tuple[int, str]], outcomes: list[Any]) -> None:
        most = self._limits.max_action_chars
        for position, (number, action) in enumerate(items):
            if not self._instances[number].playing:
                message = "no episode is running in this instance; reset it first"
            elif len(action) > most:
                message = f"the action has {len(action)} characters, more than {most}"
            else:
                if not action.isascii():
                    try:
                        action.encode()
                    except UnicodeEncodeError:
                        clean = action.encode("utf-8", "replace").decode()
                        items[position] = (number, clean)
                continue
            outcomes[position] = _faulted(
                "step", Fault(kind="contract", op="step", message=message)
            )

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
            return _renamed(error.fault, op)
        try:
            value = process.ask(make(process.new_id()), timeout_s)
            if value.fault is not None:
                return fault_from(value.fault, op)
            return check_json(_decoded(value.value))
        except Broken as broken:
            self._kill()
            return Fault(kind=broken.kind, op=op, message=broken.message)
        except ValueError as error:
            self._kill()
            return Fault(kind="protocol", op=op, message=f"the answer {error}")
        except BaseException:
            self._kill()  # interrupted: what is under way in the process is unknown
            raise

    def _about(self, op: Op, number: int, make: Callable[[int], Any]) -> Any:
        with self._lock:
            self._check([number])
            fault = self._restore(number)
            if fault is not None:
                return _renamed(fault, op)
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
        numbers: Sequence[int],
        make: Callable[[int, list[int]], Any],
        timeout_s: float,
        outcomes: list[Any],
        items: Sequence[tuple[Any, ...]],
    ) -> None:
        """Fill the open positions of `outcomes`, at the cost of as few processes as needed."""
        left = [position for position, outcome in enumerate(outcomes) if outcome is None]
        kills = 0
        while left:
            left = self._restored(op, left, numbers, outcomes)
            if not left:
                return
            process = self._live()
            request = process.new_id()
            done = 0
            try:
                process.send(make(request, left), timeout_s)
                while done < len(left):
                    for reply in process.replies(request, len(left) - done, timeout_s):
                        if reply.index != done:
                            raise Broken("protocol", f"reply {reply.index} where {done} is due")
                        position = left[done]
                        outcomes[position] = self._accept(
                            op, numbers[position], reply, items[position]
                        )
                        done += 1
                return
            except Broken as broken:
                at = process.under_way()
                self._kill()
                kills += 1
                fault = Fault(kind=broken.kind, op=op, message=broken.message)
                culprit = left[at] if done <= at < len(left) else left[done]
                self._blame(op, culprit, numbers, outcomes, fault)
                left = [position for position in left[done:] if position != culprit]
                if kills >= MAX_KILLS:
                    for position in left:
                        self._blame(op, position, numbers, outcomes, fault)
                    return
            except BaseException:
                self._kill()  # interrupted: what is under way in the process is unknown
                raise

    def _restored(
        self,
        op: Literal["reset", "step"],
        left: list[int],
        numbers: Sequence[int],
        outcomes: list[Any],
    ) -> list[int]:
        """Return the positions whose instances are in the present process; fault the others."""
        generation = self._generation if self.alive else -1
        if all(self._instances[numbers[position]].generation == generation for position in left):
            return left
        for position in left:
            fault = self._restore(numbers[position])
            if fault is not None:
                self._blame(op, position, numbers, outcomes, _renamed(fault, op))
        kept = [position for position in left if outcomes[position] is None]
        stale = any(self._instances[numbers[k]].generation != self._generation for k in kept)
        return self._restored(op, kept, numbers, outcomes) if stale or not self.alive else kept

    def _blame(
        self, op: Op, position: int, numbers: Sequence[int], outcomes: list[Any], fault: Fault
    ) -> None:
        self._instances[numbers[position]].playing = False
        outcomes[position] = _faulted(op, fault)

    def _accept(self, op: Op, number: int, reply: Reply, item: tuple[Any, ...]) -> Any:
        """Turn a reply into an outcome; note it in the instance's record."""
        instance = self._instances[number]
        if reply.fault is not None:
            instance.playing = False
            return _faulted(op, fault_from(reply.fault, op))
        limits = self._limits
        observation = reply.observation
        if len(observation) > limits.max_observation_chars:
            raise Broken("protocol", "an observation over the limit")
        info = _info(reply.info, limits.max_info_bytes)
        if op == "reset":
            instance.begin(item[1], item[2], observation)
            return ResetOutcome(observation=observation, info=info, observation_cut=reply.cut)
        if not math.isfinite(reply.reward):
            raise Broken("protocol", f"the reward {reply.reward!r}")
        instance.note(item[1], observation)
        return StepOutcome(
            observation=observation,
            reward=reply.reward,
            terminated=reply.terminated,
            truncated=reply.truncated,
            info=info,
            observation_cut=reply.cut,
        )


def _info(raw: msgspec.Raw, most_bytes: int) -> dict[str, Json]:
    data = bytes(raw)
    if data == EMPTY_INFO:
        return {}
    if len(data) > most_bytes:
        raise Broken("protocol", f"an info of {len(data)} bytes, more than {most_bytes}")
    try:
        info: dict[str, Json] = check_json(_decode_info(data))
    except (ValueError, RecursionError) as error:
        raise Broken("protocol", f"the info {str(error)[:200]}") from None
    return info


def _decoded(raw: msgspec.Raw) -> Any:
    try:
        return msgspec.msgpack.decode(bytes(raw))
    except (msgspec.MsgspecError, RecursionError) as error:
        raise Broken("protocol", f"a malformed value: {str(error)[:200]}") from None


def _faulted(op: Op, fault: Fault) -> ResetOutcome | StepOutcome:
    if op == "reset":
        return ResetOutcome(fault=fault)
    return StepOutcome(truncated=True, fault=fault)


def _renamed(fault: Fault, op: Op) -> Fault:
    return Fault(kind=fault.kind, op=op, message=fault.message, traceback=fault.traceback)
