"""The host's end of the channel to one worker: frames out, checked frames in, on time.

One blocking receive with a kernel timeout is the whole fast path: no poll, no thread.
"""

from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Iterator
from typing import Any

import msgspec

from spade_envs.sandbox.protocol import HEADER_BYTES
from spade_envs.types import FaultKind

_BUFFER_BYTES = 256 * 1024
_SPIN_S = 0.00025 if len(os.sched_getaffinity(0)) > 1 else 0.0
"""How long a reply is waited for without sleeping; on one processor that would only delay it."""
_TIMEVAL = struct.Struct("ll")


class Broken(Exception):
    """Raised when a worker can no longer be trusted or reached; the caller kills it."""

    def __init__(self, kind: FaultKind, message: str) -> None:
        super().__init__(kind, message)
        self.kind, self.message = kind, message


class Channel:
    """Frames over a connected stream socket.

    Args:
        sock: a blocking socket, owned from now on.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._receive_into = sock.recv_into
        self._buffer = bytearray(_BUFFER_BYTES)
        self._view = memoryview(self._buffer)
        self._start = self._end = 0
        self._timeout_s = 0.0
        self.may_spin = True
        """Whether replies are waited for without sleeping at first."""
        self._encode_into = msgspec.msgpack.Encoder().encode_into
        self._out = bytearray(64 * 1024)
        self._ids: Iterator[int] = iter(())

    def close(self) -> None:
        """Close the socket."""
        self._sock.close()

    def new_id(self) -> int:
        """Return a fresh request id of 64 random bits."""
        for number in self._ids:
            return number
        self._ids = iter(memoryview(os.urandom(4096)).cast("Q"))
        return next(self._ids)

    def send(self, message: msgspec.Struct, timeout_s: float) -> None:
        """Send one frame; bytes that wait unread are an answer to nothing.

        Raises:
            Broken: the worker is gone or does not read.
        """
        self.expect_silence()
        out = self._out
        self._encode_into(message, out, HEADER_BYTES)
        out[:HEADER_BYTES] = (len(out) - HEADER_BYTES).to_bytes(HEADER_BYTES, "little")
        self._limit(timeout_s)
        try:
            sent = self._sock.send(out, socket.MSG_NOSIGNAL)
            while sent < len(out):
                sent += self._sock.send(memoryview(out)[sent:], socket.MSG_NOSIGNAL)
        except BlockingIOError:
            raise Broken("timeout", "the worker does not read its requests") from None
        except OSError:
            raise Broken("crash", "the worker is gone") from None

    def expect_silence(self) -> None:
        """Check that no bytes are waiting unread in the buffer.

        Raises:
            Broken: there are some.
        """
        if self._start != self._end:
            raise Broken("protocol", "the worker sent more than it was asked for")

    def receive(self, most_bytes: int, timeout_s: float) -> memoryview:
        """Return the next frame's content; it is valid until the next call.

        Raises:
            TimeoutError: no complete frame came in time.
            Broken: the worker is gone, or announced more than `most_bytes`.
        """
        start, end = self._start, self._end
        if end == start:
            self._limit(timeout_s)
            start, end = 0, (self.may_spin and self._spin()) or self._fill(0)
        if end - start >= HEADER_BYTES:
            first = start + HEADER_BYTES
            stop = first + int.from_bytes(self._view[start:first], "little")
            if stop <= end and stop - first <= most_bytes:
                self._start, self._end = stop, end
                return self._view[first:stop]
        return self._receive_slowly(start, end, most_bytes, timeout_s)

    def _receive_slowly(
        self, start: int, end: int, most_bytes: int, timeout_s: float
    ) -> memoryview:
        """Collect a frame that came in pieces, or reject one that is too large."""
        deadline = time.monotonic() + timeout_s
        view = self._view
        view[: end - start] = bytes(view[start:end])
        start, end = 0, end - start
        need = HEADER_BYTES
        while True:
            self._start, self._end = start, end
            if end >= HEADER_BYTES:
                size = int.from_bytes(view[:HEADER_BYTES], "little")
                if size > most_bytes:
                    raise Broken("protocol", f"a reply of {size} bytes, more than {most_bytes}")
                need = HEADER_BYTES + size
                if end >= need:
                    self._start = need
                    return view[HEADER_BYTES:need]
                if need > len(view):
                    self._grow(need, end)
                    view = self._view
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise TimeoutError
            self._limit(remaining)
            end += self._fill(end)

    def _grow(self, need: int, end: int) -> None:
        larger = bytearray(need + _BUFFER_BYTES)
        larger[:end] = self._view[:end]
        self._buffer, self._view = larger, memoryview(larger)

    def _spin(self) -> int:
        """Return the bytes that came within a moment, else 0: waking up costs more than waiting."""
        until = time.perf_counter() + _SPIN_S
        while time.perf_counter() < until:
            try:
                return self._receive_into(self._buffer, 0, socket.MSG_DONTWAIT)
            except BlockingIOError:
                continue
            except OSError:
                return 0  # the blocking call says what is the matter
        return 0

    def _fill(self, offset: int) -> int:
        try:
            count = self._receive_into(self._view[offset:] if offset else self._buffer)
        except BlockingIOError:
            raise TimeoutError from None
        except OSError:
            raise Broken("crash", "the worker is gone") from None
        if not count:
            raise Broken("crash", "the worker process ended")
        return count

    def _limit(self, timeout_s: float) -> None:
        if timeout_s != self._timeout_s:
            value = _timeval(timeout_s)
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, value)
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, value)
            self._timeout_s = timeout_s


def _timeval(timeout_s: float) -> bytes:
    micros = max(1, int(timeout_s * 1_000_000))
    return _TIMEVAL.pack(micros // 1_000_000, micros % 1_000_000)


def decode(decoder: msgspec.msgpack.Decoder[Any], frame: memoryview) -> Any:
    """Decode a frame, or call it a protocol fault.

    Raises:
        Broken: the bytes are not what the protocol says.
    """
    try:
        return decoder.decode(frame)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError, OverflowError) as error:
        raise Broken("protocol", f"a malformed reply: {str(error)[:200]}") from None
