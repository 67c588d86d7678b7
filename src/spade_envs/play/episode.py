"""Playing whole episodes, and the one way to an environment's hint and solution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import gymnasium as gym
import msgspec

from spade_envs.errors import EnvironmentFault
from spade_envs.play.session import create_all, open_session
from spade_envs.types import EnvSource, Episode, Fault, Limits, Turn

Policy: TypeAlias = Callable[[str, tuple[Turn, ...]], str]
"""From the first observation and the turns so far to the next action."""


def play(env: gym.Env[str, str], policy: Policy, *, seed: int) -> Episode:
    """Play one episode of any text environment and return it.

    Example:
        >>> play(env, lambda first, turns: "north", seed=0).total_reward  # doctest: +SKIP
        0.0

    An environment that fails, in `reset` or in a step, gives an episode with `fault` set.
    """
    spec = env.spec
    level = getattr(env.unwrapped, "level", 0)
    identity: dict[str, Any] = {"env_id": spec.id if spec else "", "level": level, "seed": seed}
    try:
        first, _ = env.reset(seed=seed)
    except EnvironmentFault as error:
        return _failed(identity, error.fault)
    turns: list[Turn] = []
    while True:
        action = policy(first, tuple(turns))
        observation, reward, terminated, truncated, info = env.step(action)
        turns.append(Turn(action, observation, float(reward)))
        if terminated or truncated:
            break
    return Episode(
        **identity,
        first_observation=first,
        turns=tuple(turns),
        total_reward=sum(turn.reward for turn in turns),
        success=info.get("success") is True,
        terminated=bool(terminated),
        truncated=bool(truncated),
        fault=_fault(info.get("fault")),
    )


def _fault(told: object) -> Fault | None:
    """Return the fault that an info tells of; None if it is none of ours, but the program's own."""
    try:
        return msgspec.convert(told, Fault)
    except msgspec.ValidationError:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """What an environment knows about one instance and the agent does not."""

    hint: str | None
    """Privileged help; None if the environment offers none."""
    solution: tuple[str, ...] | None
    """Actions that win from the first state; None if the environment offers none."""


def reference(
    source: EnvSource, *, seed: int, level: int = 0, limits: Limits | None = None
) -> Reference:
    """Return hint and solution of the instance that `seed` and `level` draw.

    It runs in a worker of its own: nothing that `gym.make` returns leads here. The gates and the
    hinted arm of training are what it is for.

    Raises:
        EnvironmentFault: the environment failed while it was asked.
    """
    session = open_session(source, limits=limits)
    try:
        (instance,) = create_all(session, [level])
        (outcome,) = session.reset([(instance, seed, None)])
        if outcome.fault is not None:
            raise EnvironmentFault(outcome.fault)
        interface = session.interface
        hint = _sound(session.hint(instance)) if interface.has_hint else None
        solution = _sound(session.solution(instance)) if interface.has_solution else None
    finally:
        session.close()
    return Reference(hint=hint, solution=None if solution is None else tuple(solution))


def _sound(value: Any) -> Any:
    if isinstance(value, Fault):
        raise EnvironmentFault(value)
    return value


def _failed(identity: dict[str, Any], fault: Fault) -> Episode:
    return Episode(
        **identity,
        first_observation="",
        turns=(),
        total_reward=0.0,
        success=False,
        terminated=False,
        truncated=True,
        fault=fault,
    )
