"""How long and how large the answer of a server may be, whatever it sends."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterator
from typing import Any

from spade_envs.design.clients.replies import LATE, NoReply

MAX_REPLY_BYTES = 64 << 20
"""Of a whole answer, or of one line of a stream."""
_ERROR_S = 30.0


def bounding(timeout_s: float) -> Callable[[Any], None]:
    """Return a response hook for the SDK's transport, `httpx2` or `httpx`.

    A server that sends a byte now and then keeps every timeout of the transport waiting, and one
    line without an end fills the memory; so bytes are looked at as they come.

    Args:
        timeout_s: from the head of an answer to its last byte.
    """

    def bound(response: Any) -> None:
        if response.headers.get("content-encoding", "identity") not in ("identity", ""):
            raise NoReply("it answered in an encoding that was not asked for")
        lines = "text/event-stream" in response.headers.get("content-type", "")
        # What an error says is short, and worth more than that it came late.
        limit_s = timeout_s if response.status_code < 400 else max(timeout_s, _ERROR_S)
        response.stream = _bounded(response, time.monotonic() + limit_s, lines=lines)

    return bound


def _bounded(response: Any, deadline: float, *, lines: bool) -> Any:
    base: Any = importlib.import_module(type(response).__module__.partition(".")[0])
    inner = response.stream

    class Bounded(base.SyncByteStream):  # type: ignore[misc]
        def __iter__(self) -> Iterator[bytes]:
            size = 0
            for data in inner:
                if time.monotonic() > deadline:
                    raise NoReply(LATE)
                end = data.rfind(b"\n") if lines else -1
                size = size + len(data) if end < 0 else len(data) - end - 1
                if size > MAX_REPLY_BYTES:
                    raise NoReply(f"the reply is longer than {MAX_REPLY_BYTES} bytes")
                yield data

        def close(self) -> None:
            inner.close()

    return Bounded()
