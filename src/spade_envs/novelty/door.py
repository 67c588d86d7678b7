"""The one door of a store: whether an environment is new there, asked cheapest first.

    door = Door(store)
    verdict = door.judge(source)
    if verdict.refused is None: ...publish...; door.add(record, source)

1. text: the very same source.
2. program: the same syntax tree under other names (`design.novelty.ast_hash`).
3. embedding: a near text *and* the same statements in another order. A near text alone refuses
   nothing, since one sentence may introduce two different tasks.
4. behaviour: the same tasks, answers and payments, whatever the text (`behaviour`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from spade_envs.errors import ConfigError, IsolationUnavailable, SandboxError, StoreError
from spade_envs.gates.ports import SandboxPort
from spade_envs.memory import Memory, open_memory
from spade_envs.memory.embedders.hashed import HashedEmbedder
from spade_envs.memory.memory import Neighbour
from spade_envs.novelty.behaviour import DIMENSION, Vector, behaviour
from spade_envs.novelty.kept import (
    Hashes,
    behaviours_of,
    hashes_of,
    keep_behaviour,
    keep_hashes,
    present,
)
from spade_envs.novelty.settings import Thresholds
from spade_envs.store import EnvStore
from spade_envs.trust.runs import standing
from spade_envs.types import EnvSource, Json, Record

Step: TypeAlias = Literal["text", "program", "embedding", "behaviour"]

_NEAREST = 16
"""Near texts whose statements are compared."""
_HOW: dict[Step, str] = {
    "text": "has the same text",
    "program": "has the same program in other words",
    "embedding": "has the same statements in another order",
    "behaviour": "gives the same tasks, answers and payments in other words",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """The nearest environment by one step."""

    step: Step
    record: Record
    distance: float
    threshold: float
    """Distances up to it repeat."""

    @property
    def reason(self) -> str:
        """One line that names the environment, the step and, where it measures, the distance."""
        if self.step in ("text", "program"):
            return f"{self.record.id} {_HOW[self.step]}"
        end = f"({self.step} distance {self.distance:.3f}, at most {self.threshold:g} is a repeat)"
        return f"{self.record.id} {_HOW[self.step]} {end}"

    def as_json(self) -> dict[str, Json]:
        """Return it as plain JSON."""
        return {
            "id": self.record.id,
            "distance": round(self.distance, 4),
            "threshold": self.threshold,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the door says about one source."""

    thresholds: Thresholds
    refused: Near | None = None
    """What it repeats, if it does."""
    nearest: tuple[Near, ...] = ()
    """What it was nearest to in the steps that it passed and that measure."""
    told: bool = True
    """False if the behaviour step was asked for and its behaviour could not be told."""

    def as_json(self) -> dict[str, Json]:
        """Return thresholds and distances as plain JSON, as they go into a manifest."""
        found: dict[str, Json] = {"thresholds": str(self.thresholds)}
        found |= {near.step: near.as_json() for near in self.nearest}
        if not self.told:
            found["behaviour"] = "not told"
        if self.refused is not None:
            found["refused"] = {"step": self.refused.step, **self.refused.as_json()}
        return found


class Door:
    """What a store holds, by text, program, embedding and behaviour, kept up to date by `add`.

    Opening it hashes what was never hashed; the first `judge` embeds and plays what was never
    embedded or played. All of it is kept in the store's cache.

    Args:
        store: what a source must be new to.
        thresholds: what counts as a repetition.
        sandbox: where sources are played; the process-wide one if None.
        memory: of this store; its own by default, or one of hashed n-grams that is not kept if the
            store's memory is of an embedder that has to be named.
        jobs: sources that are played at a time, >= 1.
        progress: called with the number of environments played and to play, at the first `judge`.
    """

    def __init__(
        self,
        store: EnvStore,
        thresholds: Thresholds | None = None,
        *,
        sandbox: SandboxPort | None = None,
        memory: Memory | None = None,
        jobs: int = 2,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.store, self.thresholds = store, thresholds or Thresholds()
        self._sandbox, self._memory = sandbox, memory
        self._jobs, self._progress = jobs, progress
        found = list(present(store))
        self._hashes = hashes_of(store, found)
        self._records: dict[str, list[Record]] = {}
        for record in found:
            if record.digest in self._hashes:
                self._records.setdefault(record.digest, []).append(record)
        self._texts: dict[str, list[str]] = {}
        self._programs: dict[str, list[str]] = {}
        for digest in self._records:
            self._note(digest, self._hashes[digest])
        self._vectors: dict[str, Vector | None] | None = None
        self._stacked: tuple[list[str], Vector] | None = None
        self._played: dict[str, Vector | None] = {}

    def _note(self, digest: str, hashes: Hashes) -> None:
        self._texts.setdefault(hashes.text, []).append(digest)
        self._programs.setdefault(hashes.program, []).append(digest)

    def glance(self, source: EnvSource, *, but: Callable[[str], bool] | None = None) -> Near | None:
        """Return what has the same text or program; nothing is run.

        Args:
            source: what may be new.
            but: says of an id that it may be repeated, as by the next version of a name.
        """
        same = self._first(self._texts.get(source.sha256, ()), but)
        if same is not None:
            return Near(step="text", record=same, distance=0.0, threshold=0.0)
        if not self.thresholds.program:
            return None
        same = self._first(self._programs.get(Hashes.of(source).program, ()), but)
        if same is not None:
            return Near(step="program", record=same, distance=0.0, threshold=0.0)
        return None

    def judge(self, source: EnvSource, *, but: Callable[[str], bool] | None = None) -> Verdict:
        """Return whether a source is new to the store, by all four steps.

        Args:
            source: what may be new; it is played in the sandbox if the first three steps pass.
            but: see `glance`.

        Raises:
            ClientError: the embedder failed.
            IsolationUnavailable: no sandbox can be started here.
        """
        thresholds = self.thresholds
        refused = self.glance(source, but=but)
        if refused is not None:
            return Verdict(thresholds=thresholds, refused=refused)
        nearest: list[Near] = []
        if thresholds.embedding is not None:
            near = self._by_embedding(source, thresholds.embedding, but)
            if near is not None and near.distance <= near.threshold and self._alike(near, source):
                return Verdict(thresholds=thresholds, refused=near)
            nearest += [near] if near is not None else []
        told = True
        if thresholds.behaviour is not None:
            row = self._play(source)
            told = row is not None
            near = None if row is None else self._by_behaviour(row, thresholds.behaviour, but)
            if near is not None and near.distance <= near.threshold:
                return Verdict(thresholds=thresholds, refused=near, nearest=tuple(nearest))
            nearest += [near] if near is not None else []
        return Verdict(thresholds=thresholds, nearest=tuple(nearest), told=told)

    def add(self, record: Record, source: EnvSource) -> None:
        """Note an environment that was just published.

        Raises:
            ClientError: the embedder failed.
        """
        known = self._records.setdefault(record.digest, [])
        if record.id in {one.id for one in known}:
            return
        known.append(record)
        if len(known) > 1:
            return
        hashes = Hashes.of(source)
        self._hashes[record.digest] = hashes
        self._note(record.digest, hashes)
        keep_hashes(self.store, record.digest, hashes)
        if self._memory is not None:
            self._memory.add(record, source)
        if self.thresholds.behaviour is not None and source.sha256 in self._played:
            vector = self._played.pop(source.sha256)
            keep_behaviour(self.store, record.digest, vector)
            if self._vectors is not None:
                self._vectors[record.digest] = vector
                self._stacked = None

    def _first(self, digests: Iterable[str], but: Callable[[str], bool] | None) -> Record | None:
        found = (record for digest in digests for record in self._records.get(digest, ()))
        return next((r for r in found if but is None or not but(r.id)), None)

    # Embedding

    def _by_embedding(
        self, source: EnvSource, threshold: float, but: Callable[[str], bool] | None
    ) -> Near | None:
        """Return the nearest by text, but first the nearest that has the same statements."""
        memory = self._refreshed()
        found = memory.near(memory.embed_source(source), _NEAREST)
        usable = [
            (each, record)
            for each in found
            if (record := self._first([each.record.digest], but)) is not None
        ]
        if not usable:
            return None
        shape = Hashes.of(source).shape
        same = [
            pair
            for pair in usable
            if self._hashes[pair[0].record.digest].shape == shape and _apart(pair[0]) <= threshold
        ]
        each, record = (same or usable)[0]
        return Near(step="embedding", record=record, distance=_apart(each), threshold=threshold)

    def _alike(self, near: Near, source: EnvSource) -> bool:
        return self._hashes[near.record.digest].shape == Hashes.of(source).shape

    def _refreshed(self) -> Memory:
        if self._memory is None:
            try:
                self._memory = open_memory(self.store)
            except ConfigError:
                self._memory = Memory(self.store, HashedEmbedder(), keep=False)
            self._memory.refresh()
            self._complete(self._memory)
        return self._memory

    def _complete(self, memory: Memory) -> None:
        """Embed what the memory lacks because the index, which it goes by, is wrong."""
        for digest, records in self._records.items():
            if memory.vector(digest) is None:
                try:
                    memory.add(records[0], self.store.source(records[0]))
                except StoreError:
                    continue  # said when it was opened

    # Behaviour

    def _play(self, source: EnvSource) -> Vector | None:
        if source.sha256 not in self._played:
            self._played[source.sha256] = _behaviour(source, self._sandbox)
        return self._played[source.sha256]

    def _by_behaviour(
        self, row: Vector, threshold: float, but: Callable[[str], bool] | None
    ) -> Near | None:
        digests, rows = self._behaviours()
        if not digests:
            return None
        apart = np.maximum(0.0, 1.0 - rows @ row)
        for place in np.argsort(apart, kind="stable").tolist():
            record = self._first([digests[place]], but)
            if record is not None:
                distance = float(apart[place])
                return Near(step="behaviour", record=record, distance=distance, threshold=threshold)
        return None

    def _behaviours(self) -> tuple[list[str], Vector]:
        if self._vectors is None:
            self._vectors = self._all_played()
        if self._stacked is None:
            known = {d: v for d, v in self._vectors.items() if v is not None and d in self._records}
            empty = np.zeros((0, DIMENSION), dtype=np.float32)
            self._stacked = list(known), np.stack(list(known.values())) if known else empty
        return self._stacked

    def _all_played(self) -> dict[str, Vector | None]:
        """Return the behaviour of every environment; those never played are played now."""
        kept = behaviours_of(self.store)
        lacking = [digest for digest in self._records if digest not in kept]
        done = 0

        def one(digest: str) -> tuple[str, Vector | None]:
            try:
                source = self.store.source(self._records[digest][0])
                if not standing(digest).may_run:
                    return digest, None  # pulled, and nobody consented: it is not played, nor kept
            except StoreError:
                return digest, None
            vector = _behaviour(source, self._sandbox)
            keep_behaviour(self.store, digest, vector)
            return digest, vector

        pool = ThreadPoolExecutor(max_workers=self._jobs, thread_name_prefix="check")
        try:
            for digest, vector in pool.map(one, lacking):
                kept[digest] = vector
                done += 1
                if self._progress is not None:
                    self._progress(done, len(lacking))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        return kept


def _apart(each: Neighbour) -> float:
    return min(1.0, max(0.0, 1.0 - each.similarity))


def _behaviour(source: EnvSource, sandbox: SandboxPort | None) -> Vector | None:
    """Return what a source does; None if it cannot be played."""
    try:
        return behaviour(source, sandbox)
    except IsolationUnavailable:
        raise
    except SandboxError:
        return None
