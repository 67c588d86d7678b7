"""The worker's loop: one request in, answers out, until the host closes the channel.

Foreign code runs in this process and can reach everything in it, this module included; what it
can falsify is only what it says about itself. The host checks every byte.
"""

from __future__ import annotations

import mmap
import os
import select
from time import perf_counter
from typing import Any

import msgspec

from spade_envs.sandbox import audit, execution, instances, poison, probes
from spade_envs.sandbox.instances import (
    FLUSH_CHARS,
    FLUSH_REPLIES,
    Columns,
    ReplyTuple,
    Table,
)
from spade_envs.sandbox.protocol import (
    HEADER_BYTES,
    Ask,
    Create,
    Discard,
    Load,
    Many,
    Probe,
    Replay,
    Request,
    Reset,
    Step,
)

FLUSH_AFTER_S = 0.002
"""Answers wait at most about this long for those of the next instances of the batch."""
_SPIN_S = 0.00025 if len(os.sched_getaffinity(0)) > 1 else 0.0
_READ_BYTES = 128 * 1024
_RAW_NOTHING = msgspec.Raw(b"\xc0")


def map_progress(descriptor: int) -> memoryview:
    """Return the shared counter that says which item of the batch is under way."""
    return memoryview(mmap.mmap(descriptor, mmap.PAGESIZE)).cast("I")[:1]


class _Channel:
    """Frames over one descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._fd = descriptor
        self._decode = msgspec.msgpack.Decoder(Request).decode
        self._encode_into = msgspec.msgpack.Encoder().encode_into
        self._buffer = bytearray(64 * 1024)
        self.spin_s = _SPIN_S
        poller = select.poll()
        poller.register(descriptor, select.POLLIN)
        self._ready = poller.poll

    def receive(self) -> Request | None:
        until = perf_counter() + self.spin_s
        while perf_counter() < until and not self._ready(0):
            pass  # waking up costs more than waiting for a moment
        data = os.read(self._fd, _READ_BYTES)
        while len(data) < HEADER_BYTES:
            more = os.read(self._fd, _READ_BYTES)
            if not more:
                return None
            data += more
        size = HEADER_BYTES + int.from_bytes(data[:HEADER_BYTES], "little")
        if len(data) < size:
            parts, have = [data], len(data)
            while have < size:
                more = os.read(self._fd, size - have)
                if not more:
                    return None
                parts.append(more)
                have += len(more)
            data = b"".join(parts)
        return self._decode(memoryview(data)[HEADER_BYTES:])

    def send(self, message: Any) -> None:
        buffer = self._buffer
        self._encode_into(message, buffer, HEADER_BYTES)
        buffer[:HEADER_BYTES] = (len(buffer) - HEADER_BYTES).to_bytes(HEADER_BYTES, "little")
        sent = os.write(self._fd, buffer)
        while sent < len(buffer):
            sent += os.write(self._fd, memoryview(buffer)[sent:])


def serve(descriptor: int, counters: memoryview, layers: tuple[str, ...]) -> None:
    """Answer requests until the channel closes."""
    channel = _Channel(descriptor)
    first = channel.receive()
    if not isinstance(first, Load):
        return
    channel.spin_s = _SPIN_S if first.spin else 0.0
    audit.start()
    probes.start()
    try:
        entry, value = _load(first, layers)
        table = Table(entry, first.max_observation_chars, first.max_info_bytes)
        table.keep_global_rng = value["global_rng"]
    except BaseException as error:  # noqa: BLE001  the boundary: foreign code has run
        channel.send((first.request, _RAW_NOTHING, instances.fault_of(error)))
        return
    channel.send((first.request, value, None))
    server = _Server(channel, counters, table)
    while True:
        request = channel.receive()
        if request is None:
            return
        server.answer(request)


def _load(request: Load, layers: tuple[str, ...]) -> tuple[Any, dict[str, Any]]:
    if request.poison:
        poison.install()
    entry, interface, global_rng = execution.load(request.code, request.mode)
    interface_json = msgspec.to_builtins(interface)
    return entry, {
        "interface": interface_json,
        "layers": list(layers),
        "global_rng": global_rng,
    }


class _Server:
    def __init__(self, channel: _Channel, counters: memoryview, table: Table) -> None:
        self._channel = channel
        self._counters = counters
        self._table = table

    def answer(self, request: Request) -> None:
        if isinstance(request, Step):
            self._stream_steps(request)
        elif isinstance(request, Reset):
            self._stream_resets(request)
        elif isinstance(request, Replay):
            self._channel.send((request.request, [self._replay(request)]))
        elif not isinstance(request, Load):
            self._answer_value(request)

    def _stream_steps(self, request: Step) -> None:
        """Take the steps; replies are sent together unless that makes one wait."""
        columns, count = Columns(), len(request.instances)
        number, send = request.request, self._channel.send

        def flush(done: int) -> float:
            if columns.observations and done < count:
                send((number, columns.observations, columns.rewards, columns.marks))
                columns.clear()
            return perf_counter() + FLUSH_AFTER_S

        self._table.steps(request.instances, request.actions, columns, self._counters, flush)
        send((number, columns.observations, columns.rewards, columns.marks))

    def _stream_resets(self, request: Reset) -> None:
        """Reset the instances; replies are sent together unless that makes one wait."""
        replies: list[ReplyTuple] = []
        due = perf_counter() + FLUSH_AFTER_S
        for index, item in enumerate(request.items):
            self._counters[0] = index
            reply = self._table.reset(*item)
            replies.append(reply)
            late = perf_counter() > due or len(reply[1]) > FLUSH_CHARS
            if late or len(replies) >= FLUSH_REPLIES or index == len(request.items) - 1:
                self._channel.send((request.request, replies))
                replies = []
                due = perf_counter() + FLUSH_AFTER_S

    def _replay(self, request: Replay) -> ReplyTuple:
        table, number = self._table, request.instance
        fault = table.create(number, request.level)
        if fault is not None:
            return instances.failed(number, fault)
        reply = table.reset(number, request.seed, request.options)
        for action in request.actions:
            if reply[-1] is not None:
                break
            reply = table.step(number, action)
        return reply

    def _answer_value(self, request: Create | Ask | Probe | Discard | Many) -> None:
        if isinstance(request, Discard):
            for number in request.instances:
                self._table.discard(number)
            answer: Any = (None, None)
        elif isinstance(request, Many):
            answer = ([self._one_value(item) for item in request.items], None)
        else:
            answer = self._one_value(request)
        self._channel.send((request.request, *answer))

    def _one_value(self, request: Create | Ask | Probe) -> tuple[Any, Any]:
        if isinstance(request, Create):
            return None, self._table.create(request.instance, request.level)
        if isinstance(request, Ask):
            return self._table.ask(request.instance, request.what)
        return probes.run(self._table, request)
