"""The host's handle of one zygote process: start it, ask it for workers, end it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import mmap
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO, Any

from spade_envs.errors import SandboxError
from spade_envs.sandbox import layers
from spade_envs.sandbox.layers import LayerStatus

START_TIMEOUT_S = 120.0
_PROGRESS_BYTES = mmap.PAGESIZE
_ADD_SEALS, _SEAL_SEAL, _SEAL_SHRINK, _SEAL_GROW = 1033, 1, 2, 4

# The packages are stubs, so that the zygote runs neither the registration that `import spade_envs`
# does nor the host's side of this package.
_BOOT = """\
import sys, json, types
config = json.loads(sys.argv[1])
sys.path[:] = config["path"]
for name, folder in config["packages"].items():
    module = types.ModuleType(name)
    module.__path__ = [folder]
    sys.modules[name] = module
from spade_envs.sandbox import zygote
sys.argv[:] = [""]
zygote.main(config)
"""


class ZygoteGone(Exception):
    """Raised when the zygote does not answer any more; a new one must be started."""


class Zygote:
    """One running zygote.

    Args:
        hash_seed: `PYTHONHASHSEED` of all workers.
        timezone: `TZ` of all workers.
        working_dir: current directory of the workers inside their empty root.
        require: names of layers that must be active.
        either: whether Landlock or namespaces must be active as well.
        libraries: trusted modules to import before the process is locked.
        extra_path: folders to find them in, besides `sys.path`.
        weaker: let the workers read installed packages and start threads.

    Raises:
        IsolationUnavailable: a required layer is missing.
        SandboxError: the process did not start.
    """

    def __init__(
        self,
        *,
        hash_seed: int,
        timezone: str,
        working_dir: str,
        require: frozenset[str],
        either: bool,
        libraries: tuple[str, ...] = (),
        extra_path: tuple[str, ...] = (),
        weaker: bool = False,
    ) -> None:
        layers.check_platform()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        here = Path(__file__).resolve().parent
        config = {
            "path": [os.path.abspath(entry) for entry in (*extra_path, *sys.path) if entry],
            "libraries": list(libraries),
            "extra_path": list(extra_path),
            "weaker": weaker,
            "packages": {"spade_envs": str(here.parent), "spade_envs.sandbox": str(here)},
            "control_fd": theirs.fileno(),
            "host_pid": os.getpid(),
            "working_dir": working_dir,
            "require": sorted(require),
            "either": either,
        }
        self._control = ours
        with theirs, tempfile.TemporaryFile() as errors:
            self._process = _spawn(config, theirs, errors, hash_seed, timezone)
            theirs.close()
            self.statuses = self._await_ready(errors, require)

    def _await_ready(self, errors: IO[bytes], require: frozenset[str]) -> tuple[LayerStatus, ...]:
        self._control.settimeout(START_TIMEOUT_S)
        try:
            answer: dict[str, Any] = json.loads(self._control.recv(65536) or b"{}")
        except OSError as error:
            self.close()
            raise SandboxError(f"the sandbox did not start: {error}") from error
        if "notes" not in answer:
            self.close()
            errors.seek(0)
            detail = answer.get("error") or errors.read().decode(errors="replace")[-2000:]
            raise SandboxError(f"the sandbox did not start: {detail or 'no reason given'}")
        notes: dict[str, str] = answer["notes"]
        if answer["missing"]:
            self.close()
            layers.refuse_missing(answer["missing"])
        return tuple(
            LayerStatus(name, notes.get(name) == "", name in require, notes.get(name, "not tried"))
            for name in layers.ALL
        )

    def fork_worker(
        self, memory_mb: int, cpu_s: int, timeout_s: float
    ) -> tuple[socket.socket, int, int]:
        """Return the channel, the pidfd and the progress page's descriptor of a new worker.

        The pidfd comes from the parent of the worker before it is reaped, so it never names
        another process.

        Raises:
            ZygoteGone: the zygote died.
            SandboxError: it could not fork.
        """
        ours, theirs = socket.socketpair()
        progress = os.memfd_create("progress", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(progress, _PROGRESS_BYTES)
            # A page that shrank under the host's mapping would kill the host.
            fcntl.fcntl(progress, _ADD_SEALS, _SEAL_SEAL | _SEAL_SHRINK | _SEAL_GROW)
            order = json.dumps({"memory_mb": memory_mb, "cpu_s": cpu_s}).encode()
            try:
                with theirs:
                    socket.send_fds(self._control, [order], [theirs.fileno(), progress])
                ours.settimeout(timeout_s)
                text, descriptors, _, _ = socket.recv_fds(ours, 4096, 1)
            except OSError as error:
                raise ZygoteGone(str(error)) from error
            if not text:
                raise ZygoteGone("the zygote died")
            if not descriptors:
                raise SandboxError(f"no worker: {text.decode(errors='replace')}")
            ours.settimeout(None)
        except BaseException:
            ours.close()
            os.close(progress)
            raise
        return ours, descriptors[0], progress

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """Process id of the zygote's outer process."""
        return self._process.pid

    def close(self) -> None:
        """End the zygote and all its workers."""
        self._control.close()
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self._process.wait()

    def abandon(self) -> None:
        """Forget the zygote in a forked child of the host, where it belongs to the parent."""
        self._control.close()
        self._process.returncode = 0  # it is not our child: never wait for it


def _spawn(
    config: dict[str, Any],
    control: socket.socket,
    errors: IO[bytes],
    hash_seed: int,
    timezone: str,
) -> subprocess.Popen[bytes]:
    environment = {
        "PYTHONHASHSEED": str(hash_seed),
        "OPENBLAS_NUM_THREADS": "1",  # unshare(CLONE_NEWUSER) needs a single thread
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "LC_ALL": "C.UTF-8",
        "TZ": timezone,
    }
    # Not -I: it would ignore PYTHONHASHSEED. -S -s -P and a clean environment give the same.
    return subprocess.Popen(
        [sys.executable, "-s", "-S", "-P", "-c", _BOOT, json.dumps(config)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=errors,
        env=environment,
        pass_fds=(control.fileno(),),
        cwd="/",
        start_new_session=True,
    )
