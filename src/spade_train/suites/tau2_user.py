"""Users for tau2: one by a script, which does what it is told to do, and one that a model plays."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from spade_envs.api.calls import ToolCall, parse_calls
from spade_envs.types import Json, Message
from spade_train.suites import calls as written
from spade_train.suites.users import ModelUser

STOP = "###STOP###"
_ENDS = (STOP, "###TRANSFER###", "###OUT-OF-SCOPE###")
"""Source: `tau2.user.base`."""
_CALLS_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Act:
    """What a user does: says something, or uses its own tools."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()

    @property
    def ends(self) -> bool:
        """Whether the conversation is over."""
        return not self.calls and any(mark in self.text for mark in _ENDS)


class TauUser(Protocol):
    """Plays the user of one attempt."""

    def hear(self, text: str) -> Act:
        """Return what is done about a message of the agent; the first is its greeting."""
        ...

    def see(self, results: Sequence[str]) -> Act:
        """Return what is done after the tools just used have given these results."""
        ...


class ScriptedUser:
    """Tells all it knows at once, does what the agent writes as `name(argument=value)`, and ends.

    It ends after the second message in a row that asks for nothing which it can do.
    """

    def __init__(self, scenario: str, functions: Sequence[Mapping[str, Json]]) -> None:
        self._scenario, self._functions = scenario, functions
        names = "|".join(re.escape(str(each["name"])) for each in functions)
        self._asked = re.compile(rf"\b(?:{names})\([^()]*\)") if names else None
        self._greeted = self._pressed = False

    def hear(self, text: str) -> Act:
        """Return the scenario, then what is asked for, then the end."""
        if not self._greeted:
            self._greeted = True
            return Act(self._opening())
        found = self._asked.findall(text)[:_CALLS_AT_ONCE] if self._asked else []
        doable = tuple(each for part in found for each in _read(part))
        if doable:
            self._pressed = False
            return Act(calls=doable)
        if self._pressed:
            return Act(STOP)
        self._pressed = True
        return Act("I have told you all that I know. If nothing is left to do, tell me so.")

    def see(self, results: Sequence[str]) -> Act:
        """Return what came of it."""
        return Act("I did that. " + "\n".join(results))

    def _opening(self) -> str:
        text = f"This is my situation and all that I can tell you.\n{self._scenario}"
        if not self._functions:
            return text
        can = "\n".join(f"- {_signature(each)}" for each in self._functions)
        return (
            f"{text}\nOn my side I can do the following. Tell me what to do by writing it as "
            f"name(argument=value), and I tell you what I see.\n{can}"
        )


class ModelledUser:
    """A model in the role of the user, with the guidelines and the scenario of the benchmark."""

    def __init__(
        self,
        model: ModelUser,
        guidelines: str,
        scenario: str,
        functions: Sequence[Mapping[str, Json]],
        seed: int,
    ) -> None:
        system = f"{guidelines}\n\n<scenario>\n{scenario}\n</scenario>"
        if functions:
            tools = "\n".join(json.dumps(dict(each)) for each in functions)
            system += (
                '\n\nTo use a tool, write <tool_call>{"name": "...", "arguments": {...}}'
                f"</tool_call> and nothing else. These are your tools:\n{tools}"
            )
        self._model, self._seed, self._tools = model, seed, bool(functions)
        self._messages = [Message("system", system)]

    def hear(self, text: str) -> Act:
        """Return the model's answer."""
        return self._next(text)

    def see(self, results: Sequence[str]) -> Act:
        """Return what the model makes of the results."""
        return self._next("\n".join(f"<tool_response>{each}</tool_response>" for each in results))

    def _next(self, told: str) -> Act:
        self._messages.append(Message("user", told))
        text = self._model.answer(self._messages, seed=self._seed)
        self._messages.append(Message("assistant", text))
        found = parse_calls(text)[:_CALLS_AT_ONCE] if self._tools else []
        return Act(calls=tuple(found)) if found else Act(text)


def _read(text: str) -> tuple[ToolCall, ...]:
    found = written.parse_calls(text)
    if not isinstance(found, tuple):
        return ()
    return tuple(ToolCall(c.name, c.keywords) for c in found if not (c.refused or c.positional))


def _signature(function: Mapping[str, Json]) -> str:
    names = ", ".join(function.get("parameters", {}).get("properties", {}))
    about = str(function.get("description", "")).split("\n", 1)[0]
    return f"{function['name']}({names}): {about}"
