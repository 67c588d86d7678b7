import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spade_envs.types import Episode, Fault
from spade_train.errors import DataError
from spade_train.hint_information import hint_information
from spade_train.rewards import (
    SuccessRate,
    agent_reward,
    learnability,
    plateau,
    published_outcome,
    regret_term,
    success_rate,
    variance_bonus,
)
from spade_train.types import EpisodeResult


def result(*, success=False, fault=None, total_reward=0.0, hinted=False, seed=0):
    return EpisodeResult(
        env="e", level=0, seed=seed, update=0, hinted=hinted, success=success,
        total_reward=total_reward, fault=fault,
    )  # fmt: skip


def episode(**changes):
    values = {
        "env_id": "spade/x-v0", "level": 2, "seed": 7, "first_observation": "", "turns": (),
        "total_reward": 0.5, "success": True, "terminated": True, "truncated": False,
    }  # fmt: skip
    return Episode(**(values | changes))


def test_a_result_of_an_episode():
    found = EpisodeResult.of(episode(hinted=True), update=3)
    assert (found.env, found.level, found.seed, found.update) == ("spade/x-v0", 2, 7, 3)
    assert (found.hinted, found.success, found.total_reward, found.fault) == (True, True, 0.5, None)
    broken = EpisodeResult.of(
        episode(fault=Fault(kind="timeout", op="step", message="2 s")), update=0
    )
    assert broken.fault == "timeout"
    assert agent_reward(broken) is agent_reward(broken, "return") is None


@pytest.mark.parametrize(
    ("kind", "success", "total", "expected"),
    [
        ("success", True, 0.2, 1.0), ("success", False, 0.9, 0.0),
        ("return", True, 0.2, 0.2), ("return", False, 3.0, 1.0), ("return", False, -9.0, -1.0),
    ],
)  # fmt: skip
def test_agent_reward(kind, success, total, expected):
    assert agent_reward(result(success=success, total_reward=total), kind) == expected


def test_success_is_the_flag_and_faults_stand_apart():
    # A constant reward of one half is not a success rate of one half.
    paid = [result(total_reward=0.5) for _ in range(6)]
    found = success_rate([*paid, result(success=True), result(success=True, fault="crash")])
    assert found == SuccessRate(successes=1, episodes=7, faults=1)
    assert found.rate == pytest.approx(1 / 7)
    assert found.fault_share == pytest.approx(1 / 8)
    assert found.standard_error == pytest.approx((1 / 7 * 6 / 7 / 6) ** 0.5)
    nothing = success_rate([])
    assert (nothing.rate, nothing.standard_error, nothing.fault_share) == (None, None, 0.0)


@settings(deadline=None)
@given(rate=st.floats(0, 1))
def test_the_plateau_is_symmetric_about_its_band(rate):
    assert 0.0 <= plateau(rate) <= 1.0
    assert plateau(rate) == pytest.approx(plateau(1.0 - rate))


def test_learnability_by_hand():
    # Instances: 1/2 won (unbiased 4 * .25 * 2 = 2), always won, played once (left out).
    assert learnability([1, 0, 1, 1, 1], ["a", "a", "b", "b", "c"]) == 1.0
    assert learnability([1, 0, 1, 1, 1, 1], ["a", "a", "b", "b", "c", "c"]) == pytest.approx(2 / 3)
    assert learnability([1, 0], ["a", "b"]) is None
    assert learnability([], []) is None
    assert learnability([1, 9, 1], ["a"] * 3, valid=[True, False, True]) == 0.0


def test_a_mixture_of_sure_and_hopeless_instances_teaches_nothing():
    wins = np.repeat([1, 0] * 8, 4)
    instances = np.repeat(np.arange(16), 4).tolist()
    assert wins.mean() == 0.5
    assert learnability(wins, instances) == 0.0


@settings(max_examples=20, deadline=None)
@given(rate=st.sampled_from([0.1, 0.3, 0.5]), repeats=st.integers(2, 6))
def test_learnability_is_unbiased(rate, repeats):
    rng = np.random.default_rng(repeats)
    wins = rng.random(3000 * repeats) < rate
    found = learnability(wins, np.repeat(np.arange(3000), repeats).tolist())
    assert found == pytest.approx(4 * rate * (1 - rate), abs=0.06)


REFERENCES = [["north", "take lamp"], ["south", "take rope"], ["east", "take coin"]]


@pytest.mark.parametrize(
    ("hints", "overlap"),
    [
        (["Walk, then take what lies there."] * 3, 0.0),
        (["north take lamp", "south take rope", "east take coin"], 1.0),
        (["Go NORTH first.", "Go SOUTH first.", "Go EAST first."], 1 / 3),
        (["You take the lamp.", "You take the rope.", "You take the coin."], 0.5),
        (["lamp", "north", ""], 1 / 15),
    ],
)
def test_overlap_is_what_the_own_hint_tells_beyond_the_others(hints, overlap):
    found = hint_information(hints, REFERENCES)
    assert found.overlap == pytest.approx(overlap, abs=1e-9)


def test_hint_information_counts_words_and_keeps_the_rest():
    found = hint_information(["one two", ""], [["x"], ["y"]], reader_success=0.25, withheld=False)
    assert (found.words, found.overlap) == (1.0, 0.0)
    assert (found.reader_success, found.withheld) == (0.25, False)
    assert hint_information(["say x now"], [["x"]]).overlap == 1.0


@settings(deadline=None)
@given(
    texts=st.lists(st.tuples(st.text(max_size=20), st.text(max_size=20)), min_size=1, max_size=4)
)
def test_overlap_is_a_share_and_an_empty_hint_has_none(texts):
    references = [[reference] for _, reference in texts]
    assert 0.0 <= hint_information([hint for hint, _ in texts], references).overlap <= 1.0
    assert hint_information([""] * len(texts), references).overlap == 0.0


@pytest.mark.parametrize(
    "call",
    [
        lambda: plateau(1.1),
        lambda: plateau(0.5, low=0.7),
        lambda: plateau(0.5, ramp=0.0),
        lambda: regret_term(0.1, scale=0.0),
        lambda: regret_term(float("nan")),
        lambda: variance_bonus(-1.0),
        lambda: published_outcome([float("inf")], terminated=True),
        lambda: agent_reward(result(total_reward=float("nan")), "return"),
        lambda: learnability([1], ["a", "b"]),
        lambda: hint_information([], []),
        lambda: hint_information(["a"], []),
        lambda: hint_information(["a"], [["a"]], reader_success=1.5),
    ],
)
def test_bad_data(call):
    with pytest.raises(DataError):
        call()
