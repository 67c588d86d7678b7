"""The published tool shape: `ToolUseBaseEnv`, written anew from a description of its interface.

A subclass fills `_tools` (name -> description and JSON schema), `_state` and `_expected_answer` in
`reset`, and has one method `tool_<name>(**arguments) -> str` for each tool. Workers know this
module as `tool_use_base_env`. As published, arguments are not checked against the schema.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from spade_envs.api.answers import without_thinking
from spade_envs.api.calls import parse_calls

MODULE = "tool_use_base_env"
"""Name under which published sources import the base class."""

_ANSWER_OPEN, _ANSWER_CLOSE = "<answer>", "</answer>"
_BAD_FORMAT_REWARD = -0.1
_NUMBER_TOLERANCE = 0.01
HOW_TO = (
    'Call a tool with <tool_call>{"name": "...", "arguments": {...}}</tool_call>, or give the '
    "final answer in <answer>...</answer>."
)

Step = tuple[str, float, bool, bool, dict[str, Any]]


class ToolUseBaseEnv:
    """Base class of published tool environments."""

    _tools: dict[str, dict[str, Any]]
    _state: dict[str, Any]
    _expected_answer: Any
    _message_criteria: Sequence[Callable[[dict[str, Any]], bool]] = ()
    _messages: Sequence[str] = ()
    _current_msg: int = 0
    _turns_taken: int = 0

    def __init__(self, max_turns: int = 25, **_: Any) -> None:
        self.max_turns = max_turns
        self._tools, self._state, self._expected_answer = {}, {}, ""
        self.reset(seed=0)  # as published, but with a seed, so that making an object is repeatable

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "reset" in cls.__dict__:
            cls.reset = _counting(cls.__dict__["reset"])  # type: ignore[method-assign]

    def reset(self, seed: int | None = None) -> Any:
        """Start an episode; subclasses override this."""
        self._turns_taken = self._current_msg = 0
        return "", {}

    def get_tools(self) -> list[dict[str, Any]]:
        """Return the tools as OpenAI function schemas."""
        return [
            {
                "type": "function",
                "function": {
                    "name": name,
                    "description": str(spec.get("description", "")),
                    "parameters": spec.get("parameters") or {"type": "object", "properties": {}},
                },
            }
            for name, spec in self._tools.items()
        ]

    def execute_tool(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Run one tool; gives `output` and `returncode` (0 or 1)."""
        method = getattr(self, f"tool_{name}", None)
        if name not in self._tools or not callable(method):
            known = ", ".join(self._tools)
            return {"output": f"error: there is no tool {name!r}; tools: {known}", "returncode": 1}
        try:
            output = str(method(**arguments))
        except Exception as error:  # noqa: BLE001  part of the shape: the caller reads the error
            return {"output": f"error: {type(error).__name__}: {error}", "returncode": 1}
        return {"output": output, "returncode": 0}

    def step(self, action: str) -> Step:
        """Take an answer in `<answer>` tags, else run the first tool call."""
        self._turns_taken += 1
        text = without_thinking(action)
        given = _between(text, _ANSWER_OPEN, _ANSWER_CLOSE)
        if given is not None:
            if self._check_answer(given):
                return "Correct.", 1.0, True, False, {"success": True}
            return self._go_on("That answer is not right.", 0.0)
        found = parse_calls(text)
        if not found or found[0].error is not None:
            return self._go_on(HOW_TO, _BAD_FORMAT_REWARD)
        result = self.execute_tool(found[0].name, found[0].arguments)
        return self._go_on(str(result["output"]), 0.0)

    def solution(self) -> Any:
        """Return the right answer, or a list of actions that win."""
        return f"{_ANSWER_OPEN}{self._expected_answer}{_ANSWER_CLOSE}"

    def _check_answer(self, given: str) -> bool:
        """Whether an answer is right; with message criteria, all of them must have been met."""
        if self._message_criteria and self._current_msg < len(self._message_criteria):
            return False
        return same_answer(given, str(self._expected_answer))

    def _advance_if_done(self) -> str:
        """Go past the instruction whose predicate holds, and return the text of the next one."""
        position = self._current_msg
        if position >= len(self._message_criteria):
            return ""
        if not self._message_criteria[position](self._state):
            return ""
        self._current_msg = position + 1
        later = self._messages[position + 1 :]
        return f"\n{later[0]}" if later else ""

    def _go_on(self, observation: str, reward: float) -> Step:
        return observation, reward, False, self._turns_taken >= self.max_turns, {}


def same_answer(given: str, expected: str) -> bool:
    """Whether two answers agree: without regard to case, or as numbers within 0.01."""
    left, right = given.strip().casefold(), expected.strip().casefold()
    if left == right:
        return True
    try:
        one, other = (float(text.replace("$", "").replace(",", "")) for text in (left, right))
    except ValueError:
        return False
    return abs(one - other) < _NUMBER_TOLERANCE


def _between(text: str, opening: str, closing: str) -> str | None:
    end = text.rfind(closing)
    start = text.rfind(opening, 0, max(end, 0))  # the last one counts, as in `answer_of`
    return None if start < 0 or end < 0 else text[start + len(opening) : end].strip()


def _counting(inner: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a subclass's reset, which may not call its base, so that turns count from 0."""

    @functools.wraps(inner)
    def reset(self: ToolUseBaseEnv, *args: Any, **kwargs: Any) -> Any:
        self._turns_taken = self._current_msg = 0
        return inner(self, *args, **kwargs)

    return reset
