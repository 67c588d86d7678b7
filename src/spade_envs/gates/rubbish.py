"""Fewer garbage collections while a check runs: nearly all that it makes is kept to its end."""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Iterator

_NEW_OBJECTS = 50_000
"""New objects after which rubbish is looked for, a few megabytes of them."""

_lock = threading.Lock()
_running = 0
_before = (0, 0, 0)


@contextlib.contextmanager
def rarely_collected() -> Iterator[None]:
    """Let the process collect garbage less often; what was set before holds again afterwards.

    May be nested and used by several threads. Where collection is off, it stays off.
    """
    global _running, _before
    with _lock:
        if not _running:
            _before = gc.get_threshold()
            first = _before[0] and max(_before[0], _NEW_OBJECTS)
            gc.set_threshold(first, *_before[1:])
        _running += 1
    try:
        yield
    finally:
        with _lock:
            _running -= 1
            if not _running:
                gc.set_threshold(*_before)
