"""The arena of the hostile suite: sources built from small attacks, canaries, and what must hold.

Attacks run with the linter off, straight in the worker, since the worker is the boundary. An
attack that reaches something outside its process says so by returning text with REACHED in it, or
is seen by a canary: files, listeners, an environment variable, another worker's source, processes.
"""

from __future__ import annotations

import contextlib
import os
import platform
import socket
import tempfile
import textwrap
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from spade_envs.sandbox import Sandbox
from spade_envs.types import EnvSource, Fault, Limits, ResetOutcome, StepOutcome

LIMITS = Limits(
    load_timeout_s=2.0,
    reset_timeout_s=1.0,
    step_timeout_s=0.5,
    memory_mb=192,
    max_observation_chars=10_000,
    max_info_bytes=8_192,
)
SECRET = "canary-7f3a91"
VARIABLE = "SPADE_TEST_CANARY"

PRELUDE = '''
import sys, types
from spade_envs.api import TextEnv

def find(name):
    """Return a module by name, from wherever one still refers to it."""
    try:
        return __import__(name)
    except ImportError:
        pass
    for module in list(sys.modules.values()):
        for value in list(vars(module).values()):
            if isinstance(value, types.ModuleType) and value.__name__ == name:
                sys.modules[name] = value
                return value
    raise ImportError(name)

def libc():
    ctypes = find("ctypes")
    lib = ctypes.CDLL(None, use_errno=True)
    lib.syscall.restype = ctypes.c_long
    return ctypes, lib

def raw(number, *args):
    """Make a system call; return what it returned if that was not a refusal."""
    ctypes, lib = libc()
    result = lib.syscall(ctypes.c_long(number), *args)
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return result

def frame_out(data):
    """Write bytes to the worker's own channel."""
    import posix
    posix.write(3, data)

def own_request():
    """Return the id of the request under way, from the worker's frames."""
    frame = sys._getframe()
    while frame is not None:
        value = frame.f_locals.get("request")
        value = getattr(value, "request", value)
        if isinstance(value, int):
            return value
        frame = frame.f_back
    raise LookupError("request")
'''

SHELL = """
class Attack(TextEnv):
    max_turns = 1000
{fields}
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
{reset}
        return "start", {{}}

    def step(self, action):
        if action == "attack":
{step}
        return "quiet", 0.0, False, False, {{}}

    def hint(self):
{hint}
        return "hint"
"""


@dataclass(frozen=True)
class Attack:
    """One attack: code for one place of the template."""

    name: str
    step: str = "pass"
    top: str = ""
    reset: str = "pass"
    hint: str = "pass"
    fields: str = ""
    expect: str = ""
    """Kind of fault that must come of it; empty if any harmless end will do."""
    op: str = "step"
    """Where it strikes: load, create, reset, step or hint."""

    def source(self, places: dict[str, str]) -> EnvSource:
        """Return the environment with the canaries' places filled in."""
        body = SHELL.format(
            fields=textwrap.indent(textwrap.dedent(self.fields), " " * 4),
            reset=textwrap.indent(textwrap.dedent(self.reset), " " * 8),
            step=textwrap.indent(textwrap.dedent(self.step), " " * 12),
            hint=textwrap.indent(textwrap.dedent(self.hint), " " * 8),
        )
        code = PRELUDE + textwrap.dedent(self.top) + body
        for key, value in places.items():
            code = code.replace(f"<{key}>", value)
        return EnvSource(code=code, origin=self.name)


QUIET = Attack("quiet")


def missed(attack: Attack, kinds: Sequence[str]) -> bool:
    """Whether the fault that must come is not among `kinds`.

    A busy machine may reach the time limit before the memory limit. Raw call numbers mean what the
    attack says on x86-64 only.
    """
    if not attack.expect or ("raw(" in attack.step and platform.machine() != "x86_64"):
        return False
    wanted = {"memory", "timeout"} if attack.expect == "memory" else {attack.expect}
    return not wanted & set(kinds)


@dataclass
class Arena:
    """Canaries and one sandbox that all attacks share."""

    places: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._stack = contextlib.ExitStack()
        # Open to everyone, so that permissions do not do the sandbox's work.
        self.folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        self.folder.chmod(0o777)
        secret = self.folder / "secret.txt"
        secret.write_text(SECRET)
        secret.chmod(0o666)
        os.environ[VARIABLE] = SECRET
        tcp, udp = self._listen(socket.SOCK_STREAM), self._listen(socket.SOCK_DGRAM)
        unix = self._stack.enter_context(socket.socket(socket.AF_UNIX))
        unix.bind(f"\0{SECRET}-{os.getpid()}")
        unix.listen()
        self._listeners = [tcp, udp, unix]
        for listener in self._listeners:
            listener.setblocking(False)
        self.places.update(
            secret=str(secret),
            folder=str(self.folder),
            tcp=str(tcp.getsockname()[1]),
            udp=str(udp.getsockname()[1]),
            unix=f"{SECRET}-{os.getpid()}",
            variable=VARIABLE,
            host=str(os.getpid()),
            machine=platform.machine(),
        )
        self.sandbox = self._stack.enter_context(Sandbox())
        assert self.sandbox.layers
        self.neighbour = self.sandbox.load(
            EnvSource(code=QUIET.source({}).code + f"\nHIDDEN = {SECRET!r} * 3\n"), limits=LIMITS
        )
        assert not isinstance(self.neighbour, Fault)
        self._before = set(self.folder.iterdir())

    def _listen(self, kind: int) -> socket.socket:
        listener = self._stack.enter_context(socket.socket(socket.AF_INET, kind))
        listener.bind(("127.0.0.1", 0))
        if kind == socket.SOCK_STREAM:
            listener.listen()
        return listener

    def close(self) -> None:
        """Take everything down."""
        self._stack.close()

    def run(self, attack: Attack) -> list[Fault | None]:
        """Run one attack in its own worker and return the faults that it caused, in order.

        Raises:
            AssertionError: something got out, or the sandbox does not work afterwards.
        """
        started = time.monotonic()
        faults = self._strike(attack)
        assert time.monotonic() - started < 30, "an attack went on past its deadline"
        self._check_canaries()
        self._check_works()
        return faults

    def _strike(self, attack: Attack) -> list[Fault | None]:
        worker = self.sandbox.load(attack.source(self.places), limits=LIMITS)
        if isinstance(worker, Fault):
            self._check_text(worker.message)
            return [worker]
        faults: list[Fault | None] = []
        with worker:
            numbers = [number for number in (worker.create(0), worker.create(0))
                       if not isinstance(number, Fault)]  # fmt: skip
            for outcome in worker.reset([(number, 7, None) for number in numbers]):
                self._check_outcome(outcome)
                faults.append(outcome.fault)
            # The second instance is a neighbour in the same batch: it must not suffer.
            actions = [(number, "attack" if index == 0 else "x")
                       for index, number in enumerate(numbers)]  # fmt: skip
            for outcome in worker.step(actions):
                self._check_outcome(outcome)
                faults.append(outcome.fault)
            if attack.hint != "pass" and numbers:
                worker.reset([(numbers[0], 7, None)])
                answer = worker.hint(numbers[0])
                self._check_text(answer.message if isinstance(answer, Fault) else answer)
                faults.append(answer if isinstance(answer, Fault) else None)
            # A fresh reset works after each attack in step.
            if attack.op == "step" and numbers:
                again = worker.reset([(numbers[0], 8, None)])[0]
                if again.fault is not None:
                    # An attack may damage its own process without ending it: then this reset
                    # finds out, at the cost of one fault, and the next one is in a new process.
                    faults.append(again.fault)
                    again = worker.reset([(numbers[0], 8, None)])[0]
                assert again.fault is None, f"no fresh reset: {again.fault}"
                assert again.observation == "start"
        return faults

    def _check_outcome(self, outcome: ResetOutcome | StepOutcome) -> None:
        # Not the traceback: it quotes the source, which holds every word of the attack.
        message = outcome.fault.message if outcome.fault else ""
        self._check_text(f"{outcome.observation} {outcome.info} {message}")

    def _check_text(self, text: str) -> None:
        assert "REACHED" not in text, text
        assert SECRET not in text.replace(self.places["unix"], ""), text

    def _check_canaries(self) -> None:
        assert set(self.folder.iterdir()) == self._before, "the folder was changed"
        assert (self.folder / "secret.txt").read_text() == SECRET
        for listener in self._listeners:
            with contextlib.suppress(BlockingIOError):
                if listener.type == socket.SOCK_DGRAM:
                    listener.recv(64)
                else:
                    listener.accept()
                raise AssertionError("something came in over the network")

    def _check_works(self) -> None:
        neighbour = self.neighbour
        number = neighbour.create(0)
        assert isinstance(number, int)
        assert neighbour.reset([(number, 1, None)])[0].observation == "start"
        assert neighbour.step([(number, "x")])[0].observation == "quiet"
        neighbour.discard(number)
        zygote = self.sandbox._zygote
        assert zygote is not None
        assert zygote.alive
        # Left are the zygote's two processes and the neighbour's worker.
        deadline = time.monotonic() + 60
        while len(left := descendants(zygote.pid)) > 2:
            assert time.monotonic() < deadline, f"processes are left: {left}"
            time.sleep(0.01)


def descendants(root: int) -> list[int]:
    """Return the ids of all processes below `root` that are not already dead."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                state, parent = (entry / "stat").read_text().rsplit(")", 1)[1].split()[:2]
                if state not in "ZX":
                    children.setdefault(int(parent), []).append(int(entry.name))
    found, todo = [], [root]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found
