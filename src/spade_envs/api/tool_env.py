"""`ToolEnv`: an environment in which the agent serves a user by calling typed tools."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from spade_envs.api.answers import answer_of
from spade_envs.api.calls import ToolCall, parse_calls
from spade_envs.api.text import ResetResult, StepResult, TextEnv
from spade_envs.api.tools import ToolError, ToolSpec, tools_of

_HOW_TO_CALL = (
    'Call a tool with <tool_call>{"name": "...", "arguments": {...}}</tool_call>; several calls '
    "may stand in one message. A message without a call answers the user; put a short answer in "
    "\\boxed{} if it comes with other words."
)
_CLOSING = "That is everything. Please confirm in a short message."


@dataclass(frozen=True, slots=True)
class Task:
    """One wish of the user, revealed when the one before it is met.

    Give exactly one of `done` and `answer`.
    """

    message: str
    """What the user says."""
    done: Callable[[dict[str, Any]], bool] | None = None
    """Holds for `self.state` once the wish is met; must not hold before."""
    answer: str | Callable[[dict[str, Any]], str] | None = None
    """The answer to the user's question, or a function of `self.state` that gives it."""

    def __post_init__(self) -> None:
        if (self.done is None) == (self.answer is None):
            raise ValueError("a Task takes exactly one of done= and answer=")


class ToolEnv(TextEnv):
    """A tool-use environment: `@tool` methods over `self.state`, and tasks that the user reveals.

    Override `reset`: call `super().reset(seed=seed, options=options)`, set `self.state` (a dict)
    and `self.tasks` (a list of `Task`), and return `self.begin("...")`. Do not override `step`.
    Calls in an action run in order; bad arguments and unknown tools are answered with a message,
    not punished. A wrong answer to a question ends the episode. Success is to have met every task
    and to have told the user so.
    """

    state: dict[str, Any]
    tasks: Sequence[Task]
    _specs: ClassVar[dict[str, ToolSpec]] = {}
    _task: int = 0

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._specs = tools_of(cls)

    @property
    def tools(self) -> list[dict[str, Any]]:
        """OpenAI function schemas of the tools."""
        return [dict(spec.schema) for spec in self._specs.values()]

    def begin(self, introduction: str) -> ResetResult:
        """Return the first observation: introduction, tools, and the first task.

        With the reset option `native_tools=True` the tools are left out of the text, for a caller
        that hands `info["tools"]` to a chat template.
        """
        if not self.tasks:
            raise ValueError("set self.tasks before begin()")
        self._task = 0
        parts = [introduction]
        if not self._native:
            parts += [self._tool_list(), _HOW_TO_CALL]
        user = self.tasks[0].message
        info = {"tools": self.tools, "user": user}
        return "\n\n".join([*parts, f"User: {user}"]), info

    _native: bool = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Seed the environment and read the reset options."""
        self._native = bool((options or {}).get("native_tools", False))
        return super().reset(seed=seed, options=options)

    def step(self, action: str) -> StepResult:
        """Run the calls in `action`, or take it as the answer to the user."""
        found = parse_calls(action)
        return self._run(found) if found else self._answer(action)

    def _run(self, found: Sequence[ToolCall]) -> StepResult:
        results, lines, user = [], [], []
        for item in found:
            content = self._execute(item)
            results.append({"name": item.name, "content": content})
            lines.append(f"{item.name or 'call'} -> {content}")
            said = self._advance()
            user += said
            lines += [f"User: {message}" for message in said]
        text = "\n".join(lines)
        return self.go_on(text, tool_results=results, user="\n".join(user))

    def _execute(self, item: ToolCall) -> str:
        if item.error is not None:
            return f"error: {item.error}"
        spec = self._specs.get(item.name)
        if spec is None:
            return f"error: there is no tool {item.name!r}; tools: {', '.join(self._specs)}"
        try:
            value = getattr(self, item.name)(**spec.check(item.arguments, loose=item.loose))
        except ToolError as error:
            return f"error: {error}"
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    def _advance(self) -> list[str]:
        """Move past every task whose condition holds; return what the user says then."""
        said = []
        while (task := self._current()) is not None and task.done is not None:
            if not task.done(self.state):
                break
            said.append(self._next_message())
        return said

    def _next_message(self) -> str:
        self._task += 1
        task = self._current()
        return _CLOSING if task is None else task.message

    def _current(self) -> Task | None:
        return self.tasks[self._task] if self._task < len(self.tasks) else None

    def _answer(self, message: str) -> StepResult:
        task = self._current()
        if task is None:
            return self.win("User: Thank you.")
        if task.answer is None:
            return self.go_on(f"User: That is not done yet. {task.message}", user=task.message)
        expected = task.answer if isinstance(task.answer, str) else task.answer(self.state)
        if not same_answer(answer_of(message), expected):
            return self.lose("User: That is not right.")
        said = self._next_message()
        if self._current() is None:
            return self.win("User: Thank you.")
        more = self._advance()
        text = "\n".join([said, *more])
        return self.go_on(f"User: {text}", user=text)

    def _tool_list(self) -> str:
        lines = ["Tools:"]
        for spec in self._specs.values():
            function = spec.schema["function"]
            lines.append(f"- {spec.signature()}: {function['description']}")
            for name, schema in function["parameters"]["properties"].items():
                if schema.get("description"):
                    lines.append(f"    {name}: {schema['description']}")
        return "\n".join(lines)


def same_answer(given: str, expected: str) -> bool:
    """Whether two short answers agree: as numbers if both are, else without regard to case.

    Thousands commas and a leading currency sign are ignored; numbers agree within 1e-6.
    """
    left, right = _number(given), _number(expected)
    if left is not None and right is not None:
        return abs(left - right) <= 1e-6
    return " ".join(given.split()).casefold() == " ".join(expected.split()).casefold()


def _number(text: str) -> float | None:
    plain = text.strip().lstrip("$€£").replace(",", "")
    if len(plain) > 40 or not plain or plain.strip("+-.0123456789eE"):
        return None
    try:
        return float(plain)
    except ValueError:
        return None
