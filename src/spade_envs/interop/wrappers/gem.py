"""`gem:ID`: multi-turn games with GEM's own rewards."""

from __future__ import annotations

from spade_envs.interop.target import Library, Target
from spade_envs.interop.wrappers import wrapped

LIBRARY = Library(name="gem-llm", modules=("gem",), licence="Apache-2.0")

# GEM shows `suffix` after the observation; its format penalties make a return below 0 possible.
_TEMPLATE = '''\
import gem

from spade_envs.api import TextEnv


def shown(observation, info):
    suffix = info.get("suffix")
    return f"{observation}\\n{suffix}" if suffix else str(observation)


class $cls(TextEnv):
    """$label."""

    max_turns = 100
    reward_range = (-100.0, 1.0)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.game = gem.make($ident)
        observation, info = self.game.reset(seed=self.draw_int(0, 2**31 - 1))
        return shown(observation, info), {}

    def step(self, action):
        observation, reward, terminated, truncated, info = self.game.step(action)
        reward = float(reward)
        ended = bool(terminated or truncated)
        outcome = {"success": reward >= 1.0} if ended else {}
        return shown(observation, info), reward, bool(terminated), bool(truncated), outcome
'''


def names(rest: str) -> list[str]:
    """Return the ids behind the prefix, separated by commas."""
    return rest.split(",")


def wrap(name: str) -> Target:
    """Return the target of one game."""
    return wrapped(f"gem:{name}", _TEMPLATE, LIBRARY, name, ident=name)
