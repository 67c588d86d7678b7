"""Files that are broken, huge or malicious: one clear error or a count, and nothing lost."""

import gzip
import json
import os
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.corpus.corpus_kit import dump, prose, write_rows
from spade_envs.corpus import corpus as corpus_module
from spade_envs.corpus import decode, open_corpus, readers
from spade_envs.corpus.chunking import spans
from spade_envs.corpus.markup import html_text
from spade_envs.errors import CorpusError, SpadeError


def row(text, **more):
    return json.dumps({"text": text, **more}).encode()


def test_every_line_is_a_passage_or_counted(tmp_path):
    lines = [
        row("good one"),
        b"torn {",
        b"\x00\x01\x02",
        b'{"text": "\xff\xfe"}',
        b'{"text": "\\ud800 alone"}',
        b'{"text": ["list"]}',
        b'"a string"',
        b"null",
        b"[" * 5000,
        b'{"text": ' + b"9" * 5000 + b"}",
        b'{"text": "  "}',
        b'{"text": "NUL \\u0000 inside"}',
        row("good two", title="half \ud800", licence="\ud800"),
        b'{"text": "last, without a line end"}',
    ]
    (tmp_path / "r.jsonl").write_bytes(b"\n".join(lines))
    corpus = open_corpus(tmp_path)
    assert [(found[0], found[1]) for found in dump(corpus)] == [
        ("good one", "r.jsonl#1"),
        ("NUL \0 inside", "r.jsonl#12"),
        ("good two", "half ?"),
        ("last, without a line end", "r.jsonl#14"),
    ]
    assert corpus.unusable == {
        "no text": 3,
        "not JSON": 3,
        "binary": 1,
        "empty": 1,
        "half a character": 1,
        "not UTF-8": 1,
    }
    assert len(corpus) + sum(corpus.unusable.values()) == len(lines)


@settings(deadline=None, max_examples=150)
@given(lines=st.lists(st.binary(max_size=40).map(lambda raw: raw.replace(b"\n", b"")), max_size=12))
def test_any_bytes_are_passages_or_counted(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("any") / "r.jsonl"
    path.write_bytes(b"\n".join([row("one"), *lines]))
    corpus = open_corpus(path)
    blank = sum(not line.strip(b"\xef\xbb\xbf \t\r\n") for line in lines)
    assert corpus.parts[0].documents + sum(corpus.unusable.values()) == 1 + len(lines) - blank


def test_a_huge_line_costs_itself_alone_and_little_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(readers, "WHOLE_BYTES", 1 << 16)
    with (tmp_path / "r.jsonl").open("wb") as file:
        file.write(row("before") + b"\n")
        for _ in range(300):
            file.write(b"x" * (1 << 16))
        file.write(b"\n" + row("after") + b"\n" + b"y" * (1 << 17))
    tracemalloc.start()
    corpus = open_corpus(tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [(found[0], found[3]) for found in dump(corpus)] == [
        ("before", "r.jsonl#1"),
        ("after", "r.jsonl#3"),
    ]
    assert corpus.unusable == {"too large": 2}
    assert peak < 5 << 20


def test_a_row_with_a_huge_text_is_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(decode, "WHOLE_BYTES", 1000)
    path = write_rows(tmp_path / "r.jsonl", ["x" * 1001, "x" * 1000])
    assert open_corpus(path).unusable == {"too large": 1}


@pytest.mark.parametrize("cached", [False, True])
def test_a_bomb_is_refused_and_the_rest_is_read(tmp_path, monkeypatch, cached):
    monkeypatch.setattr(readers, "LEAST_UNPACKED_BYTES", 1 << 20)
    if cached:
        monkeypatch.setattr(corpus_module, "CACHED_BYTES", 1)
        monkeypatch.setenv("SPADE_CORPUS_CACHE", str(tmp_path / "cache"))
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "bomb.txt.gz").write_bytes(gzip.compress(b"\0" * (16 << 20), mtime=0))
    (docs / "bomb.jsonl.gz").write_bytes(gzip.compress(b" " * (16 << 20), mtime=0))
    (docs / "good.txt.gz").write_bytes(gzip.compress(prose(1, 900).encode(), mtime=0))
    corpus = open_corpus(docs)
    assert {found[3] for found in dump(corpus)} == {"good.txt.gz"}
    assert corpus.unusable["too large"] >= 1
    assert any("unpacks to more than 200 times its size" in text for text in corpus.skipped)
    assert sum(path.stat().st_size for path in tmp_path.rglob("copy-*")) < 5 << 20


def test_only_the_first_hundred_problems_are_told_one_by_one(tmp_path):
    (tmp_path / "r.jsonl").write_bytes(b"torn\n" * 5000 + row("good"))
    corpus = open_corpus(tmp_path)
    assert (len(corpus.skipped), corpus.unusable) == (100, {"not JSON": 5000})


def test_pipes_devices_and_links_out_of_a_folder_are_left_alone(tmp_path):
    docs = tmp_path / "docs"
    docs.mkdir()
    (tmp_path / "secret.jsonl").write_bytes(row("secret"))
    os.mkfifo(docs / "pipe.txt")
    (docs / "device.txt").symlink_to("/dev/zero")
    (docs / "out.jsonl").symlink_to(tmp_path / "secret.jsonl")
    (docs / "up").symlink_to(tmp_path)
    (docs / "gone.txt").symlink_to(docs / "nothing")
    (docs / "a.txt").write_text("inside")
    assert [found[0] for found in dump(open_corpus(docs))] == ["inside"]


@pytest.mark.parametrize("change", ["rewritten", "gone", "shortened", "replaced by a folder"])
def test_a_file_that_changes_is_one_clear_error(tmp_path, change):
    path = write_rows(tmp_path / "r.jsonl", [prose(n) for n in range(3)])
    corpus = open_corpus(path)
    if change == "rewritten":
        path.write_text(path.read_text().replace("word1", "word2"))
    elif change == "shortened":
        os.truncate(path, 100)
    else:
        path.unlink()
        if change == "replaced by a folder":
            path.mkdir()
    with pytest.raises(CorpusError, match=r"r\.jsonl#\d has changed since it was opened"):
        dump(corpus)


def test_a_file_that_only_grows_goes_on(tmp_path):
    path = write_rows(tmp_path / "r.jsonl", [prose(n) for n in range(3)])
    corpus = open_corpus(path)
    before = dump(corpus)
    with path.open("ab") as file:
        file.write(row("one more"))
    assert dump(corpus) == before
    assert len(open_corpus(path)) == 4


def test_an_empty_file_in_a_folder_is_counted(tmp_path):
    (tmp_path / "a.txt").write_text("text")
    for name in ("b.txt", "c.md", "d.html"):
        (tmp_path / name).write_bytes(b"")
    assert open_corpus(tmp_path).unusable == {"empty": 3}


def test_files_that_are_not_what_their_name_says(tmp_path):
    (tmp_path / "good.txt").write_text("good")
    (tmp_path / "a.parquet").write_bytes(b"no parquet")
    (tmp_path / "b.jsonl.gz").write_bytes(b"no gzip")
    (tmp_path / "c.txt").write_bytes(b"\x7fELF\0\0")
    (tmp_path / "d.jsonl").write_bytes(b"PK\x03\x04\0\0")
    (tmp_path / "e.html").write_bytes(b"\xff\xd8\xff")
    corpus = open_corpus(tmp_path)
    assert [found[0] for found in dump(corpus)] == ["good"]
    assert sum(corpus.unusable.values()) == 5
    assert {text.split(" ", 1)[0] for text in corpus.skipped} == {
        "a.parquet",
        "b.jsonl.gz",
        "c.txt",
        "d.jsonl#1",
        "e.html",
    }


@pytest.mark.parametrize("spec", ["", ".", "hf:", "no/such", "\0", "x" * 5000, "~nobody/x"])
def test_specs_that_name_nothing_are_our_errors(tmp_path, monkeypatch, spec):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SpadeError):
        open_corpus(spec)


def test_a_long_text_is_cut_with_memory_for_one_passage():
    text = "word and " * 40_000
    tracemalloc.start()
    found = spans(text, 400)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found) == 200
    assert peak < 1 << 20


@pytest.mark.parametrize("piece", ["<a ", "<!--", "</a", "<?", "<!x", "<![if", "<a b='"])
def test_tags_that_never_end_cost_no_more_than_their_length(piece):
    title, text = html_text(f"<h1>Head</h1><p>Body</p>{piece * 200_000}", "page.html")
    assert title == "page.html"
    assert text.startswith("Head\n\nBody")
    assert html_text(f"<p>{'<a ' * 5}x", "y")[1] == "<a <a <a <a <a x"  # few are read as ever
