"""Many reads at once from a remote, tried again where the network failed, and counted."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from pathlib import Path
from typing import TypeVar

from spade_envs.errors import RemoteError
from spade_envs.sharing.remotes.protocol import Moved, Remote, TooLong, Unreadable

T = TypeVar("T")
K = TypeVar("K")

JOBS = 8
_TRIES = 3
_PAUSE_S = 0.2
_GRACE_S = 1.0


class Reader:
    """Reads from one remote.

    Args:
        remote: where from.
        jobs: how many reads are under way at once, >= 1.
    """

    def __init__(self, remote: Remote, jobs: int = JOBS) -> None:
        self._remote, self._jobs = remote, jobs
        self._lock = threading.Lock()
        self.bytes = 0
        """Of file contents that were read."""

    @property
    def place(self) -> Path:
        """Return what stands for the remote in a record."""
        return Path(self._remote.label)

    def read(self, path: str, max_bytes: int) -> bytes:
        """Return a file's bytes, at most so many.

        Raises:
            FileNotFoundError: there is no such file.
            TooLong: it is longer.
            Unreadable: it may not be read.
            RemoteError: it cannot be read in three tries.
        """
        data = b"" if max_bytes == 0 else again(lambda: self._remote.read(path, max_bytes))
        with self._lock:
            self.bytes += len(data)
        return data

    def each(self, keys: Iterable[K], act: Callable[[K], T]) -> Iterator[tuple[K, T]]:
        """Yield what `act` gives for each key as it comes; a few at a time, in no order.

        What `act` raises ends all.
        """
        yield from at_once(keys, act, self._jobs)


def again(act: Callable[[], T]) -> T:
    """Return what `act` gives; a remote that fails is asked three times."""
    for attempt in range(_TRIES - 1):
        try:
            return act()
        except (Moved, TooLong, Unreadable):
            raise
        except RemoteError:
            time.sleep(_PAUSE_S * 4**attempt)
    return act()


def at_once(keys: Iterable[K], act: Callable[[K], T], jobs: int) -> Iterator[tuple[K, T]]:
    """Yield what `act` gives for each key, `jobs` at once; few wait, however many there are.

    What fails waits for what is under way; an interrupt does so for a second only.
    """
    todo, running = iter(keys), dict[Future[T], K]()
    pool = ThreadPoolExecutor(jobs, thread_name_prefix="transfer")
    waits = True
    try:
        while True:
            for key in islice(todo, 2 * jobs - len(running)):
                running[pool.submit(act, key)] = key
            if not running:
                return
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(done), done.result()
    except KeyboardInterrupt:
        waits = False
        for future in running:
            future.cancel()
        wait(running, timeout=_GRACE_S)  # most are placed by then, and known to the index
        raise
    finally:
        pool.shutdown(wait=waits, cancel_futures=True)
