"""What an environment answered, as chat messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spade_envs.types import Message

_SAID = "User: "


def messages_of(
    observation: str, info: Mapping[str, Any], *, native_tools: bool = False
) -> list[Message]:
    """Return the messages that a step of an environment comes to, at least one.

    Args:
        observation: the observation.
        info: the step's info; `tool_results` (a list of `{"name", "content"}`) and `user` are read
            as `ToolEnv` writes them, and ignored if they are anything else.
        native_tools: whether tool results become `tool` messages, one each, followed by what the
            user said. Otherwise the observation is one user message.
    """
    if not native_tools:
        return [Message("user", observation)]
    said = info.get("user")
    results = _contents(info.get("tool_results"))
    if not results:
        spoken = observation.removeprefix(_SAID) if isinstance(said, str) else observation
        return [Message("user", spoken)]
    messages = [Message("tool", content) for content in results]
    if isinstance(said, str) and said:
        messages.append(Message("user", said))
    return messages


def _contents(results: object) -> list[str]:
    """Return the contents of well-formed tool results, else nothing: an info may hold anything."""
    if not isinstance(results, list | tuple):
        return []
    contents = [item.get("content") if isinstance(item, Mapping) else None for item in results]
    return [c for c in contents if isinstance(c, str)] if all(map(_is_text, contents)) else []


def _is_text(value: object) -> bool:
    return isinstance(value, str)
