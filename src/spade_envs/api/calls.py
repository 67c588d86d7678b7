"""Tool calls as text: writing them, and reading every common encoding of them.

Read: `<tool_call>` blocks holding JSON or `<function=NAME><parameter=KEY>` markup, a bare JSON call
or list of calls, a fenced one, and an OpenAI assistant message or `tool_calls` list as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from spade_envs.api.answers import without_thinking

MAX_CALLS = 32
"""Calls that one action may hold."""

_OPEN, _CLOSE = "<tool_call>", "</tool_call>"
_FUNCTION, _PARAMETER = "<function=", "<parameter="
_SHAPE = 'write <tool_call>{"name": "...", "arguments": {...}}</tool_call>'


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call that a message holds, or the reason why it could not be read."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    loose: bool = False
    """True if the encoding knows only strings, so that `"3"` may stand for 3."""
    error: str | None = None
    """What is wrong with the call, for the caller to read; then `name` may be empty."""


def call(name: str, /, **arguments: Any) -> str:
    """Return the text of one tool call.

    Example:
        >>> call("find", surname="Okafor")
        '<tool_call>{"name": "find", "arguments": {"surname": "Okafor"}}</tool_call>'
    """
    body = json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)
    return f"{_OPEN}{body}{_CLOSE}"


def calls(*texts: str) -> str:
    """Return one action that holds several calls, each made by `call`."""
    return "\n".join(texts)


def finish(message: str = "Done.") -> str:
    """Return the message that answers the user; it must hold no call."""
    return message


def parse_calls(action: str) -> list[ToolCall]:
    """Return the calls that `action` holds, in order; an empty list if it is a plain message.

    A call that was meant but cannot be read comes back with `error` set. Never raises.
    """
    text = without_thinking(action)
    if _OPEN in text:
        found = _blocks(text)
    elif _FUNCTION in text:
        found = _functions(text)
    else:
        found = _bare_json(_without_fence(text.strip()))
    if len(found) > MAX_CALLS:
        return [ToolCall("", error=f"at most {MAX_CALLS} calls may stand in one message")]
    return found


def _blocks(text: str) -> list[ToolCall]:
    found: list[ToolCall] = []
    for piece in text.split(_OPEN)[1 : MAX_CALLS + 2]:
        body = _without_fence(piece.split(_CLOSE, 1)[0].strip())
        if _FUNCTION in body:
            found += _functions(body)
        else:
            found += _json_calls(body) or [ToolCall("", error=f"this is not a call; {_SHAPE}")]
    return found


def _functions(text: str) -> list[ToolCall]:
    found = []
    for piece in text.split(_FUNCTION)[1 : MAX_CALLS + 2]:
        name, _, body = piece.split("</function>", 1)[0].partition(">")
        arguments = {}
        for chunk in body.split(_PARAMETER)[1:]:
            key, _, value = chunk.partition(">")
            arguments[key.strip()] = value.rsplit("</parameter>", 1)[0].strip("\n")
        found.append(ToolCall(name.strip(), arguments, loose=True))
    return found


def _bare_json(text: str) -> list[ToolCall]:
    """Return the calls of a message that is JSON as a whole; other JSON is a plain message."""
    if not text.startswith(("{", "[")):
        return []
    found = _json_calls(text)
    if len(found) == 1 and found[0].error and '"name"' not in text:
        return []
    return found


def _json_calls(text: str) -> list[ToolCall]:
    """Return the calls in a JSON text; one with `error` if it is not JSON; none if no call."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "it is nested too deep"
        return [ToolCall("", error=f"the call is not valid JSON ({reason}); {_SHAPE}")]
    if isinstance(value, dict) and isinstance(value.get("tool_calls"), list):
        value = value["tool_calls"]
    values = value if isinstance(value, list) else [value]
    found = [_one(item) for item in values]
    return [] if any(item is None for item in found) else [item for item in found if item]


def _one(value: Any) -> ToolCall | None:
    """Return the call that one JSON value stands for, or None if it stands for no call."""
    if isinstance(value, dict) and isinstance(value.get("function"), dict):
        value = value["function"]
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return None
    name = value["name"]
    arguments = value.get("arguments", value.get("parameters", {}))
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except (ValueError, RecursionError):
            return ToolCall(name, error="its arguments are not valid JSON")
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, dict):
        return ToolCall(name, error="its arguments must be a JSON object")
    return ToolCall(name, arguments)


def _without_fence(text: str) -> str:
    if not (text.startswith("```") and text.endswith("```") and len(text) > 6):
        return text
    first_line, newline, rest = text[3:-3].partition("\n")
    return (rest if newline and first_line.strip().isalnum() else text[3:-3]).strip()
