"""Where the two commands start: an interrupt while their packages are imported ends them well.

It stands outside of both packages, for importing one of its modules imports a package first.
"""

from __future__ import annotations

import contextlib
import importlib
import sys

INTERRUPTED = 130


def envs() -> None:
    """Run `spade-envs`."""
    _run("spade_envs.cli.main")


def train() -> None:
    """Run `spade-train`."""
    _run("spade_train.cli")


def _run(module: str) -> None:
    try:
        importlib.import_module(module).main()
    except KeyboardInterrupt:
        with contextlib.suppress(AttributeError, OSError, ValueError):  # of a stream that is closed
            sys.stderr.write("\ninterrupted\n")
        sys.exit(INTERRUPTED)
