"""The contract in words, taken from the code itself so that a prompt cannot drift from it."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from functools import cache
from typing import Any

from spade_envs import api
from spade_envs.types import EnvKind

_TEXT_METHODS = (
    *("reset", "step", "hint", "solution", "win", "lose", "go_on"),
    *("draw_int", "draw", "draw_many", "shuffled"),
)
_TOOL_METHODS = ("begin",)


@cache
def contract_text(kind: EnvKind) -> str:
    """Return what an environment of this kind may use, from signatures and docstrings."""
    parts = [_class(api.TextEnv, _TEXT_METHODS)]
    functions: list[Callable[..., Any]] = [api.answer_of]
    if kind == "tool":
        parts += [_class(api.ToolEnv, _TOOL_METHODS), _class(api.Task, ())]
        parts += [_class(api.ToolError, ())]
        functions = [api.tool, api.call, api.calls, api.finish]
    parts += [_function(function) for function in functions]
    names = sorted({"TextEnv" if kind == "text" else "ToolEnv", *_imported(kind)})
    head = f"Everything below comes from `from spade_envs.api import {', '.join(names)}`."
    return "\n\n".join([head, *parts])


def _imported(kind: EnvKind) -> tuple[str, ...]:
    if kind == "text":
        return ("answer_of",)
    return ("Task", "ToolError", "call", "calls", "finish", "tool")


def _class(cls: type, methods: tuple[str, ...]) -> str:
    bases = ", ".join(base.__name__ for base in cls.__bases__ if base is not object)
    head = f"class {cls.__name__}({bases})" if bases else f"class {cls.__name__}"
    if not issubclass(cls, api.TextEnv | Exception):
        head = f"class {cls.__name__}{_signature(cls)}"
    body = [inspect.getdoc(cls) or ""]
    body += ["\n" + _function(vars(cls)[name]) for name in methods]
    return head + ":\n" + textwrap.indent("\n".join(body), "    ")


def _function(function: Callable[..., Any]) -> str:
    text = f"def {function.__name__}{_signature(function)}:"
    return text + "\n" + textwrap.indent(inspect.getdoc(function) or "", "    ")


def _signature(function: Callable[..., Any]) -> str:
    # Parameter names and defaults; the types of this library would only be noise to a reader.
    signature = inspect.signature(function)
    bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=signature.empty))
