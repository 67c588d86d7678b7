"""Work shared out over the processes that train together, and brought together again."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Protocol, TypeVar

from spade_train.batch import World
from spade_train.types import as_json, from_json

T = TypeVar("T")


class Numbered(Protocol):
    """Something with a place in the common order."""

    @property
    def index(self) -> int:
        """The place, >= 0."""
        ...


N = TypeVar("N", bound=Numbered)


def mine(
    items: Sequence[T], world: World, *, together: Callable[[T], Hashable] | None = None
) -> list[tuple[int, T]]:
    """Return this process's share of the items, each with its place among all.

    Args:
        items: the same in every process.
        world: the processes.
        together: items with the same value stay in one process, unless there would be fewer
            values than processes.
    """
    if world.size == 1:
        return list(enumerate(items))
    labels: list[Hashable] = [
        together(item) if together else place for place, item in enumerate(items)
    ]
    number = {label: place for place, label in enumerate(dict.fromkeys(labels))}
    if len(number) < world.size:
        number, labels = {place: place for place in range(len(items))}, list(range(len(items)))
    return [
        (place, item)
        for place, (item, label) in enumerate(zip(items, labels, strict=True))
        if number[label] % world.size == world.rank
    ]


def gathered(values: Sequence[N], kind: type[N], world: World) -> list[N]:
    """Return the values of all processes by their places; every process must call it.

    Raises:
        StateError: another process sent something else.
    """
    if world.size == 1:
        return sorted(values, key=lambda value: value.index)
    parts = world.gather(as_json(list(values)))
    together = [from_json(kind, each) for part in parts for each in part]
    return sorted(together, key=lambda value: value.index)
