"""Signals that end a run after the update under way."""

from __future__ import annotations

import logging
import signal
import threading
from types import FrameType
from typing import Any, Self

logger = logging.getLogger(__name__)

_CAUGHT = (signal.SIGTERM, signal.SIGINT)


class Interrupts:
    """While entered, SIGTERM and the first SIGINT ask the run to stop; a second SIGINT kills it.

    Elsewhere than in the main thread nothing is caught, for Python allows no more.
    """

    def __init__(self) -> None:
        self._reason = ""
        self._before: dict[signal.Signals, Any] = {}

    def reason(self) -> str:
        """Return why the run is to stop, such as `signal SIGTERM`; empty if it is not."""
        return self._reason

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = {each: signal.signal(each, self._catch) for each in _CAUGHT}
        return self

    def __exit__(self, *_: object) -> None:
        for each, handler in self._before.items():
            signal.signal(each, handler)

    def _catch(self, number: int, frame: FrameType | None) -> None:
        self._reason = f"signal {signal.Signals(number).name}"
        if number == signal.SIGINT:
            logger.warning("ending after the update under way; Ctrl-C again ends at once")
        signal.signal(signal.SIGINT, self._before[signal.SIGINT])
