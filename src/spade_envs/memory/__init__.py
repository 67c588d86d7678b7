"""The memory of an envstore: what is near a text, near each other, and worth showing.

    memory = open_memory(store, "hashed")
    memory.refresh()
    memory.search("ferry timetable", k=5)

Vectors are kept in the store and are the truth; the FAISS index is a cache of them. How it is kept
and what is asked of it stands in docs/memory.md.
"""

from __future__ import annotations

from spade_envs.memory.embedders import Embedder, make_embedder
from spade_envs.memory.memory import Memory, Neighbour, open_memory, rebuild_memory
from spade_envs.memory.recall import Material, Recall, recall

__all__ = [
    "Embedder",
    "Material",
    "Memory",
    "Neighbour",
    "Recall",
    "make_embedder",
    "open_memory",
    "rebuild_memory",
    "recall",
]
