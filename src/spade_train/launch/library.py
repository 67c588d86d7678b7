"""Environments by digest, whichever of several stores holds them."""

from __future__ import annotations

from collections.abc import Sequence

from spade_envs.errors import NotFound
from spade_envs.store import EnvStore
from spade_envs.types import EnvSource, Record
from spade_train.errors import StateError


class Library:
    """The stores of a run: its own, a pool's, the held-out one. What was found is kept."""

    def __init__(self, stores: Sequence[EnvStore]) -> None:
        """Take the stores; the first one that holds a digest answers for it."""
        self._stores = tuple(stores)
        self._sources: dict[str, EnvSource] = {}

    def source(self, digest: str) -> EnvSource:
        """Return a source, verified.

        Raises:
            StateError: no store holds it.
        """
        if digest not in self._sources:
            store, record = self.find(digest)
            self._sources[digest] = store.source(record)
        return self._sources[digest]

    def find(self, digest: str) -> tuple[EnvStore, Record]:
        """Return the store that holds an environment, and its record there.

        Raises:
            StateError: no store holds it.
        """
        for store in self._stores:
            try:
                return store, store.get(digest)
            except NotFound:
                continue
        where = ", ".join(str(store.root) for store in self._stores)
        raise StateError(f"no environment {digest} in {where}; the run's store was changed")
