"""How long and how large the answer of a server may be, whatever it sends."""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from spade_envs.design.clients.replies import LATE, NoReply

MAX_REPLY_BYTES = 64 << 20
"""Of a whole answer, or of one line of a stream."""
MAX_HEAD_BYTES = 1 << 20
"""Of all that comes before an answer's body: its headers, and notes that it is coming."""
_ERROR_S = 30.0
_OPENED = (".connect_tcp.complete", ".start_tls.complete")


class Bounds(threading.local):
    """Hooks for the SDK's transport, `httpx2` or `httpx`, that look at bytes as they come.

    A server that sends a byte now and then, in its headers or after them, keeps every timeout of
    the transport waiting, and one line without an end fills the memory. A request is sent and its
    answer read in one thread, so each thread has its own bounds.

    Args:
        timeout_s: from the request to the last byte of its answer.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._deadline = self._head_left = float("inf")

    @property
    def hooks(self) -> Mapping[str, list[Callable[[Any], None]]]:
        """Return the hooks as the transport takes them."""
        return {"request": [self.asking], "response": [self.answered]}

    def asking(self, request: Any) -> None:
        """Begin the time of a request, and have its connection looked at when it is opened."""
        self._head_left = MAX_HEAD_BYTES
        if request.extensions.get("trace") == self._opened:
            self._in_time()  # sent on by the server: the same request, and no more time
            return
        self._deadline = time.monotonic() + self._timeout_s
        request.extensions["trace"] = self._opened

    def answered(self, response: Any) -> None:
        """Bound the body of an answer whose head has come."""
        if response.headers.get("content-encoding", "identity") not in ("identity", ""):
            raise NoReply("it answered in an encoding that was not asked for")
        if response.status_code >= 400:
            # What an error says is short, and worth more than that it came late.
            self._deadline = max(self._deadline, time.monotonic() + _ERROR_S)
        self._head_left = float("inf")
        lines = "text/event-stream" in response.headers.get("content-type", "")
        response.stream = _bounded(response, self._in_time, lines=lines)

    def _in_time(self) -> None:
        if time.monotonic() > self._deadline:
            raise NoReply(LATE)

    def _opened(self, event: str, info: Mapping[str, Any]) -> None:
        """Look at whatever is read from a connection that was just opened."""
        if not event.endswith(_OPENED):
            return
        stream = info["return_value"]
        inner = stream.read

        def read(max_bytes: int, timeout: float | None = None) -> bytes:
            self._in_time()
            data: bytes = inner(max_bytes, timeout)
            self._head_left -= len(data)
            if self._head_left < 0:
                raise NoReply(f"the head of its reply is longer than {MAX_HEAD_BYTES} bytes")
            return data

        stream.read = read


def _bounded(response: Any, in_time: Callable[[], None], *, lines: bool) -> Any:
    base: Any = importlib.import_module(type(response).__module__.partition(".")[0])
    inner = response.stream

    class Bounded(base.SyncByteStream):  # type: ignore[misc]
        def __iter__(self) -> Iterator[bytes]:
            size = 0
            for data in inner:
                in_time()
                end = data.rfind(b"\n") if lines else -1
                size = size + len(data) if end < 0 else len(data) - end - 1
                if size > MAX_REPLY_BYTES:
                    raise NoReply(f"the reply is longer than {MAX_REPLY_BYTES} bytes")
                yield data

        def close(self) -> None:
            inner.close()

    return Bounded()
