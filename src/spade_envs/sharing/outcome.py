"""What became of each version in a transfer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["new", "same", "kept", "conflict", "refused", "withdrawn", "skipped"]
"""`new`: placed, or would be. `same`: there already. `kept`: there already with other texts or
another certificate, which stay. `conflict`: its id stands for another content there. `refused`: not
sound, or it takes back what was said before. `withdrawn`: taken out of use. `skipped`: not asked
for, or not whole yet."""

BAD: frozenset[Kind] = frozenset({"conflict", "refused"})

Progress: TypeAlias = Callable[[int, int], None]
"""Called with how many versions are done, and of how many; from any thread."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one version."""

    kind: Kind
    id: str
    """At the side that it comes from."""
    placed: str = ""
    """At the side that it goes to; empty if it is not there."""
    digest: str = ""
    note: str = ""
    """What there is to say about it, a sentence's end."""
    command: str = ""
    """The command of ours at the end of the note; empty if there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """What a push or pull did, or would do."""

    remote: str
    outcomes: tuple[Outcome, ...] = ()
    """In order of id."""
    bytes_moved: int = 0
    """Of file contents that were read from the remote, or written to it; listings do not count."""
    notes: tuple[str, ...] = field(default=())
    """About the remote as a whole."""

    def of(self, *kinds: Kind) -> list[Outcome]:
        """Return the outcomes of these kinds."""
        return [outcome for outcome in self.outcomes if outcome.kind in kinds]

    @property
    def clean(self) -> bool:
        """Whether nothing was refused and nothing clashed."""
        return not self.of(*BAD)


def in_order(outcomes: Iterable[Outcome]) -> tuple[Outcome, ...]:
    """Return outcomes as they are told: by id."""
    return tuple(sorted(outcomes, key=lambda outcome: (outcome.id, outcome.kind)))
