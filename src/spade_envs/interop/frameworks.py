"""The frameworks whose environments can be checked, by the prefix that the user types."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from spade_envs.interop.target import Library, Target
from spade_envs.interop.wrappers import gem, gym_id, reasoning_gym, rlve, textarena


@dataclass(frozen=True, slots=True)
class Framework:
    """How one framework's names become targets."""

    names: Callable[[str], list[str]]
    wrap: Callable[[str], Target]
    how: str
    """What to type."""


FRAMEWORKS: Mapping[str, Framework] = {
    "reasoning-gym": Framework(
        reasoning_gym.names, reasoning_gym.wrap, "reasoning-gym:NAME or reasoning-gym:all"
    ),
    "textarena": Framework(textarena.names, textarena.wrap, "textarena:ID"),
    "gem": Framework(gem.names, gem.wrap, "gem:ID"),
    "gym": Framework(gym_id.names, gym_id.wrap, "gym:ID or gym:MODULE:ID"),
    "rlve": Framework(rlve.names, rlve.wrap, "rlve:PATH/TO/CHECKOUT#EnvName"),
}

_PLAYABLE = {
    library.modules[0]: library
    for library in (reasoning_gym.LIBRARY, textarena.LIBRARY, gem.LIBRARY)
}


def library_of(code: str) -> Library | None:
    """Return the known library that a source imports; None if it imports none or several."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name in _PLAYABLE
    }
    return _PLAYABLE[found.pop()] if len(found) == 1 else None
