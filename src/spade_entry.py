"""Where the two commands start: an interrupt while their packages are imported ends them well.

It stands outside of both packages, for importing one of its modules imports a package first.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType, ModuleType

INTERRUPTED = 130


def envs() -> None:
    """Run `spade-envs`."""
    _run("spade_envs.cli.main")


def train() -> None:
    """Run `spade-train`."""
    _run("spade_train.cli")


def _run(module: str) -> None:
    command = imported(module)
    try:
        command.main()
    except KeyboardInterrupt:
        _leave(signal.SIGINT, None)


def imported(module: str) -> ModuleType:
    """Return a module; an interrupt while it is imported ends the process at once."""
    with _leaving():
        return importlib.import_module(module)


@contextlib.contextmanager
def _leaving() -> Iterator[None]:
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not usual or threading.current_thread() is not threading.main_thread():
        yield  # interrupts are ignored, somebody else's, or ours already
        return
    signal.signal(signal.SIGINT, _leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(number: int, frame: FrameType | None) -> None:
    """End at once: compiled modules make other errors of an exception that is raised in them."""
    with contextlib.suppress(OSError):
        os.write(2, b"\ninterrupted\n")
    os._exit(INTERRUPTED)
