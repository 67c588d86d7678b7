import gzip
import os
import subprocess
import sys

import numpy as np
import pytest

from envs.corpus.corpus_kit import dump, prose, write_rows
from spade_envs.corpus import CorpusSettings, Cursor, Filters, Source, index, open_corpus, sources
from spade_envs.corpus import corpus as corpus_module
from spade_envs.errors import CorpusError


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Keep every index on disk, in a folder of the test."""
    monkeypatch.setattr(corpus_module, "CACHED_BYTES", 1)
    monkeypatch.setenv("SPADE_CORPUS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def rows(tmp_path):
    return write_rows(tmp_path / "r.jsonl", [prose(n, 30 + n % 900) for n in range(120)])


def no_build(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("built again")

    monkeypatch.setattr(corpus_module, "build", refuse)


def later(path):
    """Set a file's time of change to another one, whatever the clock's grain."""
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 10**9))


def test_an_index_on_disk_gives_what_memory_gives_and_is_used_again(rows, cache, monkeypatch):
    on_disk = open_corpus(rows)
    with monkeypatch.context() as patch:
        patch.setattr(corpus_module, "CACHED_BYTES", 1 << 40)
        in_memory = open_corpus(rows)
    assert (on_disk.index.folder.parent, in_memory.index.folder) == (cache, None)
    assert (on_disk.fingerprint, dump(on_disk)) == (in_memory.fingerprint, dump(in_memory))
    no_build(monkeypatch)
    again = open_corpus(os.path.relpath(rows))
    assert (again.fingerprint, dump(again)) == (on_disk.fingerprint, dump(on_disk))


def test_other_words_and_filters_have_an_index_of_their_own(rows, cache):
    few, many = open_corpus(rows, words=20), open_corpus(rows, words=200)
    short = CorpusSettings(sources=(Source(path=str(rows)),), filters=Filters(max_words=100))
    assert len(few) > len(many) > len(open_corpus(short)) > 0
    assert len([path for path in cache.iterdir() if path.is_dir()]) == 3


@pytest.mark.parametrize("damage", ["appended", "touched", "replaced"])
def test_a_changed_file_is_indexed_anew(rows, cache, damage):
    before = open_corpus(rows)
    if damage == "appended":
        with rows.open("a") as file:
            file.write('{"text": "one more passage"}\n')
    elif damage == "replaced":
        write_rows(rows, ["nothing but this"])
    later(rows)
    after = open_corpus(rows)
    counts = {"appended": len(before) + 1, "touched": len(before), "replaced": 1}
    assert len(after) == counts[damage]
    assert (after.fingerprint == before.fingerprint) == (damage == "touched")


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("index.json", b""),
        ("index.json", b"{}"),
        ("index.json", b"[" * 100_000),
        ("index.json", b"\xff\x00"),
        ("passages.bin", b"torn"),
        ("documents.bin", b""),
    ],
)
def test_a_torn_index_is_built_anew(rows, cache, name, raw):
    before = open_corpus(rows)
    whole = dump(before)
    (before.index.folder / name).write_bytes(raw)
    after = open_corpus(rows)
    assert dump(after) == whole
    assert (after.index.folder / name).read_bytes() != raw


def test_an_index_that_lies_is_found_out_when_drawn(rows, cache):
    corpus = open_corpus(rows)
    path = corpus.index.folder / "passages.bin"
    table = np.memmap(path, dtype=index.PASSAGE, mode="r+")
    table["start"][0] += 1
    table["document"][1] = 2**31
    table.flush()
    corpus = open_corpus(rows)
    for number, words in ((0, "changed since it was opened"), (1, "is broken; delete it")):
        with pytest.raises(CorpusError, match=words):
            corpus.passage(number)
    assert corpus.passage(2).text
    os.truncate(path, 2 * index.PASSAGE.itemsize)
    with pytest.raises(CorpusError, match="is broken; delete it"):
        corpus.passage(2)
    with pytest.raises(CorpusError, match="there is no passage"):
        corpus.passage(len(corpus))


def test_what_a_killed_build_left_is_cleared_away(rows, cache, monkeypatch):
    real = corpus_module.build

    def killed(*args, folder, **kwargs):
        (folder / "passages.bin").write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(corpus_module, "build", killed)
    with pytest.raises(KeyboardInterrupt):
        open_corpus(rows)
    assert [path.suffix for path in cache.iterdir()] == [".lock"]
    key = next(cache.iterdir()).stem
    (cache / f"{key}.abc.part").mkdir()
    (cache / f"{key}.abc.part" / "documents.bin").write_bytes(b"x")
    monkeypatch.setattr(corpus_module, "build", real)
    assert len(open_corpus(rows)) > 100
    assert sorted(path.name for path in cache.iterdir()) == [key, f"{key}.lock"]


def test_two_processes_build_once(rows, cache):
    code = (
        "import sys, time, logging\n"
        "from spade_envs.corpus import corpus, open_corpus\n"
        "corpus.CACHED_BYTES, real = 1, corpus.build\n"
        "def slow(*args, **kwargs):\n"
        "    print('built', flush=True)\n"
        "    time.sleep(1)\n"
        "    return real(*args, **kwargs)\n"
        "corpus.build = slow\n"
        f"print(open_corpus({str(rows)!r}).fingerprint)\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    outputs = [process.communicate(timeout=60)[0].split() for process in running]
    assert sum(output.count("built") for output in outputs) == 1
    assert len({output[-1] for output in outputs}) == 1


def test_a_killed_builder_does_not_lock_others_out(rows, cache):
    code = (
        "import time\n"
        "from spade_envs.corpus import corpus, open_corpus\n"
        "corpus.CACHED_BYTES = 1\n"
        "def stuck(*args, **kwargs):\n"
        "    print('built', flush=True)\n"
        "    time.sleep(60)\n"
        "corpus.build = stuck\n"
        f"open_corpus({str(rows)!r})\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"built\n"
        process.kill()
    assert len(open_corpus(rows)) > 100
    assert [path.suffix for path in sorted(cache.iterdir())] == ["", ".lock"]


def test_a_cache_that_cannot_be_written_is_told_with_the_mend(rows, cache):
    cache.write_text("a file")
    with pytest.raises(CorpusError, match="SPADE_CORPUS_CACHE"):
        open_corpus(rows)


def test_a_large_compressed_file_is_unpacked_beside_the_index(tmp_path, cache, monkeypatch):
    monkeypatch.setattr(sources, "_LEAST_COPY_BYTES", 20_000)
    texts = [prose(n, 50) for n in range(100)]
    plain = write_rows(tmp_path / "r.jsonl", texts)
    with gzip.open(tmp_path / "big.jsonl.gz", "wb") as file:
        file.write(plain.read_bytes())
    with gzip.open(tmp_path / "small.txt.gz", "wb") as file:
        file.write(b"few words")
    plain.unlink()
    corpus = open_corpus(tmp_path)
    assert [p[0] for p in dump(corpus)] == [*texts, "few words"]
    copies = [path.name for path in corpus.index.folder.iterdir() if "copy" in path.name]
    assert copies == ["copy-0"]
    (corpus.index.folder / "copy-0").unlink()
    assert dump(open_corpus(tmp_path)) == dump(corpus)


def test_a_broken_compressed_file_gives_what_was_whole(tmp_path, cache):
    texts = [prose(n, 200) for n in range(300)]
    packed = gzip.compress(write_rows(tmp_path / "r.jsonl", texts).read_bytes(), mtime=0)
    (tmp_path / "r.jsonl").unlink()
    (tmp_path / "r.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    corpus = open_corpus(tmp_path)
    assert 100 < len(corpus) < 299
    assert [p[0] for p in dump(corpus)] == texts[: len(corpus)]
    assert corpus.unusable == {"not JSON": 1, "unreadable": 1}
    assert "end-of-stream" in corpus.skipped[-1]


def test_draws_go_on_in_another_process_from_a_stored_cursor(rows, cache):
    corpus, cursor = open_corpus(rows), Cursor(seed=9)
    for _ in range(5):
        _, cursor = corpus.draw(cursor)
    passage, _ = corpus.draw(cursor)
    code = (
        "from spade_envs.corpus import Cursor, corpus, open_corpus\n"
        "corpus.CACHED_BYTES = 1\n"
        f"k = Cursor.from_json({cursor.as_json()!r})\n"
        f"print(open_corpus({str(rows)!r}).draw(k)[0].sha256)\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == passage.sha256


def test_progress_rises_to_the_whole(tmp_path, cache):
    write_rows(tmp_path / "a.jsonl", [prose(n, 4000) for n in range(60)])
    (tmp_path / "b.txt").write_text(prose(1, 300_000))
    told = []
    open_corpus(tmp_path, progress=lambda done, total: told.append((done, total)))
    size = sum(path.stat().st_size for path in tmp_path.glob("*.*"))
    assert told == sorted(told)
    assert told[-1] == (size, size)
    assert len(told) > 2
