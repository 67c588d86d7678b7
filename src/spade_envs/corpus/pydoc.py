"""The built-in corpus: the language topics that ship with Python's own documentation.

Its passages differ a little between Python versions, as the documentation does.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator

from spade_envs.corpus.documents import Document
from spade_envs.errors import CorpusError

LICENCE = "PSF-2.0"

_UNDERLINE = re.compile(r"^[ \t]*([*=\-~^\"])\1{2,}[ \t]*\n?", re.MULTILINE)
_EMPHASIS = re.compile(r"(?<![\w*])\*{1,2}([^\s*](?:[^*\n]{0,80}[^\s*])?)\*{1,2}(?![\w*])")


def documents() -> Iterator[Document]:
    """Yield the topics in alphabetical order, markup stripped.

    Raises:
        CorpusError: this Python was installed without them.
    """
    try:
        topics = importlib.import_module("pydoc_data.topics").topics
    except ImportError:
        raise CorpusError(
            "this Python was installed without pydoc_data, so there is no built-in corpus; "
            "name a folder or a file of documents instead"
        ) from None
    for topic in sorted(topics):
        text = strip_markup(topics[topic])
        title = text.strip().split("\n", 1)[0].strip() or topic
        yield Document(text=text, title=title[:120], source=topic, licence=LICENCE)


def strip_markup(text: str) -> str:
    """Return a topic without heading rules and emphasis marks."""
    return _EMPHASIS.sub(r"\1", _UNDERLINE.sub("", text))
