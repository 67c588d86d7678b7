"""Which versions are to be transferred."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from spade_envs.calibrate import Bounds, Criteria, select
from spade_envs.errors import IdError, NotFound
from spade_envs.ids import EnvId
from spade_envs.sharing.names import is_digest, read_ref
from spade_envs.store.lookup import closest
from spade_envs.store.plays import Cell, Figures
from spade_envs.types import Record

_OWNER = re.compile(r"([a-z0-9]+(?:-[a-z0-9]+)*)[./]\*")
_START = re.compile(r"sha256:[0-9a-f]{1,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What to transfer; by default everything that is not withdrawn."""

    refs: tuple[str, ...] = ()
    """Ids, names (`alice/maze`: its newest version; `alice/maze@0`: that one), owners (`alice/*`)
    or full digests; empty stands for all."""
    skills: tuple[str, ...] = ()
    """Any one of these; empty takes all."""
    success: Bounds | None = None
    """What the success without the hint has to lie within, by the plays that the source notes."""

    @property
    def everything(self) -> bool:
        """Whether nothing is left out."""
        return not (self.refs or self.skills or self.success)

    @property
    def names_only(self) -> bool:
        """Whether names alone decide, and no digest, skill or figure."""
        return not (self.skills or self.success or any(is_digest(ref) for ref in self.refs))

    def names(self, env_id: str, digest: str) -> bool:
        """Whether a ref is exactly this version, by its id or digest."""
        for ref in self.refs:
            if ref == digest:
                return True
            if _OWNER.fullmatch(ref) or is_digest(ref):
                continue
            meant = read_ref(ref)
            if meant.version is not None and str(meant) == env_id:
                return True
        return False

    def choose(
        self, records: Sequence[Record], cells: Mapping[Cell, Figures] | None = None
    ) -> list[Record]:
        """Return the records that are wanted, in their order.

        Args:
            records: what there is, withdrawn ones included.
            cells: plays of them, if success decides.

        Raises:
            NotFound: a ref names nothing that is there; the message says what comes close.
            IdError: a ref can name nothing.
        """
        ids = self.chosen_ids(records)
        found = [record for record in records if record.id in ids]
        if self.skills:
            found = [record for record in found if set(self.skills) & set(record.skills)]
        if self.success is not None:
            fit = select(found, cells or {}, Criteria(success=self.success))
            found = [choice.record for choice in fit]
        return found

    def chosen_ids(self, records: Sequence[Record]) -> set[str]:
        """Return the ids of the records that the refs mean."""
        if not self.refs:
            return {record.id for record in records}
        return {env_id for ref in self.refs for env_id in _meant(ref, records)}


def _meant(ref: str, records: Sequence[Record]) -> list[str]:
    if owner := _OWNER.fullmatch(ref):
        found = [each.id for each in records if _name(each).startswith(f"{owner[1]}.")]
        return _some(found, f"nothing of the owner {owner[1]!r} is there")
    if is_digest(ref):
        held = sorted((each.withdrawn is not None, each.id) for each in records
                      if each.digest == ref)  # fmt: skip
        return _some([env_id for _, env_id in held[:1]], f"nothing there has {ref}")
    if _START.fullmatch(ref):
        raise IdError(f"{ref!r} is only the start of a digest; give all 64 digits")
    wanted = read_ref(ref)
    same = [each for each in records if _name(each) == wanted.name]
    if wanted.version is None:
        newest = max(same, key=_usable_and_new, default=None)
        found = [] if newest is None else [newest.id]
    else:
        found = [each.id for each in same if each.id == str(wanted)]
    near = closest(wanted.name, {_name(each) for each in records}) if not same else ()
    hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
    return _some(found, f"{ref!r} is not there{hint}")


def _usable_and_new(record: Record) -> tuple[bool, EnvId]:
    return record.withdrawn is None, EnvId.parse(record.id)


def _name(record: Record) -> str:
    return EnvId.parse(record.id).name


def _some(found: Iterable[str], otherwise: str) -> list[str]:
    ids = list(found)
    if not ids:
        raise NotFound(otherwise)
    return ids


EVERYTHING = Wanted()
"""Everything that is not withdrawn."""
