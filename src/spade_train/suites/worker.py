"""Suites of foreign code in killable processes: a scorer that hangs costs one attempt.

A session is a function of suite, task, seed and replies. So when a process has to be killed, the
sessions that lived in it beside the culprit are played again in a new one, and nobody notices.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import platformdirs

from spade_envs.errors import ConfigError
from spade_envs.types import Json, Message
from spade_train.errors import SuiteError
from spade_train.suites.answers import About, about_of, score_of, state_of, tasks_of, text_of
from spade_train.suites.base import Fault, Said, Score, Task

_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from spade_train.suites.child import main; main(int(sys.argv[2]))"
)
_MAX_LINE = 1 << 28
_TAIL = 400
_SET = {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}
_KEPT = ("PATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH", "SSL_CERT_FILE")
"""Variables that the process gets; no keys and no tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one call may take; beyond, the process is killed."""

    load_s: float = 300.0
    """To load the suite, and to list its tasks."""
    call_s: float = 60.0
    """To open a session, take a reply, score, or ask the oracle."""
    memory_mb: int = 16_384
    """Address space of the process; 0 for no limit."""


def isolated(
    factory: str,
    settings: Mapping[str, Json] | None = None,
    *,
    packages: Path | None = None,
    limits: Limits | None = None,
    workers: int = 1,
) -> IsolatedSuite:
    """Return a suite whose code is imported and run in processes of its own.

    Args:
        factory: `module:function`.
        settings: keywords of the function; plain JSON.
        packages: folder with packages for this suite alone, which go before those installed.
        limits: of each call.
        workers: processes, >= 1.

    Raises:
        ConfigError: the suite refuses the settings.
        SuiteError: the process cannot be started, or the suite cannot be loaded in it.
    """
    if workers < 1:
        raise ConfigError(f"workers must be >= 1, not {workers}")
    limits = limits or Limits()
    children = [_Child(factory, dict(settings or {}), packages, limits) for _ in range(workers)]
    try:
        return IsolatedSuite(children, limits)
    except BaseException:
        for child in children:
            child.kill()
        raise


class IsolatedSuite:
    """A suite behind pipes; see `isolated`."""

    def __init__(self, children: Sequence[_Child], limits: Limits) -> None:
        self._children, self._limits = children, limits
        self._turn = count()
        with children[0].lock:
            about = children[0].started()
        self.name, self.version, self.decoding = about.name, about.version, about.decoding
        self.settings: Mapping[str, Json] = about.settings
        self.labels: Mapping[str, str] = about.labels
        self._tasks: tuple[Task, ...] | None = None

    @property
    def workers(self) -> int:
        """Sessions that can be served at once, each from a thread of its own."""
        return len(self._children)

    def tasks(self) -> Sequence[Task]:
        """Return all tasks.

        Raises:
            SuiteError: they cannot be listed.
        """
        if self._tasks is None:
            child = self._children[0]
            with child.lock:
                child.started()
                found = child.call("tasks", {}, self._limits.load_s)
            if isinstance(found, Fault):
                raise SuiteError(f"suite {self.name} cannot list its tasks: {found.reason}")
            self._tasks = tasks_of(self.name, found)
        return self._tasks

    def open(self, task: Task, *, seed: int) -> IsolatedSession | Fault:
        """Begin an attempt in the next process."""
        child = self._children[next(self._turn) % len(self._children)]
        session = IsolatedSession(child, task.id, seed, self._limits.call_s)
        return session.begin() or session

    def abort(self) -> None:
        """End the processes for good, under calls of other threads too: these end with faults."""
        for child in self._children:
            child.abort()

    def close(self) -> None:
        """End the processes."""
        for child in self._children:
            with child.lock:
                child.kill()


class IsolatedSession:
    """One attempt in another process."""

    def __init__(self, child: _Child, task: str, seed: int, call_s: float) -> None:
        self._child, self._task, self._seed, self._call_s = child, task, seed, call_s
        self._said: list[Said] = []
        self._life = self._number = -1
        self._messages: list[Message] = []
        self._done = False
        self._fault: Fault | None = None

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation so far."""
        return tuple(self._messages)

    @property
    def done(self) -> bool:
        """Whether no further reply is taken."""
        return self._done

    def begin(self) -> Fault | None:
        """Open the session; return why it cannot be."""
        with self._child.lock:
            return self._revived()

    def reply(self, said: Said) -> None:
        """Take a reply."""
        with self._child.lock:
            if self._fault is None and self._revived() is None:
                self._said.append(said)
                self._take("reply", self._ask("reply", said=said))

    def score(self) -> Score | Fault:
        """Return what the attempt is worth."""
        found = self._asked("score")
        return found if isinstance(found, Fault) else score_of(found)

    def reference(self) -> Said | None:
        """Return what the oracle says next; None too where asking broke it (see `score`)."""
        found = self._asked("reference")
        if found is not None and not isinstance(found, Fault):
            found = text_of("reference", found)
        if isinstance(found, Fault):
            self._fault, self._done = found, True
            return None
        return found

    def random(self, rng: random.Random) -> Said:
        """Return a random reply; an empty one if it cannot be had."""
        found = self._asked("random", seed=rng.getrandbits(32))
        return "" if isinstance(found, Fault) else str(found)

    def close(self) -> None:
        """Forget the session in the process."""
        with self._child.lock:
            if self._life == self._child.life and self._child.alive:
                self._ask("close")
            self._life = -1

    def _asked(self, op: str, **args: Json) -> Json | Fault:
        with self._child.lock:
            found = self._fault or self._revived() or self._ask(op, **args)
            if isinstance(found, Fault):
                self._fault, self._done = found, True
            return found

    def _ask(self, op: str, **args: Json) -> Json | Fault:
        return self._child.call(op, {"session": self._number, **args}, self._call_s)

    def _take(self, op: str, state: Json | Fault) -> None:
        found = state if isinstance(state, Fault) else state_of(op, state)
        if isinstance(found, Fault):
            self._fault, self._done = found, True
            return
        self._done, new = found
        self._messages += new

    def _revived(self) -> Fault | None:
        """Make sure that the process knows this session: open it, and say again what was said."""
        child = self._child
        child.started()
        if self._life == child.life:
            return None
        self._life, self._number = child.life, child.next_number()
        self._messages, self._done = [], False
        self._take("open", self._ask("open", task=self._task, seed=self._seed))
        for said in self._said:
            if self._fault is None:
                self._take("reply", self._ask("reply", said=said))
        return self._fault


class _Child:
    """One process; whoever calls holds the lock."""

    def __init__(
        self, factory: str, settings: dict[str, Json], packages: Path | None, limits: Limits
    ) -> None:
        self.lock = threading.Lock()
        self.life = 0
        self._aborted = False
        self._load = {"factory": factory, "settings": settings}
        self._packages, self._limits = packages, limits
        self._process: subprocess.Popen[bytes] | None = None
        self._about: About | None = None
        self._numbers = count()
        self._buffer = bytearray()
        self._home = ""

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._process is not None

    def next_number(self) -> int:
        """Return a number for a new session."""
        return next(self._numbers)

    def started(self) -> About:
        """Start it and load the suite, if it does not run; return what the suite is."""
        fresh = self._process is None
        if fresh and not self._aborted:
            self._spawn()
        if self._aborted:  # perhaps while it was started
            self.kill()
            raise SuiteError("the suite was stopped")
        if fresh:
            found = self._exchange("load", self._load, self._limits.load_s)
            if "refused" in found:
                self.kill()
                raise ConfigError(found["refused"])
            if "fault" in found:
                told = self._told()
                self.kill()
                raise SuiteError(
                    f"{self._load['factory']} cannot be loaded: {found['fault']}{told}"
                )
            self._about = about_of(str(self._load["factory"]), found["ok"])
        assert self._about is not None
        return self._about

    def call(self, op: str, args: Mapping[str, Json], time_s: float) -> Json | Fault:
        """Return the answer, or what went wrong; after a time-out or a crash it does not run."""
        found = self._exchange(op, args, time_s)
        return Fault(op, found["fault"]) if "fault" in found else found["ok"]

    def abort(self) -> None:
        """End it, now and whenever it is started again; without the lock, from any thread."""
        self._aborted = True
        process = self._process
        if process is not None and process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    def kill(self) -> None:
        """End it and all that it started."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        self._buffer.clear()
        shutil.rmtree(self._home, ignore_errors=True)

    def _spawn(self) -> None:
        self.life += 1
        self._home = tempfile.mkdtemp(prefix="spade-suite-")
        given = {key: os.environ[key] for key in _KEPT if key in os.environ}
        given["XDG_CACHE_HOME"] = str(platformdirs.user_cache_path())
        paths = [str(self._packages)] if self._packages is not None else []
        paths += [path for path in sys.path if path]
        with (Path(self._home) / "stderr").open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _START, json.dumps(paths), str(self._limits.memory_mb)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                bufsize=0,
                cwd=self._home,
                env=given | _SET | {"HOME": self._home},
                start_new_session=True,
            )

    def _exchange(self, op: str, args: Mapping[str, Json], time_s: float) -> dict[str, Json]:
        process = self._process
        if process is None or process.stdin is None:
            return {"fault": "its process is gone"}
        try:
            left = memoryview(json.dumps({"op": op, **args}).encode() + b"\n")
            while left:
                left = left[process.stdin.write(left) :]
        except BrokenPipeError:
            return self._lost()
        line = self._line(time.monotonic() + time_s)
        if line is None:
            self.kill()
            return {"fault": f"timed out after {time_s:g} s"}
        if not line:
            return self._lost()
        found: dict[str, Json] = json.loads(line)
        return found

    def _line(self, deadline: float) -> bytes | None:
        """Return the next line; empty if the process ended, None if it took too long."""
        if self._process is None or self._process.stdout is None:
            return b""
        file = self._process.stdout.fileno()
        ready = select.poll()
        ready.register(file, select.POLLIN)
        start = 0
        while (end := self._buffer.find(b"\n", start)) < 0:
            start = len(self._buffer)
            left = deadline - time.monotonic()
            if left <= 0 or start > _MAX_LINE:
                return None
            if ready.poll(left * 1000):
                data = os.read(file, 1 << 16)
                if not data:
                    return b""
                self._buffer += data
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line

    def _lost(self) -> dict[str, Json]:
        code = self._process.wait() if self._process is not None else None
        told = self._told()
        self.kill()
        return {"fault": f"its process ended with {code}{told}"}

    def _told(self) -> str:
        """Return the last that the process wrote to standard error."""
        try:
            data = (Path(self._home) / "stderr").read_bytes()[-_TAIL:]
        except OSError:
            return ""
        text = " ".join(data.decode("utf-8", "replace").split())
        return f"; it said: {text}" if text else ""
