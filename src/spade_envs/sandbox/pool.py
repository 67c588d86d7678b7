"""`Sandbox`: the host-side entrance. One zygote, and workers forked from it on demand."""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from typing import Any

from spade_envs.errors import SandboxError
from spade_envs.sandbox import layers
from spade_envs.sandbox.layers import LayerStatus
from spade_envs.sandbox.process import Loaded, Program, WorkerProcess
from spade_envs.sandbox.protocol import Mode
from spade_envs.sandbox.worker_handle import Worker
from spade_envs.sandbox.zygote_handle import Zygote, ZygoteGone
from spade_envs.types import EnvSource, Fault, Limits

_START_ATTEMPTS = 3


class Sandbox:
    """Loads untrusted sources into locked worker processes. A context manager, thread-safe.

    The zygote starts with the first `load` (about half a second, once), and again if it dies. A
    forked child of this process gets its own.

    Args:
        hash_seed: `PYTHONHASHSEED` of the workers, in [0, 2**32).
        timezone: `TZ` of the workers, such as `UTC` or `EST5EDT`.
        working_dir: current directory of the workers, inside their empty root.
        require: layers that must be active; `allow_weaker` is the only way to ask for less than
            `layers.REQUIRED`.
        allow_weaker: accept a `require` below the standard, and do without both Landlock and
            namespaces. For trusted sources on machines that cannot isolate.
        libraries: trusted installed modules that sources may import. They are imported with the
            rights of this process, before the zygote locks itself.
        extra_path: folders to find them in, besides `sys.path`.
        weaker: for libraries that read files or start threads while they run: no empty root,
            installed packages readable through Landlock (which is required then), threads allowed.
            The workers' `layers` say so.

    Raises:
        ConfigError: `require` is below the standard and `allow_weaker` is not set.
    """

    def __init__(
        self,
        *,
        hash_seed: int = 0,
        timezone: str = "UTC",
        working_dir: str = "/",
        require: frozenset[str] = layers.REQUIRED,
        allow_weaker: bool = False,
        libraries: tuple[str, ...] = (),
        extra_path: tuple[str, ...] = (),
        weaker: bool = False,
    ) -> None:
        layers.check_require(require, allow_weaker)
        self._settings: dict[str, Any] = {
            "hash_seed": hash_seed,
            "timezone": timezone,
            "working_dir": working_dir,
            "require": require,
            "either": not allow_weaker,
            "libraries": libraries,
            "extra_path": extra_path,
            "weaker": weaker,
        }
        self._zygote: Zygote | None = None
        self._closed = False
        self._lock = threading.Lock()
        self._workers: weakref.WeakSet[Worker] = weakref.WeakSet()
        _sandboxes.add(self)

    @property
    def layers(self) -> tuple[LayerStatus, ...]:
        """State of every isolation layer; starts the zygote if none runs.

        Raises:
            IsolationUnavailable: a required layer is missing.
        """
        with self._lock:
            return self._running().statuses

    def load(
        self,
        source: EnvSource,
        *,
        limits: Limits | None = None,
        mode: Mode = "plain",
        poison: bool = False,
        spin: bool = True,
    ) -> Worker | Fault:
        """Execute a source in a new worker and return the worker, or the fault that it caused.

        Args:
            source: one Python file.
            limits: deadlines and sizes; `Limits()` by default.
            mode: `restricted` compiles it under the relaxed RestrictedPython policy.
            poison: make global generators and clocks raise once the source is loaded.
            spin: wait for a quarter of a millisecond without sleeping, on both sides: the quickest
                answers. Without it, many workers share processors better.

        Raises:
            IsolationUnavailable: a required layer is missing.
            SandboxError: the sandbox is closed, or no worker could be started.
        """
        program = Program(source, limits or Limits(), mode, poison, spin)
        started = self._start(program)
        if isinstance(started, Fault):
            return started
        worker = Worker(lambda: self._start(program), program, *started)
        self._workers.add(worker)
        return worker

    def close(self) -> None:
        """End the zygote and all workers."""
        with self._lock:
            self._closed = True
            for worker in list(self._workers):
                worker.close()
            if self._zygote is not None:
                self._zygote.close()
                self._zygote = None

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self, program: Program) -> tuple[WorkerProcess, Loaded] | Fault:
        limits = program.limits
        for _ in range(_START_ATTEMPTS):
            with self._lock:
                zygote = self._running()
                try:
                    parts = zygote.fork_worker(
                        limits.memory_mb, limits.cpu_s, 4 * limits.load_timeout_s
                    )
                except ZygoteGone:
                    zygote.close()
                    self._zygote = None
                    continue
            process = WorkerProcess(*parts, limits)
            try:
                loaded = process.load(program)
            except BaseException:
                process.kill()
                raise
            if isinstance(loaded, Fault):
                process.kill()
                return loaded
            return process, loaded
        raise SandboxError(f"the zygote died {_START_ATTEMPTS} times in a row")

    def _running(self) -> Zygote:
        if self._closed:
            raise SandboxError("the sandbox is closed")
        if self._zygote is not None and not self._zygote.alive:
            self._zygote.close()
            self._zygote = None
        if self._zygote is None:
            self._zygote = Zygote(**self._settings)
        return self._zygote

    def _after_fork(self) -> None:
        self._lock = threading.Lock()
        if self._zygote is not None:
            self._zygote.abandon()
            self._zygote = None
        for worker in list(self._workers):
            worker.abandon()


_sandboxes: weakref.WeakSet[Sandbox] = weakref.WeakSet()
_default: Sandbox | None = None
_default_lock = threading.Lock()


def open_sandbox(**settings: Any) -> Sandbox:
    """Return a new sandbox; see `Sandbox` for the settings."""
    return Sandbox(**settings)


def default_sandbox() -> Sandbox:
    """Return the sandbox that this process shares."""
    global _default
    with _default_lock:
        if _default is None or _default._closed:
            _default = Sandbox()
        return _default


def active_layers() -> tuple[LayerStatus, ...]:
    """Return what isolates environments on this machine, as found by locking a real process.

    Raises:
        IsolationUnavailable: a required layer is missing; the message says which and the mend.
    """
    with Sandbox() as sandbox:
        return sandbox.layers


def _close_all() -> None:
    for sandbox in list(_sandboxes):
        sandbox.close()


def _after_fork_in_child() -> None:
    global _default_lock
    _default_lock = threading.Lock()
    for sandbox in list(_sandboxes):
        sandbox._after_fork()


atexit.register(_close_all)
os.register_at_fork(after_in_child=_after_fork_in_child)
