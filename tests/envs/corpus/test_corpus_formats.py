import gzip
import importlib
import json
import os

import pytest

from envs.corpus.corpus_kit import prose
from spade_envs.corpus import Cursor, open_corpus, readers
from spade_envs.corpus.markup import html_text, text_title
from spade_envs.corpus.pydoc import strip_markup
from spade_envs.errors import CorpusError


def only(corpus):
    assert len(corpus) == 1
    return corpus.passage(0)


def test_pydoc_is_built_in():
    corpus = open_corpus("pydoc")
    passages = [corpus.passage(i) for i in range(len(corpus))]
    assert len({p.source for p in passages}) > 60
    assert {p.licence for p in passages} == {"PSF-2.0"}
    booleans = next(p for p in passages if p.source == "booleans")
    assert booleans.title == "Boolean operations"
    assert booleans.text.startswith("Boolean operations\n")
    assert "****" not in booleans.text
    assert "first evaluates x;" in booleans.text


def test_pydoc_missing(monkeypatch):
    real = importlib.import_module

    def missing(name):
        if name == "pydoc_data.topics":
            raise ModuleNotFoundError(name)
        return real(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(CorpusError, match="without pydoc_data"):
        open_corpus("pydoc")


def test_strip_markup_keeps_powers_and_stars():
    assert strip_markup("Title\n*****\n\nuse *x* and **y**, 2**3, f(*args)\n") == (
        "Title\n\nuse x and y, 2**3, f(*args)\n"
    )


def test_folder_of_every_format(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.md").write_text("Intro\n\n# Heat pumps #\n\nbody")
    (tmp_path / "sub" / "b.rst").write_text("Tides\n=====\n\nbody")
    (tmp_path / "c.html").write_text(
        "<html><head><title>Bees &amp; hives</title><style>x{}</style></head>"
        "<body><nav>menu</nav><p>One<br>two</p><script>bad()</script><pre>a  b\nc</pre></body>"
    )
    (tmp_path / "d.jsonl").write_text(
        json.dumps({"text": "row text", "title": "Row", "license": "CC0-1.0", "year": 1999})
        + "\n\n"
    )
    with gzip.open(tmp_path / "e.txt.gz", "wb") as file:
        file.write(b"squeezed")
    (tmp_path / "ignored.png").write_bytes(b"\x89PNG")
    (tmp_path / ".hidden.txt").write_text("hidden")
    corpus = open_corpus(tmp_path, licence="MIT")
    found = {p.source: p for p in map(corpus.passage, range(len(corpus)))}
    assert {source: (p.title, p.licence) for source, p in found.items()} == {
        "a.md": ("Heat pumps", "MIT"),
        "sub/b.rst": ("Tides", "MIT"),
        "c.html": ("Bees & hives", "MIT"),
        "d.jsonl#1": ("Row", "CC0-1.0"),
        "e.txt.gz": ("e.txt.gz", "MIT"),
    }
    assert found["c.html"].text == "One\ntwo\n\na  b\nc"
    assert found["d.jsonl#1"].metadata == {"year": 1999}
    assert {p.corpus for p in found.values()} == {tmp_path.name}


def test_single_file_with_mark_and_windows_line_ends(tmp_path):
    (tmp_path / "x.txt").write_bytes(b"\xef\xbb\xbffirst\r\nsecond\rthird")
    passage = only(open_corpus(str(tmp_path / "x.txt")))
    assert passage.text == "first\nsecond\nthird"
    assert (passage.source, passage.offset, passage.licence) == ("x.txt", 0, "unknown")


def test_every_row_kind_of_a_gzipped_jsonl(tmp_path):
    rows = [
        '\ufeff{"text": "one"}',
        "",
        "torn {",
        '{"body": "no text"}',
        '{"text": 5}',
        '{"text": "\\ud800"}',
        '{"text": "  "}',
        "[" * 3000,
        '{"text": "two\\r\\nlines", "id": "k"}',
    ]
    with gzip.open(tmp_path / "r.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write("\r\n".join(rows))
    corpus = open_corpus(tmp_path / "r.jsonl.gz")
    assert [corpus.passage(i).text for i in range(len(corpus))] == ["one", "two\nlines"]
    assert corpus.passage(1).source == "r.jsonl.gz#9"
    assert len(corpus.skipped) == 5
    assert "is not JSON" in corpus.skipped[0]


@pytest.mark.parametrize(
    ("name", "raw", "words"),
    [
        ("x.txt", b"", "empty"),
        ("x.txt", b" \n\r\n\t", "empty"),
        ("x.txt", b"\x00\x01\x02", "binary"),
        ("x.txt", b"caf\xe9", "save it as UTF-8"),
        ("x.txt", "\ufefftext".encode("utf-16"), "UTF-16"),
        ("x.jsonl", b'{"a": 1}\n', "no text named `text`"),
        ("x.txt.gz", b"not gzip", "cannot be read"),
        ("x.txt.gz", gzip.compress(b"word " * 999, mtime=0)[:10], "cannot be read"),
        ("x.pdf", b"%PDF", "not a document by its name"),
    ],
)
def test_files_that_cannot_be_used(tmp_path, name, raw, words):
    (tmp_path / name).write_bytes(raw)
    with pytest.raises(CorpusError, match=words):
        open_corpus(tmp_path / name)


def test_places_that_cannot_be_used(tmp_path):
    with pytest.raises(CorpusError, match="'pydoc'"):
        open_corpus(tmp_path / "absent")
    with pytest.raises(CorpusError, match=r"\*\.txt"):
        open_corpus(tmp_path)
    os.mkfifo(tmp_path / "pipe.txt")
    with pytest.raises(CorpusError, match="neither"):
        open_corpus(tmp_path / "pipe.txt")
    with pytest.raises(CorpusError, match=">= 1"):
        open_corpus("pydoc", words=0)


def test_one_bad_file_does_not_spoil_a_folder(tmp_path, caplog):
    (tmp_path / "bad.txt").write_bytes(b"\0")
    (tmp_path / "good.txt").write_text("good")
    corpus = open_corpus(tmp_path)
    assert only(corpus).text == "good"
    assert corpus.skipped == ("bad.txt is binary, not text",)
    assert "1 files or rows not read, or not to their end" in caplog.text


def test_links_never_lead_outside_nor_in_circles(tmp_path):
    outside = tmp_path / "secret.txt"
    outside.write_text("secret")
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.txt").write_text("inside")
    (folder / "loop").symlink_to(folder)
    (folder / "self.txt").symlink_to("self.txt")
    (folder / "leak.txt").symlink_to(outside)
    (folder / "twin.txt").symlink_to(folder / "a.txt")
    corpus = open_corpus(folder)
    assert [corpus.passage(i).source for i in range(len(corpus))] == ["a.txt", "twin.txt"]


def test_huge_text_is_read_in_blocks_with_true_offsets(tmp_path, monkeypatch):
    monkeypatch.setattr(readers, "BLOCK_BYTES", 64)
    text = (
        "Title\n=====\r\n" + "".join(f"wörd{i} 漢字\r\n" for i in range(60)) + "x" * 50 + "漢" * 100
    )
    (tmp_path / "big.txt").write_bytes(text.encode())
    corpus = open_corpus(tmp_path / "big.txt", words=7)
    plain = text.replace("\r\n", "\n")
    passages = [corpus.passage(i) for i in range(len(corpus))]
    assert "".join("".join(p.text for p in passages).split()) == "".join(plain.split())
    assert all(plain[p.offset : p.offset + len(p.text)] == p.text for p in passages)
    assert {p.title for p in passages} == {"Title"}


def test_a_changed_file_is_noticed(tmp_path):
    (tmp_path / "a.txt").write_text("word " * 50)
    corpus = open_corpus(tmp_path)
    (tmp_path / "a.txt").write_text("short")
    readers_cache = importlib.import_module("spade_envs.corpus.corpus")._read_again
    readers_cache.cache_clear()
    with pytest.raises(CorpusError, match="changed"):
        corpus.draw(Cursor())


def test_same_files_elsewhere_are_the_same_corpus(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text("alpha beta")
    prints = {open_corpus(tmp_path / name).fingerprint for name in ("one", "two")}
    (tmp_path / "two" / "a.txt").write_text("alpha Beta")
    assert len(prints) == 1
    assert open_corpus(tmp_path / "two").fingerprint not in prints


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# One\n\ntext", "One"),
        ("plain\n\ntext", "fallback"),
        ("=====\nOver\n=====\n", "Over"),
        ("a table\n\n---\n", "fallback"),
        ("#!/bin/sh\n", "fallback"),
    ],
)
def test_titles(text, title):
    assert text_title(text, "fallback") == title


@pytest.mark.parametrize(
    "page", ["<", "<p", "<!--", "<![CDATA[", "</body><title>", "&#xD800;", "<svg>"]
)
def test_broken_markup_never_raises(page):
    title, text = html_text(page, "fallback")
    assert title in ("fallback", page)
    assert isinstance(text, str)


def test_a_file_name_that_is_not_utf8_is_escaped(tmp_path):
    odd = os.path.join(os.fsencode(tmp_path), b"odd\xff.txt")
    with open(odd, "w") as file:
        file.write("The harbour office keeps a ledger of berths. " * 40)
    corpus = open_corpus(tmp_path)
    assert corpus.passage(0).source == "odd\\udcff.txt"


@pytest.mark.parametrize("section", ["<![x[ y ]]>", "<![1[>", "<![ >", "<![[>"])
def test_a_section_of_an_unknown_kind_is_a_comment(section):
    assert html_text(f"<p>one</p>{section}<p>two</p>", "f")[1] == "one\n\ntwo"


@pytest.mark.parametrize("kind", ["torn", "rubbish behind", "wrong sum"])
def test_of_a_torn_text_what_comes_before_the_tear_is_kept(kind, tmp_path):
    lines = [prose(number, 12) for number in range(4000)]
    packed = gzip.compress("\n".join(lines).encode(), mtime=0)
    raw = {
        "torn": packed[: len(packed) // 2],
        "rubbish behind": packed + b"garbage",
        "wrong sum": packed[:-8] + bytes(4) + packed[-4:],
    }[kind]
    (tmp_path / "t.txt.gz").write_bytes(raw)
    corpus = open_corpus(tmp_path)
    found = "\n".join(corpus.passage(number).text for number in range(len(corpus))).split()
    words = "\n".join(lines).split()
    assert found == words[: len(found)]
    assert len(found) > len(words) * (0.3 if kind == "torn" else 0.99)
    assert corpus.unusable == {"unreadable": 1}


@pytest.mark.parametrize("kind", ["torn", "rubbish behind", "wrong sum"])
def test_of_a_torn_page_what_comes_before_the_tear_is_kept(kind, tmp_path):
    lines = [prose(number, 12) for number in range(400)]
    page = f"<title>One \u00e9</title><p>{'</p> <p>'.join(lines)}</p>"
    packed = gzip.compress(page.encode(), mtime=0)
    raw = {
        "torn": packed[: len(packed) // 2],
        "rubbish behind": packed + b"garbage",
        "wrong sum": packed[:-8] + bytes(4) + packed[-4:],
    }[kind]
    (tmp_path / "t.html.gz").write_bytes(raw)
    corpus = open_corpus(tmp_path)
    found = "\n".join(corpus.passage(number).text for number in range(len(corpus))).split()
    words = "\n".join(lines).split()
    assert found == words[: len(found)]
    assert len(found) > len(words) * (0.3 if kind == "torn" else 0.98)
    assert corpus.passage(0).title == "One \u00e9"
    assert corpus.unusable == {"unreadable": 1}


def test_a_page_that_is_torn_at_once_is_unreadable(tmp_path):
    (tmp_path / "t.html.gz").write_bytes(gzip.compress(b"<p>one two</p>", mtime=0)[:10])
    (tmp_path / "good.txt").write_text("three four")
    corpus = open_corpus(tmp_path)
    assert (len(corpus), corpus.unusable) == (1, {"unreadable": 1})
