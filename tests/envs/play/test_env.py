import gymnasium as gym
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import RecordEpisodeStatistics

from envs.play.sources import BROKEN_RESET, CHEAT, COUNTER
from spade_envs.errors import ConfigError, EnvironmentFault
from spade_envs.play import SandboxedEnv
from spade_envs.play.session import open_session
from spade_envs.types import EnvSource, Limits


@pytest.fixture(params=["process", "none"])
def env(request):
    pin = None if request.param == "process" else "sha256:pinned"
    session = open_session(
        COUNTER, isolation=request.param, trusted_digest=pin, digest="sha256:pinned"
    )
    made = SandboxedEnv(session, level=1)
    yield made
    made.close()


def test_it_is_a_gymnasium_environment(env):
    check_env(env, skip_render_check=True)


def test_an_episode(env):
    first, info = env.reset(seed=5)
    assert 10010 <= int(first) <= 19999
    assert info == {"options": {}}
    text, reward, terminated, truncated, info = env.step("?")
    assert (reward, terminated, truncated, info) == (0.0, False, False, {"more": int(text)})
    answer = str(int(first) + int(text))
    assert env.step(answer)[1:] == (1.0, True, False, {"success": True})
    with pytest.raises(gym.error.ResetNeeded):
        env.step("again")


def test_the_seed_decides_and_later_episodes_follow_from_it(env):
    def three():
        return [env.reset(seed=9)[0], env.reset()[0], env.reset()[0]]

    first = three()
    assert three() == first
    assert len(set(first)) == 3


def test_options_reach_the_environment(env):
    assert env.reset(seed=1, options={"a": [1]})[1] == {"options": {"a": [1]}}


@pytest.mark.parametrize("action", ["raise", "nan"])
def test_a_fault_is_a_truncation_without_reward(env, action):
    env.reset(seed=1)
    text, reward, terminated, truncated, info = env.step(action)
    assert (reward, terminated, truncated, info["success"]) == (0.0, False, True, False)
    assert info["fault"]["op"] == "step"
    assert "as asked" not in text
    env.reset(seed=1)
    assert env.step("?")[2:4] == (False, False)


def test_an_action_is_text(env):
    env.reset(seed=1)
    with pytest.raises(TypeError, match="not int"):
        env.step(7)


def test_any_text_may_be_an_action(env):
    for action in ("", " ", "\n", "🙂 漢字", "x" * 100_000, "\x00", "9" * 5000):
        env.reset(seed=1)
        assert env.step(action)[1] == 0.0


def test_statistics_can_be_recorded(env):
    wrapped = RecordEpisodeStatistics(env)
    first, _ = wrapped.reset(seed=5)
    info = wrapped.step(first)[4]
    assert (info["episode"]["r"], info["episode"]["l"]) == (1.0, 1)


def test_hint_and_solution_cannot_be_reached(env):
    env.reset(seed=1)
    for name in ("hint", "solution", "total"):
        assert not hasattr(env, name)
        with pytest.raises(AttributeError):
            env.get_wrapper_attr(name)


@pytest.mark.parametrize("level", [-1, 3, "1"])
def test_a_level_out_of_range_is_refused(level):
    session = open_session(COUNTER)
    with pytest.raises(ConfigError, match=r"\[0, 3\)"):
        SandboxedEnv(session, level=level)
    session.close()


def test_a_failing_reset_raises_the_fault():
    env = SandboxedEnv(open_session(BROKEN_RESET))
    with pytest.raises(EnvironmentFault, match="RuntimeError: odd"):
        env.reset(seed=1)
    assert env.reset(seed=2)[0] == "even"
    env.close()


def test_a_hang_ends_the_episode_at_the_deadline_and_the_next_one_is_sound():
    env = SandboxedEnv(open_session(COUNTER, limits=Limits(step_timeout_s=0.3)))
    env.reset(seed=1)
    assert env.step("hang")[4]["fault"]["kind"] == "timeout"
    first, _ = env.reset(seed=5)
    assert env.step(first)[1] == 1.0
    env.close()


def test_a_dying_worker_is_a_fault_too():
    env = SandboxedEnv(open_session(COUNTER))
    env.reset(seed=1)
    assert env.step("die")[4]["fault"]["kind"] in ("crash", "exception")
    env.close()


def test_source_that_does_not_load_raises_the_fault():
    with pytest.raises(EnvironmentFault, match="ZeroDivisionError"):
        open_session(EnvSource(code="1 / 0"))


@pytest.mark.parametrize("pin", [None, "sha256:other"])
def test_running_in_this_process_needs_the_digest(pin):
    with pytest.raises(ConfigError, match="trusted_digest='sha256:x'"):
        open_session(COUNTER, isolation="none", trusted_digest=pin, digest="sha256:x")


def test_an_unknown_isolation_is_refused():
    with pytest.raises(ConfigError, match="'process' or 'none'"):
        open_session(COUNTER, isolation="docker")


@pytest.mark.parametrize("isolation", ["process", "none"])
def test_an_overlong_action_is_cut_and_not_charged_to_the_environment(isolation):
    limits = Limits(max_action_chars=4)
    session = open_session(
        COUNTER, limits=limits, isolation=isolation, trusted_digest="x", digest="x"
    )
    env = SandboxedEnv(session)
    first, _ = env.reset(seed=5)
    assert len(first) == 4
    assert env.step(first + "tail")[1] == 1.0
    env.close()


def test_an_environment_that_never_ends_is_truncated_at_its_max_turns():
    env = SandboxedEnv(open_session(CHEAT))
    for _ in range(2):
        env.reset(seed=1)
        assert env.step("pay") == ("on", 0.25, False, False, {})
        env.step("pay")
        assert env.step("pay") == ("on", 0.25, False, True, {"success": False})
        with pytest.raises(gym.error.ResetNeeded):
            env.step("pay")
    env.close()


def test_a_return_outside_of_the_reward_range_is_a_fault_and_not_a_reward():
    env = SandboxedEnv(open_session(CHEAT))
    env.reset(seed=1)
    _, reward, terminated, truncated, info = env.step("bonus")
    assert (reward, terminated, truncated, info["success"]) == (0.0, False, True, False)
    assert info["fault"]["kind"] == "contract"
    env.close()


def test_a_level_is_a_plain_int():
    session = open_session(CHEAT)
    with pytest.raises(ConfigError, match="level must be an int"):
        SandboxedEnv(session, level=False)
    session.close()
