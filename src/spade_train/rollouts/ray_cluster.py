"""Gates and episodes on a Ray cluster. The only door to ray.

Sampling stays where the engine is; what travels is sources, actions, observations and reports. The
machines of the cluster must be trusted: Ray's own protocol unpickles what they send.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from spade_envs.errors import MissingExtra, SandboxError
from spade_envs.gates.subject import Depth
from spade_envs.play.stage import Opened, Seat, Stage
from spade_envs.types import EnvSource, StepOutcome
from spade_train.rollouts.checking import Verdict, judged

MOST_LOSSES = 5
"""Workers that may be lost in a row before a rollout is given up."""

KNOCK_TIMEOUT_S = 10.0
"""For a first connection to a cluster that was named."""

_LOST = (
    "RayActorError",
    "WorkerCrashedError",
    "NodeDiedError",
    "OutOfMemoryError",
    "ObjectLostError",
)
"""Names of Ray's errors that mean: what ran there is gone, through no fault of what it ran."""

Entry = tuple[str, list[Any]]
"""What was asked of a stage: name of the method and its argument."""


class Host:
    """Runs on a machine of the cluster: a stage that can be brought to where another one was."""

    def __init__(self) -> None:
        self._stage = Stage()

    def replay(self, journal: Sequence[Entry]) -> None:
        """Do what a lost host had done."""
        for name, items in journal:
            getattr(self._stage, name)(items)

    def open(self, seats: list[Seat]) -> list[Opened]:
        """Begin episodes."""
        return self._stage.open(seats)

    def step(self, moves: list[tuple[str, str]]) -> list[StepOutcome]:
        """Take steps."""
        return self._stage.step(moves)

    def leave(self, keys: list[str]) -> None:
        """Forget episodes."""
        self._stage.leave(keys)

    def clear(self, _: list[str]) -> None:
        """Begin with an empty stage."""
        self._stage.close()
        self._stage = Stage()

    def pid(self) -> int:
        """Return the number of the process, for diagnosis."""
        return os.getpid()


class RayJudge:
    """Checks programs all over a cluster, with the verdicts of a local `Checker`.

    Args:
        cluster: where; it stays open when this is closed.
        depth: of the gates.
        timeout_s: time for all gates of one program, > 0.
    """

    def __init__(
        self, cluster: RayCluster, *, depth: Depth = "standard", timeout_s: float = 120.0
    ) -> None:
        self._cluster, self._timeout_s = cluster, timeout_s
        self._depth: Depth = depth

    def check_all(self, sources: Sequence[EnvSource]) -> Iterator[Verdict]:
        """Begin to check all of them now; yield the verdicts in order."""
        begun = [self._cluster.judge(each, self._depth, self._timeout_s) for each in sources]
        return map(self._cluster.verdict, begun)

    def close(self) -> None:
        """Do nothing: what was begun is of no use to anyone and ends by itself."""


class RayCluster:
    """A connection to a Ray cluster, with workers for episodes on it."""

    def __init__(self, workers: int = 0, *, share: int = 1, address: str = "auto") -> None:
        """Connect, or start a cluster on this machine if there is none.

        Args:
            workers: processes for episodes; 0 is one per core of the cluster.
            share: with 0 workers, among how many callers the cores are divided, >= 1.
            address: of the cluster; `auto` takes the one that `RAY_ADDRESS` names or that runs on
                this machine.

        Raises:
            MissingExtra: ray is not installed.
            SandboxError: there is no cluster at the address.
        """
        try:
            import ray
        except ImportError:
            raise MissingExtra("ray", "ray") from None
        self._ray: Any = ray
        self._ours = not ray.is_initialized()
        if self._ours:
            _connect(ray, address)
        wanted = workers or int(ray.cluster_resources().get("CPU", 1)) // share
        self._make = ray.remote(num_cpus=0, max_restarts=0, scheduling_strategy="SPREAD")(Host)
        spread = {"max_retries": MOST_LOSSES, "scheduling_strategy": "SPREAD"}
        self._judge = ray.remote(num_cpus=1, **spread)(judged)
        self._lost = tuple(getattr(ray.exceptions, name) for name in _LOST)
        self.hosts: list[Any] = [self._make.remote() for _ in range(max(1, wanted))]

    def judge(self, source: EnvSource, depth: Depth, timeout_s: float) -> Any:
        """Begin to run the gates somewhere; returns a reference at once.

        A check whose worker is lost begins again elsewhere.
        """
        return self._judge.remote(source, depth=depth, timeout_s=timeout_s)

    def verdict(self, reference: Any) -> Verdict:
        """Return what the gates found, when they have.

        Raises:
            SandboxError: workers were lost again and again.
        """
        try:
            verdict: Verdict = self._ray.get(reference)
        except self._lost as error:
            raise SandboxError(
                f"the gates lose every Ray worker that runs them: {error}"
            ) from error
        return verdict

    def ask(self, host: int, name: str, items: list[Any]) -> Any:
        """Call a method of a host; returns a reference at once."""
        return getattr(self.hosts[host], name).remote(items)

    def answer(
        self,
        reference: Any,
        host: int,
        name: str,
        items: list[Any],
        journal: Callable[[int], list[Entry]],
    ) -> Any:
        """Return what a host answers, if need be one that takes the place of a lost one.

        Args:
            reference: of the call that is under way.
            host: place of the host.
            name: the method.
            items: its argument.
            journal: gives what a host was asked before.

        Raises:
            SandboxError: workers are lost again and again.
        """
        for _ in range(MOST_LOSSES):
            try:
                return self._ray.get(reference)
            except self._lost:
                self._ray.kill(self.hosts[host])  # it may only be out of reach
                self.hosts[host] = self._make.remote()
                self.ask(host, "replay", journal(host))
                reference = self.ask(host, name, items)
        raise SandboxError(f"{MOST_LOSSES} Ray workers in a row were lost in {name}()")

    def close(self) -> None:
        """End the workers, and the connection if it was made here."""
        for host in self.hosts:
            self._ray.kill(host)
        self.hosts = []
        if self._ours and self._ray.is_initialized():
            self._ray.shutdown()


def _connect(ray: Any, address: str) -> None:
    """Connect without taking over the signals of this process, which save a run that is ended."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    in_main = threading.current_thread() is threading.main_thread()
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "error"}
    named = os.environ.get("RAY_ADDRESS", "") if address == "auto" else address
    _knock(named)
    try:
        ray.init(address=address, **quiet)
    except ConnectionError as error:
        if named:
            raise SandboxError(f"there is no Ray cluster at {named}: {error}") from error
        ray.init(include_dashboard=False, **quiet)
    finally:
        if in_main:
            for number, handler in before.items():
                signal.signal(number, handler)


def _knock(address: str) -> None:
    """Look whether anything listens at an address: Ray itself would try for many minutes."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal() or "/" in host:
        return
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=KNOCK_TIMEOUT_S):
            pass
    except OSError as error:
        raise SandboxError(f"there is no Ray cluster at {address}: {error}") from error
