"""Skills that are named on the command line: a misspelt one is refused, with those there are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spade_envs.store import EnvStore


def listed(skills: str | None) -> tuple[str, ...]:
    """Return the names of an `A,B` option."""
    return tuple(part.strip() for part in (skills or "").split(",") if part.strip())


def unknown_skills(names: Iterable[str]) -> list[str]:
    """Return the names that are none of our skills."""
    from spade_envs.types import Skill

    return [name for name in names if name not in set(Skill)]


def check_skills(
    names: Iterable[str], stores: Sequence[EnvStore], *, at: str = "", label: bool = False
) -> None:
    """Check that every name is a skill of ours, or one that the stores hold.

    Args:
        names: what somebody wrote.
        stores: where else a skill may stand.
        at: the place that is spoken of; the store if empty.
        label: whether they are given to something new, and nothing is looked for.

    Raises:
        ConfigError: one is neither; the message lists both.
    """
    from spade_envs.errors import ConfigError
    from spade_envs.types import Skill

    unknown = unknown_skills(names)
    if not unknown:
        return
    held = sorted({s for opened in stores for record in opened.records() for s in record.skills})
    wrong = next((name for name in unknown if name not in held), None)
    if wrong is not None and label:
        raise ConfigError(
            f"unknown skill {wrong!r}; known: {', '.join(dict.fromkeys([*Skill, *held]))}"
        )
    if wrong is not None:
        there = f"; it has {', '.join(held)}" if held else ""
        raise ConfigError(
            f"no environment of {at or 'the store'} has the skill {wrong!r}{there}; "
            f"known: {', '.join(Skill)}"
        )
