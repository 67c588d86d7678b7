from collections import Counter

import pytest

from spade_train.batch import Solo
from spade_train.loop import HeldEnv, HeldOut
from spade_train.loop.held import held_jobs, held_metrics
from spade_train.types import EpisodeResult
from train.loop_fakes import config, digest, drive, make

HELD = HeldOut((HeldEnv(digest("a"), 2, "walk"), HeldEnv(digest("b"), 3, "fold")))


def _result(env, level, success, fault=None):
    return EpisodeResult(
        env=digest(env),
        level=level,
        seed=0,
        update=0,
        hinted=False,
        success=success,
        fault=fault,
    )


def test_episodes_are_dealt_out_evenly_and_are_the_same_at_every_update():
    early = held_jobs(HELD, episodes=50, seed=7, update=0)
    late = held_jobs(HELD, episodes=50, seed=7, update=40)
    assert Counter((job.env, job.level) for job in early) == {
        (env.digest, level): 10 for env in HELD.envs for level in range(env.levels)
    }
    assert {job.seed for job in early} == set(range(7, 17))
    assert [(j.env, j.level, j.seed, j.sample_seed) for j in early] == [
        (j.env, j.level, j.seed, j.sample_seed) for j in late
    ]
    assert not {job.key for job in early} & {job.key for job in late}


def test_fewer_episodes_than_levels_are_spread_over_them():
    jobs = held_jobs(HELD, episodes=2, seed=0, update=0)
    assert [(job.env, job.level) for job in jobs] == [(digest("a"), 0), (digest("b"), 0)]


def test_success_by_level_and_group_leaves_faults_out():
    results = [
        _result("a", 0, True),
        _result("a", 1, False),
        _result("b", 1, True),
        _result("b", 1, False, fault="crash"),
    ]
    found = held_metrics(HELD, results)
    assert found["eval/success"] == pytest.approx(2 / 3)
    assert found["eval/success/level-1"] == 0.5
    assert found["eval/success/walk"] == 0.5
    assert found["eval/success/fold"] == 1.0
    assert found["eval/success_se"] == pytest.approx((2 / 9 / 2) ** 0.5)
    assert held_metrics(HELD, []) == {}


def test_evaluation_comes_by_interval_and_at_the_end_and_costs_no_budget():
    setting = config(evaluation__episodes=10, evaluation__interval=2, run__updates=3)
    loop, rollouts, book = make(setting, Solo(), held=HELD)
    drive(loop)
    assert [line["update"] for line in book.metrics if "eval/success" in line] == [0, 2, 3]
    assert book.metrics[-1]["budget/agent_episodes"] == 3 * 48.0
    assert sum(job.key.startswith("eval/") for job in rollouts.played) == 30
    assert rollouts.sampling.temperature == 0.0
    sampled, other, _ = make(
        config(evaluation__episodes=10, evaluation__greedy=False, run__updates=1), Solo(), held=HELD
    )
    drive(sampled)
    assert other.sampling.temperature == 1.0


def test_benchmarks_are_played_whenever_held_out_environments_are():
    asked = []

    def exams(update):
        asked.append(update)
        return {"eval/suite/sums": 0.5}

    setting = config(evaluation__episodes=0, evaluation__interval=2, run__updates=3)
    loop, _, book = make(setting, Solo(), exams=exams)
    drive(loop)
    assert asked == [0, 2, 3]
    assert [line["update"] for line in book.metrics if "eval/suite/sums" in line] == [0, 2, 3]
