"""Playing stored environments: the Gymnasium proxies to the sandbox, and whole episodes."""

from spade_envs.play.chat import conversation
from spade_envs.play.env import SandboxedEnv, make_env
from spade_envs.play.episode import Policy, Reference, play, reference
from spade_envs.play.stage import Seat, Stage
from spade_envs.play.vector import SandboxedVectorEnv, make_vector_env

__all__ = [
    "Policy",
    "Reference",
    "SandboxedEnv",
    "SandboxedVectorEnv",
    "Seat",
    "Stage",
    "conversation",
    "make_env",
    "make_vector_env",
    "play",
    "reference",
]
