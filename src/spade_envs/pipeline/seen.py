"""Which programs a store already holds, in these or other words."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass

from spade_envs.design.novelty import ast_hash
from spade_envs.errors import StoreError
from spade_envs.store import EnvStore
from spade_envs.store.cache import append_line, read_lines
from spade_envs.types import EnvSource, Record

_log = logging.getLogger(__name__)

_NAME = "programs-2.jsonl"


@dataclass(frozen=True, slots=True)
class Twin:
    """An environment in the store that is the same program."""

    record: Record
    exact: bool
    """Whether the very text is the same."""


class Seen:
    """Index of the programs in a store, by hash of the text and of the normalised syntax tree.

    The store's sources are the truth. Hashes are kept in `.cache/` under the environment's digest
    (`store.cache`); the file may be deleted at any time.
    """

    def __init__(self, store: EnvStore) -> None:
        self._store = store
        self._texts: dict[str, Record] = {}
        self._programs: dict[str, Record] = {}
        cached = self._read_cache()
        for record in store.records():
            if record.withdrawn is not None:
                continue
            hashes = cached.get(record.digest)
            if hashes is None:
                try:
                    source = store.source(record)
                except StoreError as error:
                    _log.warning("cannot compare with %s: %s", record.id, error)
                    continue
                hashes = (source.sha256, ast_hash(source))
                self._write_cache(record.digest, hashes)
            self._remember(record, hashes)

    def twin(self, source: EnvSource) -> Twin | None:
        """Return the environment that is the same program as `source`, if there is one."""
        if (record := self._texts.get(source.sha256)) is not None:
            return Twin(record, exact=True)
        record = self._programs.get(ast_hash(source))
        return None if record is None else Twin(record, exact=False)

    def add(self, record: Record, source: EnvSource) -> None:
        """Note an environment that was just published."""
        hashes = (source.sha256, ast_hash(source))
        self._remember(record, hashes)
        self._write_cache(record.digest, hashes)

    def _remember(self, record: Record, hashes: tuple[str, str]) -> None:
        self._texts.setdefault(hashes[0], record)
        self._programs.setdefault(hashes[1], record)

    def _read_cache(self) -> dict[str, tuple[str, str]]:
        found = {}
        for line in read_lines(self._store.root, _NAME):
            try:
                digest, text, program = json.loads(line)
                found[str(digest)] = (str(text), str(program))
            except (ValueError, TypeError, RecursionError):
                continue  # of another release; the source is hashed again
        return found

    def _write_cache(self, digest: str, hashes: tuple[str, str]) -> None:
        append_line(self._store.root, _NAME, json.dumps([digest, *hashes]).encode())
