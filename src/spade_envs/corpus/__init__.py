"""Documents that designers read: readers, passages, and a cursor that can be checkpointed."""

from spade_envs.corpus.corpus import Corpus, open_corpus
from spade_envs.corpus.cursor import Cursor

__all__ = ["Corpus", "Cursor", "open_corpus"]
