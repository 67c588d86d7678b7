import pytest

from envs.play.sources import BROKEN_RESET, COUNTER
from spade_envs.errors import EnvironmentFault
from spade_envs.play import SandboxedEnv, play, reference
from spade_envs.play.session import open_session
from spade_envs.types import EnvSource


@pytest.fixture
def env():
    made = SandboxedEnv(open_session(COUNTER), level=2)
    yield made
    made.close()


def test_play_records_every_turn(env):
    def policy(first, turns):
        shown = [first, *(turn.observation for turn in turns)]
        return "?" if len(turns) < 2 else str(sum(map(int, shown)))

    episode = play(env, policy, seed=4)
    assert (episode.total_reward, episode.success, episode.terminated) == (1.0, True, True)
    assert [turn.action for turn in episode.turns[:2]] == ["?", "?"]
    assert (episode.level, episode.seed, episode.fault) == (2, 4, None)


def test_an_unanswered_episode_is_truncated(env):
    episode = play(env, lambda first, turns: "?", seed=4)
    assert (len(episode.turns), episode.truncated, episode.success) == (4, True, False)


@pytest.mark.parametrize("flag", ['"no"', "1", "[False]", '{"won": False}', "None", "False"])
def test_success_is_true_alone_and_a_programs_own_word_fault_is_none(flag):
    step = f"""    def step(self, action):
        return "over", 0.0, True, False, {{"success": {flag}, "fault": "crash"}}

    def hint"""
    told = EnvSource(code=COUNTER.code.replace("    def hint", step, 1))
    assert told != COUNTER
    made = SandboxedEnv(open_session(told))
    episode = play(made, lambda first, turns: "x", seed=1)
    made.close()
    assert (episode.success, episode.fault, episode.terminated) == (False, None, True)


def test_faults_are_part_of_the_episode(env):
    episode = play(env, lambda first, turns: "raise", seed=4)
    assert episode.fault.message == "ValueError: as asked"
    broken = SandboxedEnv(open_session(BROKEN_RESET))
    episode = play(broken, lambda first, turns: "a", seed=1)
    assert (episode.fault.op, episode.turns) == ("reset", ())
    broken.close()


def test_reference_is_that_of_the_same_instance(env):
    known = reference(COUNTER, seed=4, level=2)
    assert known.hint == "Add."
    episode = play(env, lambda first, turns: known.solution[len(turns)], seed=4)
    assert episode.success


def test_reference_of_an_environment_without_one():
    known = reference(BROKEN_RESET, seed=2)
    assert (known.hint, known.solution) == (None, None)
    with pytest.raises(EnvironmentFault, match="odd"):
        reference(BROKEN_RESET, seed=3)
