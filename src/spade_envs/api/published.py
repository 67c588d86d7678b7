r"""The published SPADE shape, read as a `TextEnv`.

That shape has no base class: a class whose name ends in `Env`, made without arguments, with
`reset(seed) -> (str, dict)`, `step(str) -> 5-tuple` and an optional `solution()`; answers stand in
`\boxed{}`. What the class returns is passed on unchanged, so that the gates judge it, not us.
"""

from __future__ import annotations

import json
from typing import Any, ClassVar

from spade_envs.api import published_tools
from spade_envs.api.text import StepResult, TextEnv

_DEFAULT_TURNS = 25


class PublishedEnv(TextEnv):
    """Base of adapted classes; `inner_class` is the foreign class."""

    inner_class: ClassVar[type]
    self_paced: ClassVar[bool] = True
    inner: Any

    def __init__(self, *, level: int = 0, render_mode: str | None = None) -> None:
        super().__init__(level=level, render_mode=render_mode)
        self.inner = self.inner_class()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Reset the foreign object; a bare observation gets an empty info."""
        super().reset(seed=seed, options=options)
        result = self.inner.reset(seed) if seed is not None else self.inner.reset()
        return (result, {}) if isinstance(result, str) else result

    def step(self, action: str) -> StepResult:
        """Step the foreign object; success is a last reward of 1 unless it says otherwise."""
        result: Any = self.inner.step(action)
        if isinstance(result, tuple) and len(result) == 5 and isinstance(result[4], dict):
            observation, reward, terminated, truncated, info = result
            if terminated or truncated:
                won = isinstance(reward, int | float) and reward >= 1.0
                info = {"success": won, **info}
            return observation, reward, terminated, truncated, info
        return result  # type: ignore[no-any-return]


class _Solved(PublishedEnv):
    """Adapted class that also offers a solution."""

    def solution(self) -> list[str]:
        r"""Return the foreign solution as actions; a bare answer is put in `\boxed{}`."""
        return self._actions(self.inner.solution())

    def alternatives(self) -> list[list[str]]:
        """Return the foreign alternatives, if the class has any, as lists of actions."""
        offered = getattr(self.inner, "alternatives", None)
        return [self._actions(value) for value in offered()] if callable(offered) else []

    def _actions(self, value: Any) -> list[str]:
        answers = value if isinstance(value, list | tuple) else [value]
        return [_boxed(str(answer)) for answer in answers]


class PublishedToolEnv(PublishedEnv):
    """Base of adapted tool classes: the first observation lists the tools."""

    foreign_tools: ClassVar[tuple[dict[str, Any], ...]] = ()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Reset the foreign object, and add its tools to what it shows."""
        result = super().reset(seed=seed, options=options)
        if not (isinstance(result, tuple) and len(result) == 2 and isinstance(result[0], str)):
            return result
        tools = self.inner.get_tools()
        lines = [f"- {json.dumps(tool['function'], ensure_ascii=False)}" for tool in tools]
        text = "\n".join([result[0], "", "Tools (JSON schemas):", *lines, published_tools.HOW_TO])
        return text, {"tools": tools, "user": result[0], **result[1]}


class _SolvedTools(_Solved, PublishedToolEnv):
    """Adapted tool class that also offers a solution; a bare answer is put in `<answer>` tags."""

    def _actions(self, value: Any) -> list[str]:
        answers = value if isinstance(value, list | tuple) else [value]
        marks = ("<answer>", "<tool_call>")
        return [
            str(answer)
            if any(mark in str(answer) for mark in marks)
            else f"<answer>{answer}</answer>"
            for answer in answers
        ]


def adapt(cls: type) -> type[TextEnv]:
    """Return a `TextEnv` class that plays the foreign class `cls`."""
    solved = callable(getattr(cls, "solution", None))
    turns = getattr(cls, "max_turns", None)
    if not isinstance(turns, int) or isinstance(turns, bool) or turns < 1:
        turns = _constructed_turns(cls)
    body: dict[str, Any] = {"inner_class": cls, "max_turns": turns, "__doc__": cls.__doc__}
    bases: tuple[type, ...] = (_Solved if solved else PublishedEnv,)
    if callable(getattr(cls, "get_tools", None)) and callable(getattr(cls, "execute_tool", None)):
        body["foreign_tools"] = tuple(cls().get_tools())
        body["reward_range"] = (-0.1 * turns, 1.0)
        bases = (_SolvedTools,) if solved else (PublishedToolEnv,)
    return type(cls.__name__, bases, body)


def _constructed_turns(cls: type) -> int:
    turns = getattr(cls(), "max_turns", None)
    usable = isinstance(turns, int) and not isinstance(turns, bool) and turns >= 1
    return turns if usable and isinstance(turns, int) else _DEFAULT_TURNS


def _boxed(answer: str) -> str:
    marked = "\\boxed{" in answer or "<tool_call>" in answer or "<answer>" in answer
    return answer if marked else f"\\boxed{{{answer}}}"
