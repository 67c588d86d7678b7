"""Documents that designers read: sources, passages, and a cursor that can be checkpointed."""

from spade_envs.corpus.corpus import Corpus, open_corpus
from spade_envs.corpus.cursor import Cursor
from spade_envs.corpus.settings import CorpusSettings, Filters, Source

__all__ = ["Corpus", "CorpusSettings", "Cursor", "Filters", "Source", "open_corpus"]
