"""What a policy sees, and the policies that say fixed texts."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

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
    name: str = ""
    """Seeds the policy's own randomness."""
    _rng: random.Random | None = None

    @property
    def rng(self) -> random.Random:
        """The policy's own randomness, made when it is first asked for."""
        if self._rng is None:
            self._rng = random.Random(self.name)
        return self._rng


Policy = Callable[[View], str | None]
"""Returns the next action, or None to stop playing."""


def script(actions: Sequence[str]) -> Policy:
    """Return the policy that takes `actions` in order, then stops."""
    return lambda view: actions[view.turn] if view.turn < len(actions) else None


def constant(text: str, turns: int | None = None) -> Policy:
    """Return the policy that always says `text`, at most `turns` times."""
    return lambda view: text if turns is None or view.turn < turns else None


def limited(policy: Policy, turns: int) -> Policy:
    """Return the policy that plays like `policy` and stops after `turns` actions."""
    return lambda view: policy(view) if view.turn < turns else None


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
