"""Draws that runs and checkpoints depend on: they must never change."""

import gzip
import hashlib
import json

import pytest

from spade_envs.corpus import Cursor, open_corpus
from spade_envs.corpus.order import shuffled

WORDS = [f"w{i}" for i in range(2000)]


def folder_of_every_format(root):
    (root / "sub").mkdir()
    (root / "a.md").write_text(f"# Tides\n\n{' '.join(WORDS[:130])}\n\n{' '.join(WORDS[130:300])}")
    lines = "\r\n".join(" ".join(WORDS[i : i + 17]) for i in range(0, 900, 17))
    (root / "sub" / "b.txt").write_bytes(("\ufeff" + lines).encode())
    paragraphs = "".join(f"<p>{' '.join(WORDS[i : i + 40])}</p>" for i in range(0, 400, 40))
    (root / "c.html").write_text(f"<title>Bees</title><body>{paragraphs}")
    rows = [
        json.dumps({"text": " ".join(WORDS[i : i + 9 + i % 70]), "title": f"Row {i}", "n": i})
        for i in range(0, 1500, 50)
    ]
    (root / "d.jsonl").write_text("\n".join([*rows[:10], "torn {", '{"body": 1}', "", *rows[10:]]))
    with gzip.open(root / "e.txt.gz", "wb") as file:
        file.write((" ".join(WORDS) + " " + "x" * 9000 + " end").encode())


@pytest.mark.parametrize(
    ("words", "count", "fingerprint", "drawn"),
    [
        (50, 120, "be4a22089ed73368", {0: "803c76feeb15a7da", 7: "b03427af7fd660e9"}),
        (400, 42, "4097a1282ac89c23", {0: "22660398143a7427", 7: "6b4800fc3aed0f09"}),
    ],
)
def test_passages_and_their_order(tmp_path, words, count, fingerprint, drawn):
    folder_of_every_format(tmp_path)
    corpus = open_corpus(tmp_path, words=words, licence="CC0-1.0")
    assert (len(corpus), corpus.fingerprint) == (count, fingerprint)
    for seed, expected in drawn.items():
        cursor, found = Cursor(seed=seed), []
        for _ in range(count + 5):
            p, cursor = corpus.draw(cursor)
            metadata = json.dumps(dict(p.metadata))
            found.append((p.source, p.offset, p.sha256, p.title, p.licence, metadata))
        assert hashlib.sha256(json.dumps(found).encode()).hexdigest()[:16] == expected


def test_orders_of_numbers():
    assert [shuffled("0", 0, 10, place) for place in range(10)][:6] == [9, 6, 4, 0, 3, 7]
    order = json.dumps([shuffled("3", 2, 1000, place) for place in range(1000)])
    assert hashlib.sha256(order.encode()).hexdigest()[:16] == "4102e74afa98fa82"
