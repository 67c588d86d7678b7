"""Start, end and death of zygote, workers and host."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from spade_envs.errors import ConfigError, IsolationUnavailable, SandboxError
from spade_envs.sandbox import Sandbox, Worker, active_layers, default_sandbox
from spade_envs.types import EnvSource

TRIVIAL = """
from spade_envs.api import TextEnv
class Trivial(TextEnv):
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        return "", {}
    def step(self, action):
        return self.go_on(action)
"""


def play(sandbox) -> str:
    worker = sandbox.load(EnvSource(code=TRIVIAL))
    assert isinstance(worker, Worker), worker
    with worker:
        number = worker.create(0)
        worker.reset([(number, 1, None)])
        return worker.step([(number, "echo")])[0].observation


def gone(pid: int, within_s: float = 10.0) -> bool:
    """Whether a process ends in time (a zombie has ended)."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            return True
        if stat.rsplit(")", 1)[1].split()[0] in "ZX":
            return True
        time.sleep(0.02)
    return False


def children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    found = [int(word) for word in text.split()]
    return found + [below for child in found for below in children(child)]


def test_a_killed_zygote_is_replaced_and_its_workers_are_rebuilt():
    with Sandbox() as sandbox:
        worker = sandbox.load(EnvSource(code=TRIVIAL))
        number = worker.create(0)
        worker.reset([(number, 1, None)])
        first = sandbox._zygote.pid
        inner = children(first)
        os.kill(first, signal.SIGKILL)
        assert all(gone(pid) for pid in inner)
        outcome = worker.step([(number, "x")])[0]
        assert outcome.fault.kind == "crash"
        assert worker.reset([(number, 1, None)])[0].fault is None
        assert worker.step([(number, "again")])[0].observation == "again"
        assert play(sandbox) == "echo"
        assert sandbox._zygote.pid != first


def test_closing_ends_all_processes():
    sandbox = Sandbox()
    worker = sandbox.load(EnvSource(code=TRIVIAL))
    assert worker.alive
    zygote = sandbox._zygote.pid
    pids = [zygote, *children(zygote)]
    assert len(pids) == 3
    sandbox.close()
    assert all(gone(pid) for pid in pids)
    with pytest.raises(SandboxError, match="closed"):
        sandbox.load(EnvSource(code=TRIVIAL))


def test_killing_the_host_ends_all_processes():
    script = (
        "import time\n"
        "from spade_envs.sandbox import Sandbox\n"
        "from spade_envs.types import EnvSource\n"
        "sandbox = Sandbox()\n"
        "code = 'from spade_envs.api import TextEnv\\nclass A(TextEnv):\\n"
        "    def step(self, action):\\n        while True: pass'\n"
        "worker = sandbox.load(EnvSource(code=code))\n"
        "number = worker.create(0)\n"
        "worker.reset([(number, 1, None)])\n"
        "print(sandbox._zygote.pid, flush=True)\n"
        "worker.step([(number, 'x')])\n"
        "time.sleep(60)\n"
    )
    host = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    zygote = int(host.stdout.readline())
    pids = [zygote, *children(zygote)]
    assert len(pids) == 3
    host.kill()
    host.wait()
    host.stdout.close()
    assert all(gone(pid) for pid in pids)


def test_a_forked_child_gets_its_own_zygote_and_leaves_the_parents_alone(sandbox):
    worker = sandbox.load(EnvSource(code=TRIVIAL))
    number = worker.create(0)
    worker.reset([(number, 1, None)])
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            answer = f"{play(sandbox)} {worker.step([(number, 'child')])[0].observation}"
            os.write(write, answer.encode())
            sandbox.close()
        finally:
            os._exit(0)
    os.close(write)
    assert os.read(read, 100) == b"echo child"
    os.close(read)
    os.waitpid(pid, 0)
    assert worker.step([(number, "parent")])[0].observation == "parent"
    worker.close()


def _in_spawned(queue) -> None:
    queue.put(play(default_sandbox()))


def test_a_spawned_child_can_use_the_default_sandbox():
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    child = context.Process(target=_in_spawned, args=(queue,))
    child.start()
    assert queue.get(timeout=60) == "echo"
    child.join()
    assert child.exitcode == 0


def test_threads_may_load_and_step_at_once(sandbox):
    results = []

    def run() -> None:
        results.extend(play(sandbox) for _ in range(5))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == ["echo"] * 20


def test_hash_seed_time_zone_and_environment_are_those_asked_for():
    code = (
        "import posix, time\n"
        "from spade_envs.api import TextEnv\n"
        "class A(TextEnv):\n"
        "    def reset(self, *, seed=None, options=None):\n"
        "        names = sorted(key.decode() for key in posix.environ)\n"
        "        return f'{hash(\"text\")} {time.tzname[0]} {names}', {}\n"
    )
    seen = []
    for seed, zone in ((0, "UTC"), (0, "UTC"), (7, "EST5EDT")):
        with Sandbox(hash_seed=seed, timezone=zone, working_dir="/elsewhere") as sandbox:
            worker = sandbox.load(EnvSource(code=code))
            number = worker.create(0)
            seen.append(worker.reset([(number, 1, None)])[0].observation.split(" ", 2))
    assert seen[0] == seen[1]
    assert seen[0][0] != seen[2][0]
    assert [row[1] for row in seen] == ["UTC", "UTC", "EST"]
    assert "HOME" not in seen[0][2]
    assert "PATH" not in seen[0][2]


def test_a_required_layer_that_is_missing_refuses_with_its_name(monkeypatch):
    from spade_envs.sandbox import layers

    monkeypatch.setattr(layers, "ALL", (*layers.ALL, "moat"))
    sandbox = Sandbox(require=layers.REQUIRED | {"moat"})
    with pytest.raises(IsolationUnavailable, match="moat"):
        sandbox.load(EnvSource(code=TRIVIAL))
    sandbox.close()


def test_weaker_is_never_silent():
    with pytest.raises(ConfigError, match="allow_weaker"):
        Sandbox(require=frozenset({"rlimits"}))
    with pytest.raises(ConfigError, match="unknown layers"):
        Sandbox(require=frozenset({"wall"}), allow_weaker=True)
    weaker = Sandbox(require=frozenset({"rlimits"}), allow_weaker=True)
    required = {layer.name for layer in weaker.layers if layer.required}
    weaker.close()
    assert required == {"rlimits"}


def test_other_platforms_are_refused_at_once(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    sandbox = Sandbox()
    with pytest.raises(IsolationUnavailable, match="only on Linux, not on darwin"):
        sandbox.load(EnvSource(code=TRIVIAL))


def test_active_layers_are_reported_for_all_names():
    found = {layer.name: layer for layer in active_layers()}
    assert found["seccomp"].active
    assert found["seccomp"].required
    assert found["landlock"].active or found["namespaces"].active
    assert not found["landlock"].required
