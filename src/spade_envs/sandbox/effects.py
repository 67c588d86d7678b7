"""What playing changed in the process: the zygote takes a snapshot, a worker compares.

Modules and classes are compared entry by entry and by identity, so that a replaced function shows.
"""

from __future__ import annotations

import atexit
import builtins
import decimal
import gc
import operator
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np

_IGNORED_PREFIXES = ("spade_envs.sandbox", "environment", "__main__")
_IGNORED_NAMES = frozenset(
    {
        "__warningregistry__", "last_type", "last_value", "last_traceback", "_cache",
        "_TimeRE_cache",
        "_regex_cache", "onceregistry", "_filters_version", "__builtins__", "__abstractmethods__",
        "__annotations__", "__slotnames__", "_abc_impl", "__doc__", "__signature__", "__hash__",
        # threading renews these after a fork
        "_active_limbo_lock", "_shutdown_locks_lock", "_shutdown_locks", "_main_thread", "_active",
    }
)  # fmt: skip
_MAX_FOUND = 50

_names: set[str] = set()
_modules: dict[str, tuple[ModuleType, dict[str, Any]]] = {}
_classes: dict[type, dict[str, Any]] = {}
_settings: dict[str, Any] = {}


def remember() -> None:
    """Take the snapshot that `changes` compares with."""
    _modules.clear()
    _classes.clear()
    _names.update(sys.modules)
    for name, module in list(sys.modules.items()):
        if type(module) is ModuleType and not name.startswith(_IGNORED_PREFIXES):
            _modules[name] = (module, dict(vars(module)))
    for _, entries in _modules.values():
        for value in entries.values():
            if isinstance(value, type) and value not in _classes and _mutable(value):
                _classes[value] = dict(vars(value))
    _settings.clear()
    _settings.update(_read_settings())


def changes() -> list[str]:
    """Return one line for each difference from the snapshot; at most 50."""
    found: list[str] = []
    for line in _differences():
        found.append(line)
        if len(found) >= _MAX_FOUND:
            break
    return found


def _mutable(cls: type) -> bool:
    return bool(cls.__flags__ & (1 << 9)) and not str(cls.__module__).startswith(_IGNORED_PREFIXES)


def _differences() -> Iterator[str]:
    for name in sys.modules:
        if name not in _names and not name.startswith(_IGNORED_PREFIXES):
            yield f"module {name} was imported"
    for name, (module, before) in _modules.items():
        if sys.modules.get(name) is not module:
            yield f"module {name} was replaced or removed"
        if not _same(before, vars(module)):
            yield from _entries(name, before, vars(module))
    for cls, before in _classes.items():
        if not _same(before, vars(cls)):
            yield from _entries(f"{cls.__module__}.{cls.__qualname__}", before, vars(cls))
    now = _read_settings()
    for key, value in _settings.items():
        if now[key] != value:
            yield f"{key} was changed"


def _same(before: dict[str, Any], after: Any) -> bool:
    """Whether names and values are the very same, in the same order."""
    return (
        len(before) == len(after)
        and all(map(operator.is_, before, after))
        and all(map(operator.is_, before.values(), after.values()))
    )


def _entries(owner: str, before: dict[str, Any], after: Any) -> Iterator[str]:
    for name, value in before.items():
        if name not in _IGNORED_NAMES and after.get(name, builtins) is not value:
            yield f"{owner}.{name} was {'replaced' if name in after else 'removed'}"
    for name in after:
        # Submodules become attributes of their package when they are first imported.
        added = name not in before and name not in _IGNORED_NAMES
        if added and f"{owner}.{name}" not in sys.modules:
            yield f"{owner}.{name} was added"


def _read_settings() -> dict[str, Any]:
    import gymnasium

    from spade_envs.api import TextEnv

    context = decimal.getcontext()
    ncallbacks: Callable[[], int] = atexit._ncallbacks
    return {
        "os.environ": dict(os.environ),
        "sys.path": list(sys.path),
        "the recursion limit": sys.getrecursionlimit(),
        "the switch interval": sys.getswitchinterval(),
        "the trace function": (sys.gettrace(), sys.getprofile()),
        "the number of threads": threading.active_count(),
        "the signal handlers": [_handler(number) for number in signal.valid_signals()],
        "garbage collection": (gc.isenabled(), gc.get_threshold()),
        "the decimal context": (context.prec, context.rounding, dict(context.traps)),
        "numpy's error handling": np.geterr(),
        "numpy's print options": repr(np.get_printoptions()),
        "the warning filters": list(warnings.filters),
        "the exit functions": ncallbacks(),
        "gymnasium.Env.metadata": repr(gymnasium.Env.metadata),
        "TextEnv.metadata": repr(TextEnv.metadata),
    }


def _handler(number: int) -> str:
    try:
        return repr(signal.getsignal(number))
    except (OSError, ValueError):
        return ""
