"""Processes of our own that look at a share of a large store, for `verify_quick`.

A fork would take threads and locks of the caller along, and outlive a caller that is killed. These
start afresh, speak JSON and end with their pipe; what one does not do, the caller does itself.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field
from pathlib import Path

from spade_envs.store.verify import Problem

MANY = 5_000
"""Environments from which on several processes share the work."""
MOST = 8
"""Processes at once."""
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.stdin.readline()); "
    "from spade_envs.store.helper import serve; serve()"
)


@dataclass(frozen=True, slots=True)
class Part:
    """What was found in a share of the environments."""

    count: int = 0
    """Versions that can be read."""
    rows: bytes = b""
    """Their lines of the index."""
    problems: list[Problem] = field(default_factory=list)


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Helper:
    """One process that looks at environments beside this one.

    Args:
        root: folder of the store.
        names: folders of environments in it, sorted, none of another share among them.
    """

    def __init__(self, root: Path, names: Sequence[str]) -> None:
        self.names = names
        asked = [str(root.absolute()), names[0], names[-1]]
        try:
            self._process: subprocess.Popen[bytes] | None = subprocess.Popen(
                [sys.executable, "-I", "-c", _START],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            assert self._process.stdin is not None
            with self._process.stdin as pipe:
                pipe.write(f"{json.dumps(sys.path)}\n{json.dumps(asked)}\n".encode())
        except OSError:
            self._process = None

    def result(self) -> Part | None:
        """Return what it found; None if it did not start, ended early or is not understood."""
        if self._process is None or self._process.stdout is None:
            return None
        said = self._process.stdout.read()
        if self._process.wait() != 0:
            return None
        head, _, rows = said.partition(b"\n")
        try:
            count, problems = json.loads(head)
            return Part(count, rows, [Problem(*each) for each in problems])
        except (ValueError, TypeError):
            return None

    def close(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            if self._process.stdout is not None:
                self._process.stdout.close()


def serve() -> None:
    """Look at what stdin asks for, from one name to another, and write what is found to stdout."""
    from spade_envs.store.files import open_folder
    from spade_envs.store.layout import ENVS
    from spade_envs.store.quick import look

    place, first, last = json.loads(sys.stdin.readline())
    root = Path(place)
    with open_folder(root, ENVS) as envs:
        names = sorted(name for name in os.listdir(envs) if first <= name <= last)
    found = look(root, names)
    head = json.dumps([found.count, [astuple(each) for each in found.problems]])
    sys.stdout.buffer.write(head.encode() + b"\n" + found.rows)
    sys.stdout.buffer.flush()
