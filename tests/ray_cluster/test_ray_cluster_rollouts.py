"""Gates and episodes on two Ray workers give what this machine gives, whoever is killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("ray", reason="`make test-ray` runs these in their own environment")

import ray

from spade_envs.errors import SandboxError
from spade_envs.play.stage import Opened, Scene, Seat, Stage
from spade_envs.store import open_store, starter_path
from spade_envs.types import EnvSource, StepOutcome
from spade_train.rollouts.checking import Checker, Verdict
from spade_train.rollouts.ray_cluster import RayCluster, RayJudge
from spade_train.rollouts.ray_stage import RayStage

pytestmark = pytest.mark.timeout(600)

HANGS = '''
from spade_envs.api import TextEnv


class Door(TextEnv):
    """A door that opens at the third knock, and a word that it never comes back from."""

    levels = 2
    max_turns = 6

    def on_reset(self, rng):
        self.left = 3 + self.level
        return f"Knock {self.left} times."

    def on_step(self, action):
        while action == "hang":
            pass
        self.left -= action == "knock"
        if self.left == 0:
            return self.win("It opens.")
        return f"{self.left} to go."

    def hint(self):
        return f"It wants {self.left} knocks."

    def solution(self):
        return ["knock"] * self.left
'''
BROKEN = "class Nothing:\n    pass\n"


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    """A head without cores and two machines with one core each, all on this one."""
    from ray.cluster_utils import Cluster

    small = {"object_store_memory": 80 * 2**20, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **small})
    for _ in range(2):
        cluster.add_node(num_cpus=1, object_store_memory=80 * 2**20)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@pytest.fixture
def cluster(nodes: Any) -> Iterator[RayCluster]:
    found = RayCluster(2, address=nodes.address)
    yield found
    found.close()


def starter(count: int) -> list[EnvSource]:
    store = open_store(starter_path())
    return [store.source(record) for record in store.records()[:count]]


def seats(sources: list[EnvSource]) -> list[Seat]:
    return [
        Seat(
            key=f"{number}-{seed}-{hinted}",
            env=source.sha256,
            source=source,
            level=seed % 2,
            seed=seed,
            hinted=hinted,
        )
        for number, source in enumerate(sources)
        for seed in range(2)
        for hinted in (False, True)
    ]


Trace = tuple[Opened, list[StepOutcome]]


def play(scene: Scene, wanted: list[Seat], at_turn: Callable[[int], None]) -> dict[str, Trace]:
    """Play the reference where it is known and nonsense elsewhere; some say the deadly word."""
    traces: dict[str, Trace] = {}
    half = len(wanted) // 2
    for begun in (wanted[:half], wanted[half:]):  # the second half joins when the first is over
        live = {}
        for seat, opened in zip(begun, scene.open(begun), strict=True):
            traces[seat.key] = (opened, [])
            if opened.fault is None:
                live[seat.key] = [*opened.solution] or ["hang", "knock", "", "1"]
            else:
                scene.leave([seat.key])
        for turn in range(4):
            at_turn(turn)
            moves = [(key, script[turn % len(script)]) for key, script in live.items()]
            for (key, _), outcome in zip(moves, scene.step(moves), strict=True):
                traces[key][1].append(outcome)
                if outcome.done:
                    del live[key]
                    scene.leave([key])
        scene.leave(live)
    return traces


def plain(traces: dict[str, Trace]) -> dict[str, object]:
    """What of the traces must be equal; a fault's message may name a time that was measured."""

    def flat(fault: object) -> object:
        return fault and replace(fault, message="", traceback="")

    return {
        key: (
            replace(opened, fault=flat(opened.fault), hint_fault=flat(opened.hint_fault)),
            [
                (o.observation, o.reward, o.terminated, o.truncated, o.info, flat(o.fault))
                for o in outcomes
            ],
        )
        for key, (opened, outcomes) in traces.items()
    }


def test_episodes_equal_local_ones_while_workers_are_killed(cluster: RayCluster) -> None:
    sources = [*starter(3), EnvSource(code=HANGS), EnvSource(code=BROKEN)]
    wanted = seats(sources)
    local = Stage(1)
    expected = play(local, wanted, lambda turn: None)
    local.close()
    assert any(o.fault for _, steps in expected.values() for o in steps)
    assert any(o.terminated and o.reward > 0 for _, steps in expected.values() for o in steps)
    killed = []

    def kill(turn: int) -> None:
        if turn in (1, 3):
            host = cluster.hosts[turn // 2]
            killed.append(ray.get(host.pid.remote()))
            os.kill(killed[-1], signal.SIGKILL)

    for disturb in (lambda turn: None, kill, lambda turn: None):
        scene = RayStage(cluster)
        found = play(scene, wanted, disturb)
        scene.close()
        assert plain(found) == plain(expected)
    assert len(set(killed)) == 4


def test_verdicts_equal_local_ones_when_a_machine_is_lost(nodes: Any, cluster: RayCluster) -> None:
    sources = [*starter(2), EnvSource(code=BROKEN), EnvSource(code=HANGS)]
    checker = Checker(depth="quick")
    expected = list(checker.check_all(sources))
    checker.close()
    assert [verdict.accepted for verdict in expected][2:] == [False, False]
    lost = nodes.add_node(num_cpus=2, object_store_memory=80 * 2**20)
    judge = RayJudge(cluster, depth="quick")
    verdicts = judge.check_all([*sources, *sources])
    found = [next(verdicts)]
    nodes.remove_node(lost)
    found += verdicts
    judge.close()
    assert [facts(verdict) for verdict in found] == [facts(verdict) for verdict in expected] * 2


def facts(verdict: Verdict) -> object:
    results = [(result.gate, result.outcome) for result in verdict.report.results]
    return results, verdict.accepted, verdict.chance, verdict.hint, verdict.report.source_sha256


def test_a_handler_that_saves_at_the_end_stays_in_place(nodes: Any) -> None:
    def save(number: int, frame: object) -> None:
        pass

    before = signal.signal(signal.SIGTERM, save)
    try:
        ray.shutdown()
        found = RayCluster(1, address=nodes.address)
        assert signal.getsignal(signal.SIGTERM) is save
        found.close()
        assert not ray.is_initialized()
    finally:
        signal.signal(signal.SIGTERM, before)


def test_an_address_without_a_cluster_is_one_clear_error() -> None:
    ray.shutdown()
    with pytest.raises(SandboxError, match=r"no Ray cluster at 127\.0\.0\.1:1"):
        RayCluster(1, address="127.0.0.1:1")
