"""The ways of training that are compared: each is a preset with overlays and settings on top."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from spade_envs.errors import ConfigError
from spade_train.config import Config, overlays, resolve
from spade_train.config.learning import Budget
from spade_train.config.problems import nearest

COEVOLUTION = "coevolution"
_SLACK = 4
"""Updates that an arm may take, as a multiple of those that its budget is expected to pay for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One way of training."""

    name: str
    about: str
    overlays: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()


def arm(name: str) -> Arm:
    """Return an arm: `coevolution`, `lr0`, or any overlay by its name.

    Raises:
        ConfigError: there is none of this name.
    """
    if name == COEVOLUTION:
        return Arm(name=name, about="Both roles learn; the preset as it is.")
    if name == "lr0":
        still = ("optimizer.learning_rate=0",)
        return Arm(name=name, about="Control: everything runs, nothing learns.", settings=still)
    if name not in overlays():
        known = (COEVOLUTION, "lr0", *overlays())
        raise ConfigError(f"no arm {name!r}; {nearest(name, known)}")
    return Arm(name=name, about=overlays()[name].about, overlays=(name,))


def arm_config(
    preset: str,
    which: Arm,
    *,
    seed: int,
    settings: Sequence[str] = (),
    budget: Budget | None = None,
    held_out: str = "",
) -> Config:
    """Return the configuration of one run of an arm.

    Args:
        preset: name or TOML file of the preset that all arms share.
        which: the arm.
        seed: seed of the run.
        settings: of all arms, `a.b=c`; the arm's own come after them.
        budget: what the run may spend. With it the number of updates is what the budget is expected
            to pay for, or, where the learning rate is constant and nothing depends on that number,
            far more: the budget ends the run. None keeps the preset's updates and budget.
        held_out: store of held-out environments; empty keeps the preset's.

    Raises:
        ConfigError: the preset, a setting or their sum cannot be used.
    """
    more = [f"run.seed={seed}", *settings, *which.settings]
    if held_out:
        more.append(f"evaluation.source={held_out}")
    config = resolve(preset, overlays=which.overlays, settings=more)
    if budget is None:
        return config
    updates = expected_updates(config, budget)
    if config.optimizer.schedule == "constant":
        updates *= _SLACK
    more += [
        f"budget.agent_episodes={budget.agent_episodes}",
        f"budget.generated_tokens={budget.generated_tokens}",
        f"run.updates={updates}",
    ]
    return resolve(preset, overlays=which.overlays, settings=more)


def expected_updates(config: Config, budget: Budget) -> int:
    """Return the updates that the budget of episodes pays for if nothing fails, >= 1.

    Without such a budget they are the configuration's own.
    """
    if not budget.agent_episodes:
        return config.run.updates
    each = config.planned_episodes / config.run.updates
    return max(1, math.ceil(budget.agent_episodes / each))
