"""`TextEnv`: a Gymnasium environment whose observations and actions are text."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeAlias, TypeVar

import gymnasium as gym

from spade_envs.spaces import AnyText

T = TypeVar("T")
ResetResult: TypeAlias = tuple[str, dict[str, Any]]
StepResult: TypeAlias = tuple[str, float, bool, bool, dict[str, Any]]


class TextEnv(gym.Env[str, str]):
    """A Gymnasium environment in text: override `reset`, `step`, `hint` and `solution`.

    The class itself keeps the pace, whoever runs it: it counts `self.turn`, truncates the episode
    at `max_turns`, puts `info["success"]` on the last step, and refuses a step after the end.
    Draw every random choice from `self.np_random` (or the `draw...` helpers), in `reset` or `step`.
    Read `self.level`, an integer in [0, levels), to make instances harder. A right solution earns
    1.0, anything else 0.0; `win`, `lose` and `go_on` build the step result.
    """

    levels: ClassVar[int] = 1
    """Number of difficulty levels."""
    max_turns: ClassVar[int] = 16
    """Steps after which an unfinished episode is truncated."""
    reward_range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    """Least and greatest return of one episode; `solution()` has to reach the greatest."""
    self_paced: ClassVar[bool] = False
    """True for adapted foreign classes, which keep their own pace and end."""

    metadata: dict[str, Any] = {"render_modes": ["ansi"]}  # noqa: RUF012  Gymnasium declares it so
    observation_space = AnyText()
    action_space = AnyText()

    level: int = 0
    turn: int = 0
    """Steps taken in this episode."""
    _inside: bool = False
    _over: bool = True
    _shown: str = ""

    def __init__(self, *, level: int = 0, render_mode: str | None = None) -> None:
        if not 0 <= level < self.levels:
            raise ValueError(f"level must be in [0, {self.levels}), not {level}")
        self.level = int(level)
        self.render_mode = render_mode
        self.observation_space = AnyText()
        self.action_space = AnyText()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "reset" in cls.__dict__:
            cls.reset = _paced_reset(cls.__dict__["reset"])  # type: ignore[method-assign]
        if "step" in cls.__dict__:
            cls.step = _paced_step(cls.__dict__["step"])  # type: ignore[method-assign]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Start an episode and return `(observation, info)`; an override calls this first."""
        super().reset(seed=seed, options=options)
        return "", {}

    def step(self, action: str) -> StepResult:
        """Take one action and return `(observation, reward, terminated, truncated, info)`."""
        raise NotImplementedError("override step()")

    def hint(self) -> str:
        """Return privileged help for the current instance: the way, never the answer itself."""
        raise NotImplementedError("override hint()")

    def solution(self) -> list[str]:
        """Return actions that win the current instance from its current state."""
        raise NotImplementedError("override solution()")

    def alternatives(self) -> list[list[str]]:
        """Return further lists of actions that win from the current state, each in its own way.

        Optional: for tasks with many right answers, so that a check can see them accepted.
        """
        return []

    def win(self, observation: str, *, reward: float = 1.0, **info: Any) -> StepResult:
        """Return a last step that succeeds."""
        return observation, reward, True, False, {**info, "success": True}

    def lose(self, observation: str, *, reward: float = 0.0, **info: Any) -> StepResult:
        """Return a last step that fails."""
        return observation, reward, True, False, {**info, "success": False}

    def go_on(self, observation: str, *, reward: float = 0.0, **info: Any) -> StepResult:
        """Return a step after which the episode continues, unless `max_turns` is reached."""
        return observation, reward, False, False, dict(info)

    def draw_int(self, low: int, high: int) -> int:
        """Draw a Python int between `low` and `high`, both included."""
        return int(self.np_random.integers(low, high + 1))

    def draw(self, items: Sequence[T]) -> T:
        """Draw one of `items`."""
        return items[int(self.np_random.integers(len(items)))]

    def draw_many(self, items: Sequence[T], count: int) -> list[T]:
        """Draw `count` different ones of `items`, in random order."""
        order = self.np_random.permutation(len(items))
        if count > len(order):
            raise ValueError(f"cannot draw {count} of {len(order)} items")
        return [items[index] for index in order[:count].tolist()]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Return `items` in random order, as a new list."""
        return self.draw_many(items, len(items))

    def render(self) -> str | None:
        """Return the last observation if `render_mode` is `ansi`."""
        return self._shown if self.render_mode == "ansi" else None


def _paced_reset(inner: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a subclass's reset so that the outermost call starts a fresh turn count."""

    @functools.wraps(inner)
    def reset(
        self: TextEnv, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> Any:
        if self._inside:
            return inner(self, seed=seed, options=options)
        self.turn, self._over, self._inside = 0, False, True
        try:
            result = inner(self, seed=seed, options=options)
        finally:
            self._inside = False
        if isinstance(result, tuple) and result and isinstance(result[0], str):
            self._shown = result[0]
        return result

    return reset


TextEnv.reset = _paced_reset(TextEnv.reset)  # type: ignore[method-assign]


def _paced_step(inner: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a subclass's step so that the outermost call counts the turn and ends the episode."""

    @functools.wraps(inner)
    def step(self: TextEnv, action: str) -> Any:
        if self._inside:
            return inner(self, action)
        if self._over and not self.self_paced:
            raise gym.error.ResetNeeded("no episode is running; call reset() first")
        if not isinstance(action, str):
            raise TypeError(f"an action is a str, not {type(action).__name__}")
        self.turn += 1
        self._inside = True
        try:
            result = inner(self, action)
        finally:
            self._inside = False
        return _ended(self, result)

    return step


def _ended(env: TextEnv, result: Any) -> Any:
    """Return a well-formed `result` with the end of the episode written into it."""
    if not (isinstance(result, tuple) and len(result) == 5 and isinstance(result[4], dict)):
        return result  # a wrong shape is the caller's to judge, unchanged
    observation, reward, terminated, truncated, info = result
    if not env.self_paced and not terminated and env.turn >= env.max_turns:
        truncated = True
    if terminated or truncated:
        env._over = True
        info = {"success": False, **info}
    if isinstance(observation, str):
        env._shown = observation
    return observation, reward, terminated, truncated, info
