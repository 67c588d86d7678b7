"""A tenth of the environments breaks at play: nothing is invented, the run goes on and says so."""

import shutil
from dataclasses import replace

import pytest

pytest.importorskip("trl")

from spade_envs.sandbox import default_sandbox
from spade_envs.store import open_store
from spade_envs.types import EnvSource
from spade_train.config import resolve
from spade_train.errors import HealthError
from spade_train.launch import train, write_heldout
from spade_train.runs import read_events, read_metrics

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

GOOD = 9
BROKEN = '''\
from spade_envs.api import TextEnv


class Broken(TextEnv):
    """Breaks at the first step."""

    levels = 2
    max_turns = 2

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        return "Say x.", {}

    def step(self, action):
        HOW

    def solution(self):
        return ["x"]
'''
HOWS = {
    "hangs": "while True:\n            pass",
    "crashes": "raise RuntimeError('broken')",
    "grows": "return 'x' * 10**10, 0.0, True, False, {}",
}


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pool") / "store"
    write_heldout(folder, count=GOOD, seed=5, setting="games")
    return folder


def _with_broken(good, folder, how):
    shutil.copytree(good, folder)
    (folder / "heldout.json").unlink()
    store = open_store(folder)
    source = EnvSource(code=BROKEN.replace("HOW", HOWS[how]))
    worker = default_sandbox().load(source)
    # A verdict that a gate would not give, so that what breaks gets as far as to be played.
    report = replace(
        store.report(store.records()[0]),
        source_sha256=source.sha256,
        interface=worker.interface,
    )
    worker.close()
    return store, store.add(source, report, {"run": "test"}).digest


def _config(store, *settings):
    return resolve(
        "quickstart",
        overlays=["fixed-pool"],
        settings=[
            f"pool.source={store.root}",
            "setting=games",
            'designer.skills=["mathematical-reasoning"]',
            f"designer.environments={GOOD + 1}",
            "agent.episodes_per_env=6",
            "agent.episodes_per_instance=2",
            "agent.max_turns=3",
            "agent.sampling.max_tokens=12",
            "evaluation.episodes=0",
            "run.updates=2",
            *settings,
        ],
    )


@pytest.mark.parametrize("how", HOWS)
def test_the_run_goes_on_and_reports_it(good, tmp_path, how):
    store, broken = _with_broken(good, tmp_path / "store", how)
    envs = len(store.records())
    train(_config(store, f"designer.environments={envs}"), tmp_path / "run")
    lines = read_metrics(tmp_path / "run" / "metrics.jsonl")
    assert [line["agent/fault_share"] for line in lines] == [pytest.approx(1 / envs)] * 2
    events = read_events(tmp_path / "run" / "events.jsonl")
    health = [event for event in events if event["kind"] == "health"]
    assert [(event["what"], event["episodes"]) for event in health] == [("faults", 6)] * 2
    # Nothing of it is in a group: success is that of the others alone.
    assert lines[0]["budget/agent_episodes"] == 6.0 * envs
    assert all(event["env"] != broken or event["fault"] for event in events if "fault" in event)


def test_above_the_limit_it_stops(good, tmp_path):
    store, broken = _with_broken(good, tmp_path / "store", "crashes")
    with pytest.raises(HealthError, match=f"max_fault_share is 5%.*{broken[:19]} alone 6"):
        train(_config(store, "health.max_fault_share=0.05"), tmp_path / "run")
