"""`rlve:CHECKOUT#NAME`: verifiable problems of an RLVE checkout, at the first difficulties.

A level is four steps of RLVE's own parameter controller, since one step changes little. Its
dependencies (torch among them) must be installed.
"""

from __future__ import annotations

from pathlib import Path

from spade_envs.errors import ConfigError, NotFound
from spade_envs.interop.target import Library, Target
from spade_envs.interop.wrappers import wrapped

_MODULES = ("Gym.environments", "Gym.parameter_controllers")

_TEMPLATE = '''\
from Gym.environments import identifier2environment
from Gym.parameter_controllers import identifier2controller

from spade_envs.api import TextEnv, answer_of

ATTEMPTS = 5
STEPS = 4


class $cls(TextEnv):
    """$label."""

    levels = 3
    max_turns = 1
    reward_range = (-1.0, 1.0)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        controller = identifier2controller[$ident]()
        for _ in range(STEPS * self.level):
            controller.update()
        self.task = identifier2environment[$ident]()
        for _ in range(ATTEMPTS):
            parameter = self.draw(controller.get_parameter_list())
            if self.task.generator(self.draw_int(0, 2**31 - 1), parameter):
                return self.task.prompt_generator(), {}
        raise RuntimeError(f"no problem was generated in {ATTEMPTS} attempts")

    def step(self, action):
        tagged = "<answer>" in action and "</answer>" in action
        plain = [f"<answer>{text}</answer>" for text in (answer_of(action), action)]
        verdicts = [self.task.verifier(text) for text in ([action] if tagged else plain)]
        if any(verdict["accuracy"] for verdict in verdicts):  # it may be paid a little less than 1
            return self.win("The answer is right.")
        reward = max(float(verdict["reward"]) for verdict in verdicts)
        return self.lose("The answer is not right.", reward=reward)

    def solution(self):
        answer = self.task.parameter.get("reference_answer")
        if answer is None:
            raise NotImplementedError("the problem comes without a reference answer")
        return [f"<answer>{answer}</answer>"]
'''


def names(rest: str) -> list[str]:
    """Return what stands behind the prefix for each name after `#`, separated by commas.

    Raises:
        ConfigError: there is no name.
        NotFound: there is no checkout.
    """
    path, _, idents = rest.rpartition("#")
    if not path:
        raise ConfigError(f"rlve:{rest} names no problem; write rlve:PATH/TO/CHECKOUT#EnvName")
    if not _is_checkout(path):
        raise NotFound(f"{path} is no RLVE checkout; write rlve:PATH/TO/CHECKOUT#EnvName")
    return [f"{path}#{ident}" for ident in idents.split(",")]


def wrap(name: str) -> Target:
    """Return the target of one problem of a checkout."""
    path, _, ident = name.rpartition("#")
    label = f"rlve:{name}"
    root = Path(path).expanduser().absolute()
    if not path or not _is_checkout(path):
        error = f"{path or name!r} is no RLVE checkout; write rlve:PATH/TO/CHECKOUT#EnvName"
        return Target(label=label, error=error)
    library = Library(name="rlve", modules=_MODULES, extra_path=(str(root),), licence="unknown")
    return wrapped(f"rlve:{ident}", _TEMPLATE, library, ident, ident=ident)


def _is_checkout(path: str) -> bool:
    return (Path(path).expanduser().absolute() / "Gym" / "environments").is_dir()
