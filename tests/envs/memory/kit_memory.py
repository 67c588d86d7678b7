"""A store with small sources of given texts, and an embedder whose vectors can be told by hand."""

from __future__ import annotations

import numpy as np

from envs.store.kit import PROVENANCE, report_of
from spade_envs.types import EnvSource


def digest(number: int) -> str:
    return f"sha256:{number:064x}"


class Axes:
    """A word of the list adds 1 to the axis of its place; other words count for nothing."""

    def __init__(self, words: str, *, name: str = "axes", revision: str = "1") -> None:
        self.words, self.name, self.revision = words.split(), name, revision
        self.asked: list[str] = []

    @property
    def dimension(self) -> int:
        return len(self.words)

    def embed(self, texts):
        self.asked += texts
        rows = [[text.lower().split().count(word) for word in self.words] for text in texts]
        return np.array(rows, dtype=np.float32)


def source_about(text: str) -> EnvSource:
    return EnvSource(code=f'class MazeEnv:\n    """{text}"""\n')


def add_about(store, text, **options):
    source = source_about(text)
    return store.add(source, report_of(source), PROVENANCE, **options)
