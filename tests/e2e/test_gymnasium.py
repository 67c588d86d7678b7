"""What Gymnasium users do with a registered environment, in this process and in others."""

import subprocess
import sys

import gymnasium as gym
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import RecordEpisodeStatistics

import spade_envs
from spade_envs.errors import ConfigError, Corrupt, Withdrawn
from spade_envs.gates import check
from spade_envs.play import SandboxedVectorEnv

CODE = '''
from spade_envs.api import TextEnv, answer_of


class Echoes(TextEnv):
    """Say a word backwards."""

    levels = 3
    max_turns = 3

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        letters = "abcdefghijklmnopqrstuvwxyz"
        self.word = "".join(self.draw(letters) for _ in range(5 + 2 * self.level))
        return f"Write {self.word} backwards, in \\\\boxed{{}}.", {"漢": "🙂"}

    def step(self, action):
        if answer_of(action) == self.word[::-1]:
            return self.win("Right.")
        return self.go_on("No.\\n🙂")

    def hint(self):
        return f"It begins with the letter after position {len(self.word) - 1}."

    def solution(self):
        return [f"\\\\boxed{{{self.word[::-1]}}}"]
'''


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    source = spade_envs.EnvSource(code=CODE)
    report = check(source)
    assert report.accepted, report.failures
    opened = spade_envs.open_store(tmp_path_factory.mktemp("store") / "s", create=True)
    for name in ("echoes", "gone"):
        opened.add(source, report, {"method": "hand-written"}, name=name)
    opened.withdraw("gone", "not fair")
    spade_envs.register_store(opened)
    return opened


def solved(observation):
    return f"\\boxed{{{observation.split()[1][::-1]}}}"


def test_make_plays_and_passes_the_checker(store):
    env = gym.make("spade/echoes-v0", level=2)
    check_env(env.unwrapped, skip_render_check=True)
    observation, info = env.reset(seed=1)
    assert len(observation.split()[1]) == 9
    assert info == {"漢": "🙂"}
    assert env.step(solved(observation))[1:] == (1.0, True, False, {"success": True})
    env.close()


def test_statistics_wrapper(store):
    env = RecordEpisodeStatistics(gym.make("spade/echoes-v0"))
    observation, _ = env.reset(seed=1)
    env.step("🙂\n")
    info = env.step(solved(observation))[4]
    assert (info["episode"]["r"], info["episode"]["l"]) == (1.0, 2)
    env.close()


def test_make_vec_gives_one_worker_with_many_instances(store):
    env = gym.make_vec("spade/echoes-v0", num_envs=64, level=1)
    assert isinstance(env.unwrapped, SandboxedVectorEnv)
    observations, _ = env.reset(seed=0)
    rewards = env.step([solved(text) for text in observations])[1]
    assert rewards.tolist() == [1.0] * 64
    env.close()


def test_spec_survives_json(store):
    spec = gym.envs.registration.EnvSpec.from_json(gym.spec("spade/echoes-v0").to_json())
    env = gym.make(spec)
    assert env.reset(seed=1)[0].startswith("Write")
    env.close()


SPAWN = """
import gymnasium as gym

def make(root):
    def build():
        import spade_envs
        spade_envs.register_store(root)
        return gym.make("spade/echoes-v0", level=1)
    return build

if __name__ == "__main__":
    import sys
    env = gym.vector.AsyncVectorEnv([make(sys.argv[1])] * 3, shared_memory=False, context="spawn")
    observations, infos = env.reset(seed=[1, 2, 3])
    answers = [f"\\\\boxed{{{text.split()[1][::-1]}}}" for text in observations]
    _, rewards, terminated, *_ = env.step(answers)
    print(rewards.tolist(), terminated.tolist())
    env.close()
"""


def test_spawned_async_vector_environments(store, tmp_path):
    script = tmp_path / "spawn.py"
    script.write_text(SPAWN)
    command = [sys.executable, str(script), str(store.root)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert run.stdout.strip() == "[1.0, 1.0, 1.0] [True, True, True]", run.stderr


def test_the_prefixed_id_needs_no_import(store):
    code = "import gymnasium as gym; print(gym.make('spade_envs:spade/echoes-v0').reset(seed=1)[0])"
    env = {"SPADE_ENVSTORE": str(store.root), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    assert run.stdout.startswith("Write "), run.stderr


def test_errors_say_what_is_the_matter(store):
    with pytest.raises(ConfigError, match=r"\[0, 3\)"):
        gym.make("spade/echoes-v0", level=3)
    with pytest.raises(Withdrawn, match="not fair"):
        gym.make("spade/gone-v0")
    with pytest.raises(gym.error.NameNotFound, match="echoes"):
        gym.make("spade/echos-v0")
    with pytest.raises(Corrupt, match="has digest"):
        gym.make("spade/echoes-v0", digest="sha256:" + "0" * 64)


def test_code_in_this_process_only_for_a_pinned_digest(store):
    with pytest.raises(ConfigError, match="trusted_digest"):
        gym.make("spade/echoes-v0", isolation="none")
    digest = store.get("echoes").digest
    env = gym.make("spade/echoes-v0", isolation="none", trusted_digest=digest)
    assert env.unwrapped.metadata["isolation"] == ()
    sandboxed = gym.make("spade/echoes-v0")
    assert "seccomp" in sandboxed.unwrapped.metadata["isolation"]
    assert env.reset(seed=4) == sandboxed.reset(seed=4)
    env.close()
    sandboxed.close()
