"""The zygote: a locked process that forks one worker for each channel that the host sends.

It starts from a clean environment, imports once what environments may use, locks itself, and
then only forks. It runs no foreign code and reads nothing but the host's control socket. When the
host ends, by whatever means, the zygote ends, and every worker with it.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from spade_envs.sandbox import effects, hardening, landlock, layers, linux, preload, seccomp, worker

_MIB = 1024 * 1024
_GC_THRESHOLD = 20_000
"""New objects in a worker before rubbish is looked for; most episodes make none."""


@dataclass(frozen=True, slots=True)
class _Kit:
    """What every worker is forked with."""

    control: socket.socket
    filter: Any
    landlock_abi: int
    mapped_bytes: int
    require: frozenset[str]
    either: bool
    zygote_layers: tuple[str, ...]
    readable: tuple[str, ...]
    """Folders that weaker workers may read."""


def main(config: dict[str, Any]) -> None:
    """Run as zygote until the host goes away; `config` comes from `zygote_handle`."""
    control = socket.socket(fileno=int(config["control_fd"]))
    try:
        watch = _watch_host(int(config["host_pid"]))
        kit = _prepare(control, config)
    except (OSError, ImportError, RuntimeError, ValueError) as error:
        _tell(control, {"error": f"{type(error).__name__}: {error}"})
        return
    with contextlib.suppress(OSError):
        _serve(kit, watch)


def _watch_host(host_pid: int) -> int:
    watch = os.pidfd_open(host_pid)
    if os.getppid() != host_pid:
        raise RuntimeError("the host process is gone")
    return watch


def _prepare(control: socket.socket, config: dict[str, Any]) -> _Kit:
    time.tzset()
    libraries, weaker = tuple(config["libraries"]), bool(config["weaker"])
    preload.preload(libraries)
    readable = preload.library_folders(libraries, config["extra_path"]) if weaker else []
    notes: hardening.Notes = {}
    try:
        filter_ = seccomp.build_filter(weaker=weaker)
    except seccomp.Unavailable as error:
        filter_, notes[layers.SECCOMP] = None, str(error)
    mapped = hardening.mapped_bytes()
    hardening.enter_namespaces(notes)
    _become_first_process(notes, control)
    hardening.lock_zygote(notes, config["working_dir"], keep_root=weaker)
    linux.die_with_parent()  # changing the user cleared it
    if not weaker:
        preload.forget_paths()
    if not libraries:
        preload.hide_modules()
    abi = landlock.abi()
    require, either = frozenset(config["require"]), bool(config["either"])
    notes.update(_trial(filter_, abi, mapped, readable))
    active = tuple(name for name in layers.ALL if notes.get(name) == "")
    lacking = layers.missing(active, require, either=either)
    if not lacking:
        gc.set_threshold(_GC_THRESHOLD, 20, 20)
        effects.remember()
        gc.collect()
        gc.freeze()
    _tell(control, {"notes": notes, "missing": lacking})
    if lacking:
        sys.exit(1)
    # Standard error was a file for complaints at the start; workers must not share a file.
    os.dup2(1, 2)
    zygote_layers = tuple(name for name in active if name in _ZYGOTE_LAYERS)
    return _Kit(control, filter_, abi, mapped, require, either, zygote_layers, tuple(readable))


_ZYGOTE_LAYERS = frozenset(
    {
        layers.NO_NEW_PRIVS,
        layers.UNPRIVILEGED,
        layers.NAMESPACES,
        layers.EMPTY_ROOT,
        layers.CAPABILITIES,
    }
)


def _become_first_process(notes: hardening.Notes, control: socket.socket) -> None:
    """Fork once, so that the zygote is process 1 of its namespace and its end kills all in it."""
    parent = os.getpid()
    pid = os.fork()
    if pid:
        control.close()
        _, status = os.waitpid(pid, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    linux.die_with_parent()
    if notes[layers.NAMESPACES] and os.getppid() != parent:
        os._exit(1)  # the parent died before it was watched


def _trial(filter_: Any, abi: int, mapped: int, readable: Sequence[str]) -> hardening.Notes:
    """Lock a throw-away child as a worker would be, and return what it says."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        os.dup2(theirs.fileno(), 3)
        trial_notes = hardening.lock_worker(filter_, abi, mapped + 256 * _MIB, 60, readable)
        os.write(3, json.dumps(trial_notes).encode())
        os._exit(0)
    theirs.close()
    with ours:
        text = ours.recv(65536)
    os.waitpid(pid, 0)
    if not text:
        return dict.fromkeys((layers.SECCOMP, layers.RLIMITS), "a locked process died")
    return dict(json.loads(text))


def _serve(kit: _Kit, watch: int) -> None:
    wake, alarm = socket.socketpair()
    wake.setblocking(False)
    alarm.setblocking(False)
    signal.set_wakeup_fd(alarm.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    poll = select.poll()
    for descriptor in (kit.control.fileno(), watch, wake.fileno()):
        poll.register(descriptor, select.POLLIN)
    while True:
        ready = dict(poll.poll())
        if watch in ready:
            return
        if wake.fileno() in ready:
            wake.recv(4096)
            _reap()
        if kit.control.fileno() in ready:
            text, descriptors, _, _ = socket.recv_fds(kit.control, 65536, 2)
            if not text:
                return
            _fork_worker(kit, json.loads(text), descriptors)


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _fork_worker(kit: _Kit, order: dict[str, Any], descriptors: list[int]) -> None:
    channel, progress = descriptors
    here = os.getpid()
    try:
        pid = os.fork()
    except OSError as error:
        with socket.socket(fileno=channel) as reply:
            reply.send(f"fork failed: {error}".encode())
        os.close(progress)
        return
    if pid == 0:
        try:
            _run_worker(kit, order, channel, progress, here)
        finally:
            os._exit(70)
    # The child is not reaped before the next turn of the loop, so the number is still its own.
    with contextlib.suppress(OSError):
        pidfd = os.pidfd_open(pid)
        with socket.socket(fileno=channel) as reply:
            socket.send_fds(reply, [b"\0"], [pidfd])
        os.close(pidfd)
    os.close(progress)


def _run_worker(kit: _Kit, order: dict[str, Any], channel: int, progress: int, here: int) -> None:
    linux.die_with_parent()
    if os.getppid() not in (here, 0):
        return
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    counter = worker.map_progress(progress)
    os.dup2(channel, 3, inheritable=False)
    address_bytes = kit.mapped_bytes + int(order["memory_mb"]) * _MIB
    notes = hardening.lock_worker(
        kit.filter, kit.landlock_abi, address_bytes, int(order["cpu_s"]), kit.readable
    )
    active = (*kit.zygote_layers, *(name for name, note in notes.items() if note == ""))
    if layers.missing(active, kit.require, either=kit.either):
        return
    weakened = (layers.WEAKENED,) if kit.readable else ()
    worker.serve(3, counter, (*(name for name in layers.ALL if name in active), *weakened))


def _tell(control: socket.socket, message: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):
        control.send(json.dumps(message).encode())
