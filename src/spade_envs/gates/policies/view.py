"""What a policy sees, and the policies that say fixed texts."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from spade_envs.types import Interface


@dataclass(slots=True)
class View:
    """What a policy may look at before each action."""

    interface: Interface
    level: int
    seed: int | None
    first: str
    """First observation."""
    last: str
    """Latest observation."""
    turn: int = 0
    """Actions taken so far."""
    rng: random.Random = field(default_factory=lambda: random.Random(0))


Policy = Callable[[View], str | None]
"""Returns the next action, or None to stop playing."""


def script(actions: Sequence[str]) -> Policy:
    """Return the policy that takes `actions` in order, then stops."""
    return lambda view: actions[view.turn] if view.turn < len(actions) else None


def constant(text: str, turns: int | None = None) -> Policy:
    """Return the policy that always says `text`, at most `turns` times."""
    return lambda view: text if turns is None or view.turn < turns else None


def cycle(texts: Sequence[str]) -> Policy:
    """Return the policy that goes through `texts` again and again."""
    return lambda view: texts[view.turn % len(texts)]


def null(_: View) -> str:
    """Say nothing, to the end."""
    return ""


def echo_first(view: View) -> str:
    """Say the first observation back."""
    return view.first


def echo_last(view: View) -> str:
    """Say the latest observation back."""
    return view.last


def boxed(text: str) -> str:
    r"""Return `text` as a `\boxed{}` answer."""
    return f"\\boxed{{{text}}}"
