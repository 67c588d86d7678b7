"""From executed source to its one environment class, and what that class declares."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from spade_envs.api.published import PublishedEnv, PublishedToolEnv, adapt
from spade_envs.api.text import TextEnv
from spade_envs.api.tool_env import ToolEnv
from spade_envs.types import Interface

MAX_LEVELS = 100
MAX_TURNS = 1000


def find_entry(namespace: Mapping[str, Any]) -> type[TextEnv]:
    """Return the one public environment class that the module `namespace` defines.

    A class in the published shape is adapted if there is no class of our own.

    Raises:
        ValueError: there is none, or more than one; the message names them.
    """
    module = namespace.get("__name__")
    classes = [
        value
        for name, value in namespace.items()
        if isinstance(value, type) and value.__module__ == module and not name.startswith("_")
    ]
    ours = [cls for cls in dict.fromkeys(classes) if issubclass(cls, TextEnv)]
    leaves = [cls for cls in ours if not any(cls in other.__mro__[1:] for other in ours)]
    if len(leaves) > 1:
        names = ", ".join(cls.__name__ for cls in leaves)
        raise ValueError(f"one public environment class is wanted, found {names}")
    if leaves:
        return leaves[0]
    for cls in classes:
        if cls.__name__.endswith("Env") and _callable(cls, "reset") and _callable(cls, "step"):
            return adapt(cls)
    raise ValueError(
        "no public class derived from TextEnv or ToolEnv was found, and none whose name ends in Env"
    )


def interface_of(cls: type[TextEnv]) -> Interface:
    """Return what the class declares about itself.

    Raises:
        ValueError: a declaration is of the wrong type or out of range.
    """
    low, high = _reward_range(cls)
    tools: tuple[Mapping[str, Any], ...] = getattr(cls, "foreign_tools", ())
    if issubclass(cls, ToolEnv):
        tools = tuple(spec.schema for spec in cls._specs.values())
    doc = inspect.cleandoc(cls.__dict__.get("__doc__") or "").strip()
    return Interface(
        entry=cls.__name__,
        kind="tool" if issubclass(cls, ToolEnv | PublishedToolEnv) else "text",
        api="published-1" if issubclass(cls, PublishedEnv) else "spade-1",
        levels=_int_in(cls, "levels", MAX_LEVELS),
        max_turns=_int_in(cls, "max_turns", MAX_TURNS),
        reward_range=(low, high),
        has_hint=cls.hint is not TextEnv.hint,
        has_solution=cls.solution is not TextEnv.solution,
        tools=tools,
        summary=doc.splitlines()[0].strip()[:200] if doc else "",
    )


def _callable(cls: type, name: str) -> bool:
    return callable(getattr(cls, name, None))


def _int_in(cls: type, name: str, most: int) -> int:
    value = getattr(cls, name)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise ValueError(f"{cls.__name__}.{name} must be an int in [1, {most}], not {value!r}")
    return value


def _reward_range(cls: type) -> tuple[float, float]:
    value = getattr(cls, "reward_range", None)
    if (
        not isinstance(value, tuple | list)
        or len(value) != 2
        or not all(isinstance(x, int | float) and not isinstance(x, bool) for x in value)
        or not -1000 <= value[0] < value[1] <= 1000
    ):
        raise ValueError(f"{cls.__name__}.reward_range must be (least, greatest), not {value!r}")
    return float(value[0]), float(value[1])
