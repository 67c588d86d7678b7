"""Where the two commands start: an interrupt while their packages are imported ends them well.

It stands outside of both packages, for importing one of its modules imports a package first.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
from types import FrameType

INTERRUPTED = 130


def envs() -> None:
    """Run `spade-envs`."""
    _run("spade_envs.cli.main")


def train() -> None:
    """Run `spade-train`."""
    _run("spade_train.cli")


def _run(module: str) -> None:
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # else it is ignored
    if usual:
        signal.signal(signal.SIGINT, _leave)
    command = importlib.import_module(module)
    if usual:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        command.main()
    except KeyboardInterrupt:
        _leave(signal.SIGINT, None)


def _leave(number: int, frame: FrameType | None) -> None:
    """End at once: compiled modules make other errors of an exception that is raised in them."""
    with contextlib.suppress(OSError):
        os.write(2, b"\ninterrupted\n")
    os._exit(INTERRUPTED)
