"""Documents and corpora for tests."""

import json
import random

WORDS = [f"word{i}" for i in range(3000)]


def prose(seed, words=60):
    """Return a text that shares no run of words with another seed's."""
    return " ".join(random.Random(seed).choices(WORDS, k=words))


def write_rows(path, texts, key="text", **more):
    """Write one JSONL row per text."""
    rows = [{key: text, "title": f"Row {n}", **more} for n, text in enumerate(texts)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def dump(corpus):
    """Return everything that can be drawn from a corpus, in reading order."""
    return [
        (p.text, p.title, p.corpus, p.source, p.offset, p.licence, dict(p.metadata))
        for p in map(corpus.passage, range(len(corpus)))
    ]
