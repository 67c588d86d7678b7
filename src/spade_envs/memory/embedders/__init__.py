"""What turns texts into vectors: hashed n-grams, `sentence-transformers`, or a server."""

from __future__ import annotations

from spade_envs.memory.embedders.base import Embedder, Fingerprint, fingerprint
from spade_envs.memory.embedders.hashed import HashedEmbedder
from spade_envs.memory.embedders.registry import DEFAULT, make_embedder

__all__ = [
    "DEFAULT",
    "Embedder",
    "Fingerprint",
    "HashedEmbedder",
    "fingerprint",
    "make_embedder",
]
