import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from envs.play.sources import BROKEN_RESET, CHEAT, COUNTER
from spade_envs.errors import ConfigError
from spade_envs.play import SandboxedEnv, SandboxedVectorEnv
from spade_envs.play.session import open_session
from spade_envs.types import Limits


@pytest.fixture
def make():
    made = []

    def _make(mode=AutoresetMode.NEXT_STEP, levels=(0, 1, 2), source=COUNTER, **limits):
        session = open_session(source, limits=Limits(**limits))
        made.append(SandboxedVectorEnv(session, levels=levels, autoreset_mode=mode))
        return made[-1]

    yield _make
    for env in made:
        env.close()


def test_shapes_and_metadata(make):
    env = make()
    observations, infos = env.reset(seed=5)
    assert observations in env.observation_space
    assert [int(text) // 10000 for text in observations] == [0, 1, 2]
    assert env.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    _, rewards, terminated, truncated, infos = env.step(["?"] * 3)
    assert (rewards.dtype, terminated.dtype, truncated.dtype) == (np.float64, bool, bool)
    assert infos["_more"].tolist() == [True] * 3


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_it_plays_as_gymnasiums_own_vector_environment_does(make, mode):
    ours = make(mode)
    theirs = gym.vector.SyncVectorEnv(
        [
            lambda level=level: SandboxedEnv(open_session(COUNTER), level=level)
            for level in range(3)
        ],
        autoreset_mode=mode,
    )
    first = ours.reset(seed=5)[0]
    assert first == theirs.reset(seed=5)[0]
    for actions in [["?", first[1], "?"], ["?"] * 3, ["?"] * 3, ["?"] * 3, ["?"] * 3, ["?"] * 3]:
        one, two = ours.step(actions), theirs.step(actions)
        assert one[0] == two[0]
        for mine, other in zip(one[1:4], two[1:4], strict=True):
            assert mine.tolist() == other.tolist()
        assert one[4].keys() == two[4].keys()
    theirs.close()


def test_next_step_ignores_the_action_of_an_ended_instance(make):
    env = make(levels=[0, 0])
    first, _ = env.reset(seed=[1, 2])
    _, rewards, terminated, _, infos = env.step([first[0], "?"])
    assert rewards.tolist() == [1.0, 0.0]
    assert terminated.tolist() == [True, False]
    assert infos["success"][0]
    observations, rewards, terminated, _, _ = env.step(["ignored", "?"])
    assert rewards.tolist() == [0.0, 0.0]
    assert terminated.tolist() == [False, False]
    assert int(observations[0]) >= 10


def test_same_step_keeps_the_last_observation(make):
    env = make(AutoresetMode.SAME_STEP, levels=[0, 0])
    first, _ = env.reset(seed=[1, 2])
    observations, rewards, terminated, _, infos = env.step([first[0], "?"])
    assert rewards.tolist() == [1.0, 0.0]
    assert terminated.tolist() == [True, False]
    assert infos["final_obs"][0] == "Right."
    assert infos["final_info"]["success"][0]
    assert int(observations[0]) >= 10


def test_disabled_autoreset_wants_a_mask(make):
    env = make(AutoresetMode.DISABLED, levels=[0, 0])
    first, _ = env.reset(seed=[1, 2])
    env.step([first[0], "?"])
    with pytest.raises(gym.error.ResetNeeded, match=r"\[0\]"):
        env.step(["?", "?"])
    again, _ = env.reset(seed=[1, None], options={"reset_mask": np.array([True, False])})
    assert again[0] == first[0]
    assert env.step(["?", "?"])[3].tolist() == [False, False]


def test_one_hang_is_a_fault_of_one_and_the_others_keep_their_state(make):
    env = make(levels=[0] * 5, step_timeout_s=0.4)
    totals = [int(text) for text in env.reset(seed=3)[0]]
    totals = [t + int(m) for t, m in zip(totals, env.step(["?"] * 5)[0], strict=True)]
    actions = ["hang" if index == 2 else "?" for index in range(5)]
    observations, _, _, truncated, infos = env.step(actions)
    assert truncated.tolist() == [False, False, True, False, False]
    assert infos["fault"]["kind"][2] == "timeout"
    answers = [
        "" if index == 2 else str(totals[index] + int(observations[index])) for index in range(5)
    ]
    assert env.step(answers)[1].tolist() == [1.0, 1.0, 0.0, 1.0, 1.0]


def test_a_failing_reset_truncates_that_instance_at_its_next_step(make):
    env = make(levels=[0, 0], source=BROKEN_RESET)
    observations, infos = env.reset(seed=[1, 2])
    assert observations[1] == "even"
    assert infos["fault"]["op"][0] == "reset"
    _, rewards, terminated, truncated, _ = env.step(["a", "a"])
    assert rewards.tolist() == [0.0, 1.0]
    assert (terminated.tolist(), truncated.tolist()) == ([False, True], [True, False])


@pytest.mark.parametrize("actions", ["ab", ["a"], ["a", 1, "b"]])
def test_wrong_actions_are_refused(make, actions):
    env = make()
    env.reset(seed=1)
    with pytest.raises(ConfigError):
        env.step(actions)


def test_wrong_seeds_and_masks_are_refused(make):
    env = make()
    with pytest.raises(gym.error.ResetNeeded):
        env.step(["a"] * 3)
    with pytest.raises(ConfigError, match="3 values"):
        env.reset(seed=[1])
    with pytest.raises(ConfigError, match="reset_mask"):
        env.reset(options={"reset_mask": np.zeros(3, dtype=bool)})


def test_overlong_actions_are_cut(make):
    env = make(levels=[0, 0], max_action_chars=4)
    first, _ = env.reset(seed=[5, 5])
    assert env.step([first[0], first[1] + "tail"])[1].tolist() == [1.0, 1.0]


def test_turns_and_returns_are_held_to_what_is_declared(make):
    env = make(levels=(0, 0), source=CHEAT)
    env.reset(seed=1)
    _, rewards, terminated, truncated, infos = env.step(["bonus", "pay"])
    assert (rewards.tolist(), terminated.tolist(), truncated.tolist()) == (
        [0.0, 0.25], [False, False], [True, False],
    )  # fmt: skip
    assert infos["fault"]["kind"][0] == "contract"
    env.step(["pay", "pay"])
    assert env.step(["pay", "pay"])[3].tolist() == [False, True]


def test_none_is_no_action(make):
    env = make()
    env.reset(seed=1)
    with pytest.raises(ConfigError, match="NoneType"):
        env.step(["a", None, "b"])
