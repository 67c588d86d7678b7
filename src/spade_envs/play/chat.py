"""An episode as a chat: what an agent that is a language model reads."""

from __future__ import annotations

from collections.abc import Sequence

from spade_envs.types import Message, Turn


def opening(observation: str, hint: str | None = None) -> str:
    """Return the first message to the agent: the first observation, and the hint if any."""
    return observation if hint is None else f"{observation}\nHint: {hint}"


def conversation(
    observation: str, turns: Sequence[Turn] = (), *, hint: str | None = None
) -> tuple[Message, ...]:
    """Return an episode that is going on, as messages; the next one is the agent's.

    Args:
        observation: the first one.
        turns: what was done and answered so far.
        hint: privileged help; None plays without, an empty one is shown as empty.
    """
    messages = [Message("user", opening(observation, hint))]
    for turn in turns:
        messages += [Message("assistant", turn.action), Message("user", turn.observation)]
    return tuple(messages)
