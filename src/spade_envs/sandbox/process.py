"""One worker process: started, loaded, asked, killed. Knows nothing of instances."""

from __future__ import annotations

import contextlib
import mmap
import os
import signal
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from spade_envs.sandbox.channel import Broken, Channel, decode
from spade_envs.sandbox.outcomes import fault_from
from spade_envs.sandbox.protocol import (
    MAX_VALUE_BYTES,
    Load,
    Mode,
    Replies,
    Reply,
    StepReplies,
    Value,
)
from spade_envs.types import EnvSource, Fault, Interface, Limits

_FRAME_SLACK = 65_536
_MAX_STARVED = 1.0
"""Time spent waiting for a processor extends a deadline by at most this multiple of it."""
_LOOK_EVERY_S = 0.5


class Loaded(msgspec.Struct, frozen=True):
    """What a worker says of the source it executed."""

    interface: Interface
    layers: list[str]
    global_rng: bool


_replies = msgspec.msgpack.Decoder(Replies)
_step_replies = msgspec.msgpack.Decoder(StepReplies)
_value = msgspec.msgpack.Decoder(Value)
_loaded = msgspec.msgpack.Decoder(Loaded)


@dataclass(frozen=True, slots=True)
class Program:
    """What every process of one `Worker` executes."""

    source: EnvSource
    limits: Limits
    mode: Mode
    poison: bool
    spin: bool = True


class WorkerProcess:
    """A forked, locked process behind its channel.

    Args:
        sock: its channel.
        pidfd: its process, for killing.
        progress: memfd with two counters that it writes.
        limits: deadlines and sizes.
    """

    def __init__(self, sock: socket.socket, pidfd: int, progress: int, limits: Limits) -> None:
        self.alive = True
        self._channel = Channel(sock)
        self._pidfd = pidfd
        self._page = mmap.mmap(progress, mmap.PAGESIZE, prot=mmap.PROT_READ)
        os.close(progress)
        self._looked = self._starved_before_s = 0.0
        self._reply_bytes = 4 * limits.max_observation_chars + limits.max_info_bytes + _FRAME_SLACK

    def load(self, program: Program) -> Loaded | Fault:
        """Execute the source; a fault means that the process is of no use."""
        limits = program.limits
        request = Load(
            self._channel.new_id(),
            program.source.code.encode("utf-8", "replace").decode(),
            program.mode,
            program.poison,
            limits.max_observation_chars,
            limits.max_info_bytes,
            program.spin,
        )
        self._channel.may_spin = program.spin
        try:
            value = self._ask(request, limits.load_timeout_s)
            if value.fault is not None:
                return fault_from(value.fault, "load")
            return checked_interface(decode(_loaded, memoryview(value.value)))
        except Broken as broken:
            return Fault(kind=broken.kind, op="load", message=broken.message)

    def ask(self, request: Any, timeout_s: float) -> Value:
        """Send a request with one answer.

        Raises:
            Broken: no proper answer in time; the process must be killed.
        """
        return self._ask(request, timeout_s)

    def new_id(self) -> int:
        """Return a fresh request id."""
        return self._channel.new_id()

    def send(self, request: Any, timeout_s: float) -> None:
        """Send a request that is answered by several replies (see `replies`)."""
        self._begin()
        self._channel.send(request, timeout_s)

    def replies(self, request: int, expected: int, timeout_s: float) -> Sequence[Reply]:
        """Return the next replies to `request`; at least one, at most `expected`.

        Raises:
            Broken: the instance under way is at fault (see `under_way`).
        """
        most = self._reply_bytes * expected + _FRAME_SLACK
        frame = self._receive(most, timeout_s)
        message: Replies = decode(_replies, frame)
        if message.request != request:
            raise Broken("protocol", "a reply to another request")
        if not 0 < len(message.replies) <= expected:
            raise Broken("protocol", f"{len(message.replies)} replies where {expected} are due")
        return message.replies

    def step_replies(self, request: int, expected: int, timeout_s: float) -> StepReplies:
        """Return the next replies to a step; at least one row, at most `expected`.

        Raises:
            Broken: the instance under way is at fault (see `under_way`).
        """
        most = self._reply_bytes * expected + _FRAME_SLACK
        message: StepReplies = decode(_step_replies, self._receive(most, timeout_s))
        if message.request != request:
            raise Broken("protocol", "a reply to another request")
        rows = len(message.observations)
        if not 0 < rows <= expected or rows != len(message.rewards):
            raise Broken("protocol", f"{rows} replies where {expected} are due")
        return message

    def expect_silence(self) -> None:
        """Check that nothing came beyond the replies that were due.

        Raises:
            Broken: the worker said more than it was asked.
        """
        self._channel.expect_silence()

    def under_way(self) -> int:
        """Return the index, in its batch, of the instance that the worker says it is running."""
        return int.from_bytes(self._page[:4], "little")

    def kill(self) -> None:
        """End the process at once."""
        if not self.alive:
            return
        self.alive = False
        with contextlib.suppress(OSError):
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        self._release()

    def abandon(self) -> None:
        """Forget the process in a forked child of the host."""
        if self.alive:
            self.alive = False
            self._release()

    def __del__(self) -> None:
        # For handles that were dropped without `close`; an unfinished object has no `alive`.
        if getattr(self, "alive", False):
            self.kill()

    def _release(self) -> None:
        self._channel.close()
        os.close(self._pidfd)
        self._page.close()

    def _ask(self, request: Any, timeout_s: float) -> Value:
        self._begin()
        self._channel.send(request, timeout_s)
        value: Value = decode(_value, self._receive(MAX_VALUE_BYTES, timeout_s))
        if value.request != request.request:
            raise Broken("protocol", "a reply to another request")
        return value

    def _receive(self, most_bytes: int, timeout_s: float) -> memoryview:
        """Receive, and add to the deadline what the process spent waiting for a processor."""
        try:
            return self._channel.receive(most_bytes, timeout_s)
        except TimeoutError:
            pass
        waited_s = timeout_s
        while True:
            extra_s = min(self._starved_s() - self._starved_before_s, _MAX_STARVED * timeout_s)
            if waited_s >= timeout_s + 0.9 * extra_s:
                raise Broken("timeout", f"took longer than {timeout_s:g} s")
            pause_s = max(timeout_s + extra_s - waited_s, 0.01)
            try:
                return self._channel.receive(most_bytes, pause_s)
            except TimeoutError:
                waited_s += pause_s

    def _begin(self) -> None:
        """Note, about twice a second, how long the process has been waiting for a processor."""
        now = time.monotonic()
        if now - self._looked > _LOOK_EVERY_S:
            self._looked, self._starved_before_s = now, self._starved_s()

    def _starved_s(self) -> float:
        """Return how long the process has waited for a processor so far."""
        try:
            with open(f"/proc/self/fdinfo/{self._pidfd}") as file:
                pid = next(line.split()[1] for line in file if line.startswith("Pid:"))
            with open(f"/proc/{pid}/schedstat") as file:
                return int(file.read().split()[1]) / 1e9
        except (OSError, StopIteration, IndexError, ValueError):
            return 0.0


def checked_interface(loaded: Loaded) -> Loaded:
    """Return `loaded` if its figures are possible.

    Raises:
        Broken: a worker that says such things is not ours.
    """
    interface = loaded.interface
    sane = 1 <= interface.levels <= 100 and 1 <= interface.max_turns <= 1000
    if not sane or len(interface.summary) > 1000 or len(interface.entry) > 1000:
        raise Broken("protocol", "an impossible interface")
    return loaded
