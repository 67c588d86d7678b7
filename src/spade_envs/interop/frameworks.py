"""The frameworks whose environments can be checked, by the prefix that the user types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from spade_envs.interop.target import Library, Target
from spade_envs.interop.wrappers import gem, gym_id, reasoning_gym, rlve, textarena
from spade_envs.sandbox import library_in
from spade_envs.types import EnvSource


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


def library_of(source: EnvSource) -> Library | None:
    """Return the known library that a source imports; None if it imports none or several."""
    return _PLAYABLE.get(library_in(source))
