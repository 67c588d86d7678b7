"""What authors of environments import; authors are people and language models alike.

An environment is one Python file with one public class derived from `TextEnv` or `ToolEnv`. This
package needs gymnasium, numpy, msgspec and docstring_parser only.
"""

from spade_envs.api.answers import answer_of, without_thinking
from spade_envs.api.calls import ToolCall, call, calls, finish, parse_calls
from spade_envs.api.text import TextEnv
from spade_envs.api.tool_env import Task, ToolEnv
from spade_envs.api.tools import ToolError, tool

__all__ = [
    "Task",
    "TextEnv",
    "ToolCall",
    "ToolEnv",
    "ToolError",
    "answer_of",
    "call",
    "calls",
    "finish",
    "parse_calls",
    "tool",
    "without_thinking",
]
