"""`Memory`: the vectors of a store's environments, and what is near what."""

from __future__ import annotations

import logging
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from spade_envs.errors import ConfigError, StoreError
from spade_envs.memory.embedders import DEFAULT, Embedder, Fingerprint, fingerprint, make_embedder
from spade_envs.memory.embedders.base import Vectors, embed
from spade_envs.memory.index import EXACT_UP_TO, Index, load_graph, local_key, save_graph
from spade_envs.memory.recent import RecentVectors
from spade_envs.memory.texts import TEXT_VERSION, text_of
from spade_envs.memory.vectors import (
    VectorReader,
    VectorWriter,
    check_rows,
    drop_others,
    read_current,
    write_current,
)
from spade_envs.store import EnvStore
from spade_envs.types import EnvSource, Record

_log = logging.getLogger(__name__)

_BATCH = 256
_STALE_SHARE = 0.2
"""Share of vectors without an environment, or not in the kept graph, that has it made anew."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An environment and how near it is."""

    record: Record
    similarity: float
    """Cosine, in [-1, 1]: 1 is the same direction."""


def open_memory(
    store: EnvStore,
    embedder: Embedder | str | None = None,
    *,
    exact_up_to: int = EXACT_UP_TO,
    keep: bool = True,
) -> Memory:
    """Return the memory of a store; nothing is read or embedded before `refresh`.

    Args:
        store: whose environments are meant.
        embedder: what makes the vectors, or its name (see `make_embedder`); None takes the one that
            the store's memory is of if that needs no naming (`hashed`, `minilm`), else `hashed`.
        exact_up_to: most vectors to compare one by one; a graph serves more.
        keep: write new vectors into the store; those of a store that is read-only never are.

    Raises:
        ConfigError: the memory is of another embedder; the message holds the command that rebuilds
            it.
        MissingExtra: the embedder needs what is not installed.
        ClientError: the embedder's server does not answer.
    """
    current = read_current(store.root)
    if embedder is None:
        embedder = _named(current, store.root)
    called = embedder if isinstance(embedder, str) else "EMBEDDER"
    if isinstance(embedder, str):
        embedder = make_embedder(embedder)
    ours = fingerprint(embedder, text=TEXT_VERSION)
    if current is not None and current != ours:
        raise ConfigError(
            f"the memory of {store.root} was made with {current}, not with {ours}; make it anew "
            f"with: {_command(called, store.root)}"
        )
    keep = keep and not store.read_only
    if current is None and keep:
        write_current(store.root, ours)
    return Memory(store, embedder, exact_up_to=exact_up_to, keep=keep)


def rebuild_memory(
    store: EnvStore,
    embedder: Embedder | str,
    progress: Callable[[int, int], None] | None = None,
) -> Memory:
    """Make the memory of a store with this embedder, whatever it was made with, and return it.

    The vectors of other embedders go when all environments have new ones; until then the memory is
    what it was, and a rebuilding that was stopped goes on where it was. Vectors that this embedder
    made before are kept.

    Raises:
        StoreError: the store cannot be written to.
        ClientError: the embedder failed.
    """
    if store.read_only:
        raise StoreError(f"{store.root} is read-only; its memory cannot be kept")
    if isinstance(embedder, str):
        embedder = make_embedder(embedder)
    memory = Memory(store, embedder)
    memory.refresh(progress)
    write_current(store.root, memory.fingerprint)
    drop_others(store.root, memory.fingerprint)
    return memory


def _named(current: Fingerprint | None, root: Path) -> str:
    if current is None:
        return DEFAULT
    if current.name == "hashed":
        return f"hashed:{current.dimension}"
    if current.name == "all-minilm-l6-v2":
        return "minilm"
    raise ConfigError(
        f"the memory of {root} was made with {current}; name that embedder, or make it anew with: "
        f"{_command(DEFAULT, root)}"
    )


def _command(embedder: str, root: Path) -> str:
    return f"spade-envs reindex --embedder {shlex.quote(embedder)} --store {shlex.quote(str(root))}"


class Memory:
    """The vectors of a store's environments. Make it with `open_memory`.

    Attributes:
        store: whose environments these are.
        embedder: what makes the vectors.
        fingerprint: what they are kept under.
    """

    def __init__(
        self,
        store: EnvStore,
        embedder: Embedder,
        *,
        exact_up_to: int = EXACT_UP_TO,
        keep: bool = True,
    ) -> None:
        self.store, self.embedder = store, embedder
        self.fingerprint = fingerprint(embedder, text=TEXT_VERSION)
        self._exact_up_to = exact_up_to
        self._reader = VectorReader(store.root, self.fingerprint)
        self._writer = VectorWriter(store.root, self.fingerprint) if keep else None
        self._recent = RecentVectors(embedder)
        self._vectors: dict[str, Vectors] = {}
        self._records: dict[str, Record] = {}
        self._found: dict[str, Record] | None = None  # records with a vector; None: look again
        self._behind = True  # whether the index may lack some, or hold what is gone
        self._index: Index | None = None
        self._indexed: list[str] = []  # the digest of every number in the index
        self._inside: set[str] = set()
        self._gone = 0

    def __len__(self) -> int:
        """Number of environments that can be found."""
        return len(self._live())

    @property
    def records(self) -> tuple[Record, ...]:
        """The environments that can be found: one for each content, none that is withdrawn."""
        return tuple(self._live().values())

    def _live(self) -> dict[str, Record]:
        if self._found is None:
            vectors = self._vectors
            self._found = {d: record for d, record in self._records.items() if d in vectors}
        return self._found

    def refresh(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Read what is new on disk, embed what has no vector yet, and say how many these were.

        Args:
            progress: called with the number done and the number to do.

        Raises:
            ClientError: the embedder failed; what was embedded before is kept.
        """
        self._records = {}
        for record in self.store.records():
            if record.withdrawn is None:
                self._records.setdefault(record.digest, record)
        self._found, self._behind = None, True
        self._take_new()
        lacking = [r for digest, r in self._records.items() if digest not in self._vectors]
        done = 0
        for start in range(0, len(lacking), _BATCH):
            batch = lacking[start : start + _BATCH]
            done += self._embed(batch)
            if progress is not None:
                progress(min(start + _BATCH, len(lacking)), len(lacking))
        return done

    def _embed(self, batch: Sequence[Record]) -> int:
        sources: dict[str, EnvSource] = {}
        for record in batch:
            try:
                sources[record.digest] = self.store.source(record)
            except StoreError as error:
                _log.warning("%s is left out of the memory: %s", record.id, error)
        rows = embed(self.embedder, [text_of(source) for source in sources.values()])
        self.add_vectors(list(sources), rows)
        return len(sources)

    def add(self, record: Record, source: EnvSource) -> None:
        """Remember an environment that was just published.

        Raises:
            ClientError: the embedder failed.
            StoreError: the vector cannot be kept.
        """
        self._records.setdefault(record.digest, record)
        self._found, self._behind = None, True
        if record.digest not in self._vectors:
            self.add_vectors([record.digest], embed(self.embedder, [text_of(source)]))

    def add_vectors(self, digests: Sequence[str], rows: Vectors) -> None:
        """Keep given vectors of this embedder, one row of length 1 per digest.

        Raises:
            ConfigError: not one sound row per digest.
            StoreError: they cannot be kept.
        """
        rows = check_rows(rows, self.fingerprint.dimension).copy()  # the caller's may change
        if len(digests) != len(rows):
            raise ConfigError(f"{len(digests)} digests for {len(rows)} vectors")
        if self._writer is not None:
            self._writer.append(digests, rows)
        self._learn(digests, rows)

    def _take_new(self) -> None:
        for block in self._reader.new():
            self._learn(block.digests, block.rows)

    def _learn(self, digests: Sequence[str], rows: Vectors) -> None:
        for digest, row in zip(digests, rows, strict=True):
            self._vectors.setdefault(digest, row)
        self._found, self._behind = None, True

    # Asking

    def embed_text(self, text: str) -> Vectors:
        """Return the vector of a text, of length 1 (or zeros: the embedder makes nothing of it).

        Raises:
            ClientError: the embedder failed.
        """
        row: Vectors = self.embed_texts([text])[0]
        return row

    def embed_texts(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of some texts, one row each; those asked for lately are not made anew.

        Raises:
            ClientError: the embedder failed.
        """
        return self._recent.of(texts)

    def embed_source(self, source: EnvSource) -> Vectors:
        """Return the vector of an environment that need not be in the store, of length 1 or zeros.

        Raises:
            ClientError: the embedder failed.
        """
        return self.embed_text(text_of(source))

    def vector(self, digest: str) -> Vectors | None:
        """Return the vector of an environment; None if there is none."""
        return self._vectors.get(digest)

    def rows(self, digests: Iterable[str]) -> Vectors:
        """Return the vectors of environments that have one, in order: (digests, dimension)."""
        found = [self._vectors[digest] for digest in digests]
        empty = np.zeros((0, self.fingerprint.dimension), dtype=np.float32)
        return np.stack(found) if found else empty

    def search(self, text: str, k: int = 8, *, skill: str | None = None) -> list[Neighbour]:
        """Return the environments nearest to a text, best first: at most `k`.

        Args:
            text: any text; one that the embedder makes nothing of finds nothing.
            k: how many, >= 1.
            skill: only those that exercise it.

        Raises:
            ClientError: the embedder failed.
        """
        return self.near(self.embed_text(text), k, skill=skill)

    def similar(self, record: Record, k: int = 8, *, skill: str | None = None) -> list[Neighbour]:
        """Return the environments nearest to one of the store, best first and without itself.

        Raises:
            StoreError: there is no vector of it, since its source cannot be read.
        """
        row = self.vector(record.digest)
        if row is None:
            raise StoreError(f"{record.id} is not in the memory of {self.store.root}")
        found = self.near(row, k + 1, skill=skill)
        return [each for each in found if each.record.digest != record.digest][:k]

    def near(self, row: Vectors, k: int, *, skill: str | None = None) -> list[Neighbour]:
        """Return the environments whose vectors are nearest to `row`, best first: at most `k`."""
        if k < 1:
            raise ConfigError(f"k must be >= 1, not {k}")
        row = check_rows(np.reshape(row, (1, -1)), self.fingerprint.dimension)[0]
        if not np.any(row):
            return []
        if skill is not None:
            return self._among([r.digest for r in self.records if skill in r.skills], row, k)
        index = self._ready()
        live = self._live()
        places, products = index.nearest(row, k + self._gone)
        found = [
            Neighbour(live[self._indexed[place]], _cosine(product))
            for place, product in zip(places.tolist(), products.tolist(), strict=True)
            if self._indexed[place] in live
        ]
        found.sort(key=lambda each: (-each.similarity, each.record.id))
        return found[:k]

    def _among(self, digests: Sequence[str], row: Vectors, k: int) -> list[Neighbour]:
        products = self.rows(digests) @ row
        best = np.argsort(-products, kind="stable")[:k]
        return [Neighbour(self._records[digests[n]], _cosine(float(products[n]))) for n in best]

    # The index

    def _ready(self) -> Index:
        """Return an index of all environments, made or brought up to date as needed."""
        if self._index is not None and not self._behind:
            return self._index
        live = self._live()
        if self._index is None:
            self._begin()
        self._gone = sum(digest not in live for digest in self._indexed)
        index = self._index
        if index is None or self._outgrown(index):
            index = self._make()
        lacking = [digest for digest in live if digest not in self._inside]
        if lacking:
            index.add(self.rows(lacking))
            self._indexed += lacking
            self._inside.update(lacking)
            if index.graph and len(lacking) > _STALE_SHARE * len(index):
                self._keep(index)
        self._behind = False
        return index

    def _outgrown(self, index: Index) -> bool:
        too_many = self._gone > 16 and self._gone > _STALE_SHARE * len(self._indexed)
        return too_many or index.graph != (len(self) > self._exact_up_to)

    def _begin(self) -> None:
        """Take the graph that was kept, if a graph is wanted and there is one."""
        if len(self) <= self._exact_up_to or (key := local_key()) is None:
            return
        if (kept := load_graph(self.store.root, self.fingerprint, key)) is not None:
            self._indexed, self._index = kept
            self._inside = set(self._indexed)

    def _make(self) -> Index:
        self._index = index = Index(self.fingerprint.dimension, graph=len(self) > self._exact_up_to)
        self._indexed, self._inside, self._gone = [], set(), 0
        return index

    def _keep(self, index: Index) -> None:
        if self._writer is None or (key := local_key()) is None:
            return
        try:
            save_graph(self.store.root, self.fingerprint, self._indexed, index, key)
        except StoreError as error:
            _log.warning("the index is not kept: %s", error)


def _cosine(product: float) -> float:
    return max(-1.0, min(1.0, product))
