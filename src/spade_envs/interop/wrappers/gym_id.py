"""`gym:ID` or `gym:MODULE:ID`: any Gymnasium environment whose observations and actions are text.

`MODULE` is imported first, as in `gymnasium.make("MODULE:ID")`; it is what registers the id.
"""

from __future__ import annotations

from spade_envs.interop.target import Library, Target
from spade_envs.interop.wrappers import wrapped

_TEMPLATE = '''\
import gymnasium
$imports
from spade_envs.api import TextEnv


class $cls(TextEnv):
    """$label."""

    max_turns = 100
    reward_range = (-1000.0, 1.0)

    def __init__(self, *, level=0, render_mode=None):
        super().__init__(level=level, render_mode=render_mode)
        self.inner = gymnasium.make($ident, disable_env_checker=True)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        observation, info = self.inner.reset(seed=self.draw_int(0, 2**31 - 1))
        if not isinstance(observation, str):
            raise TypeError(f"the observation is a {type(observation).__name__}, not text")
        return observation, dict(info)

    def step(self, action):
        observation, reward, terminated, truncated, info = self.inner.step(action)
        reward = float(reward)
        if terminated or truncated:
            info = {"success": reward >= 1.0, **info}
        return observation, reward, bool(terminated), bool(truncated), dict(info)
'''


def names(rest: str) -> list[str]:
    """Return the ids behind the prefix, separated by commas."""
    return rest.split(",")


def wrap(name: str) -> Target:
    """Return the target of one registered environment."""
    module, _, ident = name.rpartition(":")
    well_formed = all(part.isidentifier() for part in module.split("."))
    if module and not well_formed:
        return Target(label=f"gym:{name}", error=f"{module!r} is not the name of a module")
    library = Library(
        name=module.partition(".")[0] or "gymnasium",
        modules=(module,) if module else ("gymnasium",),
    )
    template = _TEMPLATE.replace("$imports", f"import {module}\n" if module else "")
    return wrapped(f"gym:{name}", template, library, ident, ident=ident)
