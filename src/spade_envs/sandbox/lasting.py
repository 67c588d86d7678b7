"""What outlives an episode: values of the environment's module, its classes and functions.

A gate reads them between episodes, and sets counters forward to see whether a later episode would
be another one.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections import deque
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

from spade_envs.sandbox.execution import MODULE_NAME

MAX_REPR = 4000
MAX_PLACES = 500
MAX_GROWN = 100_000
MAX_COUNTERS = 10
_ADDRESS = re.compile(r"0x[0-9a-f]+")
_CONTAINERS = (list, dict, set, deque)
_SKIPPED = frozenset(
    {"__builtins__", "__doc__", "__module__", "__dict__", "__weakref__", "__annotations__",
     "__abstractmethods__", "__name__", "__spec__", "__loader__", "__file__", "_abc_impl",
     "np_random", "_np_random", "_np_random_seed", "__slotnames__", "__firstlineno__",
     "__static_attributes__"}
)  # fmt: skip


def digests(env: Any) -> dict[str, str]:
    """Return, by place, a short text for every value that outlives an episode."""
    found: dict[str, str] = {}
    for place, owner, key in _places(env):
        if len(found) >= MAX_PLACES:
            break
        found[place] = _digest(_value(owner, key))
    return found


def advance(env: Any, places: list[str], by: int) -> list[str]:
    """Set the counters at these places forward and let the containers there grow.

    Returns the places that could be moved.
    """
    moved = []
    for place, owner, key in list(_places(env)):
        if place not in places:
            continue
        value = _value(owner, key)
        if isinstance(value, int | float) and not isinstance(value, bool):
            _set(owner, key, value + by)
        elif isinstance(value, list | deque) and value:
            for index, item in enumerate(list(itertools.islice(value, MAX_COUNTERS))):
                if isinstance(item, int | float) and not isinstance(item, bool):
                    value[index] = item + by
            value.extend([value[-1]] * min(by, MAX_GROWN))
        elif isinstance(value, set):
            value.update(f"\0{index}" for index in range(min(by, MAX_GROWN)))
        elif isinstance(value, dict):
            _grow(value, by)
        else:
            continue
        moved.append(place)
    return moved


def _grow(value: dict[Any, Any], by: int) -> None:
    counters = [k for k, v in value.items() if isinstance(v, int) and not isinstance(v, bool)]
    if counters and len(value) <= MAX_COUNTERS:
        for key in counters:
            value[key] += by
    elif value:
        filler = next(iter(value.values()))
        value.update((f"\0{index}", filler) for index in range(min(by, MAX_GROWN)))


def _places(env: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield a name, the owner and the key of every place in the environment's own code."""
    module = sys.modules.get(MODULE_NAME)
    if type(module) is not ModuleType:
        return
    yield from _entries("", vars(module))
    for owner in (env, getattr(env, "inner", None)):
        if owner is not None and hasattr(owner, "__dict__"):
            yield from ((f"self.{key}", owner, key) for key in list(vars(owner)) if _own(key))


def _entries(prefix: str, names: Any) -> Iterator[tuple[str, Any, Any]]:
    for key, value in list(names.items()):
        if not _own(key):
            continue
        if isinstance(value, staticmethod | classmethod):
            value = value.__func__
        value = getattr(value, "__wrapped__", value)
        if isinstance(value, FunctionType):
            if value.__module__ == MODULE_NAME:
                yield from _of_function(f"{prefix}{key}", value)
        elif isinstance(value, type):
            if value.__module__ == MODULE_NAME and not prefix:
                yield from _entries(f"{key}.", vars(value))
                yield from (
                    (f"{key}.{name}", value, name)
                    for name, item in list(vars(value).items())
                    if _own(name) and _plain(item)
                )
        elif not prefix and _plain(value):
            yield key, names, key


def _of_function(name: str, function: FunctionType) -> Iterator[tuple[str, Any, Any]]:
    for value in function.__defaults__ or ():
        if isinstance(value, _CONTAINERS):
            yield f"a default of {name}", (value,), 0
    yield from (
        (f"{name}.{key}", function, key)
        for key, value in list(vars(function).items())
        if _own(key) and _plain(value)
    )
    for key, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        if key not in ("inner", "__class__"):
            yield f"{key} in {name}", cell, "cell_contents"


def _own(key: str) -> bool:
    return key not in _SKIPPED


def _plain(value: Any) -> bool:
    """Whether a value is data, and not code."""
    return not callable(value) and not isinstance(value, ModuleType | property | type)


def _value(owner: Any, key: Any) -> Any:
    try:
        if isinstance(owner, dict | tuple):
            return owner[key]
        return vars(owner)[key] if hasattr(owner, "__dict__") else getattr(owner, key)
    except (KeyError, AttributeError, ValueError):
        return None


def _set(owner: Any, key: Any, value: Any) -> None:
    if isinstance(owner, dict):
        owner[key] = value
    else:
        setattr(owner, key, value)


def _digest(value: Any) -> str:
    """Return a text that changes with the value; for large ones with their size and ends."""
    size = f"{len(value)}:" if hasattr(value, "__len__") else ""
    if isinstance(value, _CONTAINERS) and len(value) > 200:
        items = list(value)
        value = [*items[:20], *items[-20:]]
    text = _ADDRESS.sub("", repr(value))
    return size + (text if len(text) <= MAX_REPR else f"{text[:MAX_REPR]}{len(text)}")
