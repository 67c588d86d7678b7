"""How fast a server may be asked: requests and tokens a minute, and pauses that it asks for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from spade_envs.errors import ConfigError


class Pace:
    """Lets a thread through when the limits allow its request; for many threads at once.

    Two buckets fill evenly and hold a minute's worth, so no minute sees more than twice the limit
    and the long run never more than it. A request takes what it may need at most and gives back
    what it did not use. One that is larger than the bucket waits until it is full.

    Args:
        requests_per_minute: None for no limit, else > 0.
        tokens_per_minute: read and written; None for no limit, else > 0.
        clock: in s.
        sleep: waits for so many s.
    """

    def __init__(
        self,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        for name, limit in (
            ("requests_per_minute", requests_per_minute),
            ("tokens_per_minute", tokens_per_minute),
        ):
            if limit is not None and limit <= 0:
                raise ConfigError(f"{name} must be > 0, not {limit}")
        self._limits = (requests_per_minute, tokens_per_minute)
        self._left = [requests_per_minute or 0.0, tokens_per_minute or 0.0]
        self._clock, self._sleep = clock, sleep
        self._at = clock()
        self._closed_until = self._at
        self._lock = threading.Lock()

    def take(self, tokens: int) -> None:
        """Wait until a request that may need so many tokens can be sent."""
        while (delay := self._try(tokens)) > 0:
            self._sleep(delay)

    def give_back(self, tokens: int) -> None:
        """Return tokens that were taken and not used; negative if more were used."""
        with self._lock:
            self._left[1] += tokens

    def pause(self, seconds: float) -> None:
        """Let nobody through for so long: the server said so."""
        with self._lock:
            self._closed_until = max(self._closed_until, self._clock() + seconds)

    def _try(self, tokens: int) -> float:
        """Take what is needed and return 0, or return how long to wait, in s."""
        with self._lock:
            now = self._clock()
            for at, limit in enumerate(self._limits):
                if limit is not None:
                    self._left[at] = min(limit, self._left[at] + (now - self._at) * limit / 60)
            self._at = now
            delays = [self._closed_until - now]
            needed = (1.0, float(tokens))
            for limit, left, need in zip(self._limits, self._left, needed, strict=True):
                if limit is not None:
                    delays.append((min(need, limit) - left) * 60 / limit)
            if (delay := max(delays)) > 1e-9:
                return delay
            self._left = [left - need for left, need in zip(self._left, needed, strict=True)]
            return 0.0
