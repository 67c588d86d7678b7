"""How many environments of a store come from one mould: where a designer repeats itself.

Ten programs that differ in words and numbers are ten different environments to the door (`door`),
and yet one idea written ten times. A crowd is what is made alike (`design.moulds`, distance at most
ALIKE) and scales alike with the level; a store that is to be diverse takes only so many of one.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from spade_envs.design.moulds import MOULD_VERSION, Mould, mould_of
from spade_envs.errors import StoreError
from spade_envs.store import EnvStore
from spade_envs.store.cache import append_line, read_lines
from spade_envs.types import EnvSource, Record

_log = logging.getLogger(__name__)

ALIKE = 0.14
"""Distance up to which two programs are made alike, as measured in docs/novelty.md."""
CROWD = 6
"""How many a store takes of one mould and level, where nothing else is said."""

_MOULDS = f"moulds-{MOULD_VERSION}.jsonl"


class _Line(msgspec.Struct, frozen=True, array_like=True):
    digest: str
    mould: Mould | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowded:
    """A crowd that takes no more."""

    nearest: Record
    distance: float
    """Of the moulds; of equals, the first by its id."""
    size: int
    """Environments in the crowd."""
    most: int

    @property
    def reason(self) -> str:
        """One line that names an environment of the crowd, its size and the limit."""
        return (
            f"{self.nearest.id} and {self.size - 1} more are made alike, of the same level "
            f"(distance of moulds {self.distance:.2f}, at most {ALIKE:g} is alike), "
            f"and {self.most} is the most (--crowd)"
        )


class Crowds:
    """The moulds of a store's environments, made when first asked for and kept in its cache.

    Args:
        store: whose environments these are.
        most: environments that are made alike, of one level, >= 1.
    """

    def __init__(self, store: EnvStore, most: int) -> None:
        self.store, self.most = store, most
        self._by_scale: dict[str, list[tuple[Mould, Record]]] = {}
        self._known: set[str] = set()

    def take(self, records: Iterable[Record]) -> None:
        """Learn the environments that are not known yet; unreadable ones are logged."""
        lacking = [record for record in records if record.digest not in self._known]
        kept = _kept(self.store) if lacking else {}
        for record in lacking:
            if record.digest in kept:
                self._learn(record, kept[record.digest])
                continue
            try:
                self.add(record, self.store.source(record))
            except StoreError as error:
                self._known.add(record.digest)
                _log.warning("the mould of %s is not known: %s", record.id, error)

    def add(self, record: Record, source: EnvSource) -> None:
        """Note an environment that was just published."""
        if record.digest in self._known:
            return
        mould = mould_of(source)
        if not self.store.read_only:
            line = msgspec.json.encode(_Line(record.digest, mould))
            append_line(self.store.root, _MOULDS, line)
        self._learn(record, mould)

    def full(self, source: EnvSource) -> Crowded | None:
        """Return the crowd that a source would join, if that takes no more."""
        mould = mould_of(source)
        if mould is None:
            return None
        near = [
            (distance, record.id, record)
            for other, record in self._by_scale.get(mould.scale, ())
            if (distance := mould.distance(other)) <= ALIKE
        ]
        if len(near) < self.most:
            return None
        distance, _, record = min(near, key=lambda each: each[:2])
        return Crowded(nearest=record, distance=distance, size=len(near), most=self.most)

    def _learn(self, record: Record, mould: Mould | None) -> None:
        self._known.add(record.digest)
        if mould is not None:
            self._by_scale.setdefault(mould.scale, []).append((mould, record))


def _kept(store: EnvStore) -> dict[str, Mould | None]:
    found: dict[str, Mould | None] = {}
    for line in read_lines(store.root, _MOULDS):
        try:
            kept = msgspec.json.decode(line, type=_Line)
        except (msgspec.DecodeError, RecursionError):
            continue  # of another release
        found[kept.digest] = kept.mould
    return found
