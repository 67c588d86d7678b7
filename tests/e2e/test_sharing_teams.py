"""Three teams with a remote between them: what one makes, another trains on, a third merges."""

import contextlib
import os

import gymnasium as gym
import pytest

from envs.sharing.places import PLACES
from spade_envs.registration import register_catch_all
from spade_envs.sharing import install, make_lock, pull, push
from spade_envs.store import open_store
from spade_envs.trust import settings

pytest.importorskip("trl")

from spade_train.config import resolve
from spade_train.launch import train, write_heldout
from spade_train.runs import read_metrics

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

COUNT = 3


@contextlib.contextmanager
def team(name, tmp_path):
    """Act as a team with a machine of its own: its notes, settings and caches are its own."""
    with pytest.MonkeyPatch.context() as patch:
        for kind in ("STATE", "CONFIG", "CACHE"):
            patch.setenv(f"XDG_{kind}_HOME", str(tmp_path / name / "home" / kind.lower()))
        yield tmp_path / name


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    return [
        write_heldout(folder / f"store{seed}", count=COUNT, seed=seed, setting="games")
        for seed in (5, 6)
    ]


def digests(store):
    return {record.id: record.digest for record in store.records()}


def errors(store):
    return [each for each in store.verify(deep=True) if each.severity == "error"]


def train_once(store, folder):
    config = resolve(
        "quickstart",
        overlays=["fixed-pool"],
        settings=[
            f"pool.source={store.root}",
            "setting=games",
            'designer.skills=["mathematical-reasoning"]',
            f"designer.environments={COUNT}",
            "agent.episodes_per_env=2",
            "agent.episodes_per_instance=2",
            "agent.max_turns=2",
            "agent.sampling.max_tokens=8",
            "evaluation.episodes=0",
            "run.updates=1",
        ],
    )
    train(config, folder)
    (line,) = read_metrics(folder / "metrics.jsonl")
    return line


@pytest.mark.parametrize("kind", PLACES)
def test_three_teams_share_what_they_make(kind, made, tmp_path):
    ours, theirs = made
    with PLACES[kind](tmp_path) as place:
        with team("alice", tmp_path):
            assert len(push(place, ours).of("new")) == COUNT
        with team("bob", tmp_path) as home:
            pool = open_store(home / "pool", create=True)
            assert len(pull(place, pool).of("new")) == COUNT
            assert (digests(pool), errors(pool)) == (digests(ours), [])
            settings.allow("", "")
            register_catch_all()
            for record in pool.records():
                env = gym.make("spade/Env-v0", ref=record.id, store=str(pool.root))
                observation, _ = env.reset(seed=1)
                assert observation
                env.close()
            line = train_once(pool, home / "run")
            assert line["budget/agent_episodes"] == 2.0 * COUNT
            lock = make_lock(pool, remote=place)
            assert len(push(place, theirs).of("new")) == COUNT
        with team("carol", tmp_path) as home:
            merged = open_store(home / "merged", create=True)
            assert pull(place, merged).clean
            assert (digests(merged), errors(merged)) == (digests(ours) | digests(theirs), [])
            again = open_store(home / "again", create=True)
            assert install(lock, again).clean
            assert digests(again) == digests(ours)
    assert os.environ.get("XDG_STATE_HOME", "").find("carol") < 0
