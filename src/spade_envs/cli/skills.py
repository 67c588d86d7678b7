"""Skills that are named on the command line: a misspelt one is refused, with those there are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spade_envs.store import EnvStore


def listed(skills: str | None) -> tuple[str, ...]:
    """Return the names of an `A,B` option."""
    return tuple(part.strip() for part in (skills or "").split(",") if part.strip())


def check_skills(names: Iterable[str], stores: Sequence[EnvStore]) -> None:
    """Check that every name is a skill of ours, or one that the stores hold.

    Raises:
        ConfigError: one is neither; the message lists both.
    """
    from spade_envs.errors import ConfigError
    from spade_envs.types import Skill

    unknown = [name for name in names if name not in set(Skill)]
    if not unknown:
        return
    held = sorted({s for opened in stores for record in opened.records() for s in record.skills})
    wrong = next((name for name in unknown if name not in held), None)
    if wrong is not None:
        there = f"; it has {', '.join(held)}" if held else ""
        raise ConfigError(
            f"no environment of the store has the skill {wrong!r}{there}; known: {', '.join(Skill)}"
        )
