import datetime
import json
from collections import Counter

import numpy as np
import pytest

from envs.corpus.corpus_kit import dump, prose, write_rows
from spade_envs.corpus import CorpusSettings, Cursor, Filters, Source, open_corpus
from spade_envs.corpus.settings import read_settings
from spade_envs.errors import CorpusError, MissingExtra
from spade_envs.pipeline.plan import Plan
from spade_envs.types import Completion, Skill


def test_rows_with_orig_doc_or_a_key_of_ones_own(tmp_path):
    rows = [
        {"orig_doc": "published form", "id": 7},
        {"text": "ours", "orig_doc": "kept as metadata"},
        {"text": None, "orig_doc": "the other one"},
        {"content": "of another kind", "text": "title of sorts"},
    ]
    path = tmp_path / "r.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    found = [(row[0], row[-1]) for row in dump(open_corpus(path))]
    assert found == [
        ("published form", {"id": 7}),
        ("ours", {"orig_doc": "kept as metadata"}),
        ("the other one", {"text": None}),
        ("title of sorts", {"content": "of another kind"}),
    ]
    own = CorpusSettings(sources=(Source(path=str(path), text_key="content"),))
    corpus = open_corpus(own)
    assert [row[0] for row in dump(corpus)] == ["of another kind"]
    assert corpus.unusable == {"no text": 3}


def parquet(path, rows, group=3):
    arrow = pytest.importorskip("pyarrow")
    files = pytest.importorskip("pyarrow.parquet")
    files.write_table(arrow.Table.from_pylist(rows), path, row_group_size=group)
    return path


def test_parquet_rows_come_one_by_one_with_their_flat_columns(tmp_path):
    day = datetime.date(2020, 2, 29)
    rows = [
        {
            "text": prose(n, 20),
            "title": f"T{n}",
            "licence": "CC0-1.0",
            "n": n,
            "day": day,
            "b": b"\0",
        }
        for n in range(8)
    ]
    rows[4]["text"] = None
    path = parquet(tmp_path / "p.parquet", rows)
    corpus = open_corpus(tmp_path)
    kept = [n for n in range(8) if n != 4]
    assert dump(corpus) == [
        (
            rows[n]["text"],
            f"T{n}",
            tmp_path.name,
            f"p.parquet#{n + 1}",
            0,
            "CC0-1.0",
            {"n": n, "day": "2020-02-29"},
        )
        for n in kept
    ]
    assert corpus.unusable == {"no text": 1}
    assert len(open_corpus(path)) == 7


@pytest.mark.parametrize(("kind", "unit"), [("parquet", 1000), ("dataset", 1)])
def test_dates_that_python_has_not_and_unknown_zones_spoil_no_row(tmp_path, kind, unit):
    arrow = pytest.importorskip("pyarrow")
    texts = [prose(n, 30) for n in range(3)]
    seconds = arrow.array([10**14, 4 * 10**11, 0])
    table = arrow.table(
        {
            "text": texts,
            "when": seconds.cast(arrow.timestamp("s")),
            "zoned": seconds.cast(arrow.timestamp("s", tz="Mars/Base")),
            "day": arrow.array([10**8, 4 * 10**6, 0], arrow.int32()).cast(arrow.date32()),
        }
    )
    if kind == "parquet":
        pytest.importorskip("pyarrow.parquet").write_table(table, tmp_path / "p.parquet")
        corpus = open_corpus(tmp_path / "p.parquet")
    else:
        datasets = pytest.importorskip("datasets")
        datasets.Dataset(table).save_to_disk(str(tmp_path / "saved"))
        corpus = open_corpus(f"hf:{tmp_path}/saved")
    found = dump(corpus)
    part = ".000" if kind == "parquet" else ""  # Parquet counts in milliseconds
    assert [row[0] for row in found] == texts
    assert [row[6] for row in found] == [
        {"when": 10**14 * unit, "zoned": 10**14 * unit, "day": 10**8},
        {
            "when": f"14645-06-30T15:06:40{part}",
            "zoned": f"14645-06-30T15:06:40{part}Z",
            "day": "12921-08-18",
        },
        {
            "when": "1970-01-01T00:00:00",
            "zoned": f"1970-01-01T00:00:00{part}Z",
            "day": "1970-01-01",
        },
    ]
    assert corpus.unusable == {}


def test_a_column_of_categories_is_read_as_its_texts(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    files = pytest.importorskip("pyarrow.parquet")
    texts = [prose(0, 30), None, prose(1, 30)]
    columns = {"text": texts, "title": ["a", "b", "c"]}
    table = arrow.table({n: arrow.array(v).dictionary_encode() for n, v in columns.items()})
    files.write_table(table, tmp_path / "p.parquet")
    corpus = open_corpus(tmp_path / "p.parquet")
    assert [row[:2] for row in dump(corpus)] == [(texts[0], "a"), (texts[2], "c")]
    assert corpus.unusable == {"no text": 1}


def test_what_is_not_utf8_beside_the_text_is_mended_and_in_it_spoils_its_row_alone(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    files = pytest.importorskip("pyarrow.parquet")

    def broken(*values):
        ends = np.cumsum([0, *map(len, values)]).astype("int32").tobytes()
        buffers = [None, arrow.py_buffer(ends), arrow.py_buffer(b"".join(values))]
        return arrow.Array.from_buffers(arrow.string(), len(values), buffers)

    good = prose(0, 30)
    columns = {"text": broken(good.encode(), b"\xff"), "title": broken(b"a\xffb", b"c")}
    files.write_table(arrow.table(columns), tmp_path / "p.parquet")
    corpus = open_corpus(tmp_path / "p.parquet")
    assert [row[:2] for row in dump(corpus)] == [(good, "a\ufffdb")]
    assert corpus.unusable == {"not UTF-8": 1}


@pytest.mark.parametrize(
    ("raw", "words"), [(b"PAR1 torn", "cannot be read"), (b"", "cannot be read")]
)
def test_a_broken_parquet_file(tmp_path, raw, words):
    pytest.importorskip("pyarrow")
    (tmp_path / "p.parquet").write_bytes(raw)
    with pytest.raises(CorpusError, match=words):
        open_corpus(tmp_path / "p.parquet")


def test_parquet_without_text_or_without_its_library(tmp_path, monkeypatch):
    path = parquet(tmp_path / "p.parquet", [{"body": "x", "text": 5}])
    with pytest.raises(CorpusError, match="no column of text named `text` or `orig_doc`"):
        open_corpus(path)
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.lib", None)
    with pytest.raises(MissingExtra, match=r"\[data\]"):
        open_corpus(path)
    (tmp_path / "a.txt").write_text("plain")
    corpus = open_corpus(tmp_path)
    assert (len(corpus), corpus.unusable) == (1, {"needs an extra": 1})


def test_a_saved_dataset(tmp_path):
    datasets = pytest.importorskip("datasets")
    rows = [{"text": prose(n, 30), "title": f"T{n}", "n": n, "deep": {"x": 1}} for n in range(150)]
    datasets.DatasetDict(
        train=datasets.Dataset.from_list(rows), test=datasets.Dataset.from_list(rows[:5])
    ).save_to_disk(str(tmp_path / "saved"))
    corpus = open_corpus(f"hf:{tmp_path}/saved")
    text, title, name, source, offset, licence, metadata = dump(corpus)[149]
    assert (text, title, name) == (rows[149]["text"], "T149", "saved")
    assert (source, offset, licence, metadata) == ("saved#150", 0, "unknown", {"n": 149})
    assert (len(corpus), len(open_corpus(f"hf:{tmp_path}/saved#test"))) == (150, 5)
    with pytest.raises(CorpusError, match="train, test; add #SPLIT"):
        open_corpus(f"hf:{tmp_path}/saved#dev")


def test_a_dataset_that_is_not_there(tmp_path, monkeypatch):
    pytest.importorskip("datasets")
    with pytest.raises(CorpusError, match="cannot be loaded"):
        open_corpus(f"hf:{tmp_path}/absent")
    from spade_envs.corpus import hub

    hub._opened.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "datasets", None)
    with pytest.raises(MissingExtra, match=r"datasets is not installed.*\[data\]"):
        open_corpus(f"hf:{tmp_path}/absent")


MIX = """
words = 50
replacement = false

[filters]
min_words = 5

[[source]]
path = "notes"
weight = 3
licence = "CC-BY-4.0"

[[source]]
path = "rows.jsonl"

[[source]]
path = "pydoc"
weight = 0.5
"""


@pytest.fixture
def mix(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("# Tides\n\n" + prose(1, 300))
    write_rows(tmp_path / "rows.jsonl", [prose(2, 40), "too few"], license="MIT")
    (tmp_path / "mix.toml").write_text(MIX)
    return tmp_path / "mix.toml"


def test_a_file_of_sources(mix, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path.parent)
    corpus = open_corpus(mix, words=999)
    assert [part.name for part in corpus.parts] == ["notes", "rows.jsonl", "pydoc"]
    assert [part.licence for part in corpus.parts] == ["CC-BY-4.0", "unknown", "PSF-2.0"]
    assert corpus.sampling.shares == (6, 2, 1)
    assert corpus.name == "notes + rows.jsonl + pydoc"
    assert corpus.parts[1].left_out == {"too short": 1}
    cursor, drawn = Cursor(seed=4), Counter()
    for _ in range(90):
        passage, cursor = corpus.draw(cursor)
        drawn[passage.corpus, passage.licence] += 1
        assert len(passage.text.split()) <= 62
    assert drawn == {
        ("notes", "CC-BY-4.0"): 60,
        ("rows.jsonl", "MIT"): 20,
        ("pydoc", "PSF-2.0"): 10,
    }


def test_weights_and_replacement_are_part_of_the_fingerprint(tmp_path):
    a, b = (write_rows(tmp_path / f"{n}.jsonl", [prose(n)]) for n in (1, 2))

    def made(*weights, replacement=False):
        pairs = zip((a, b), weights, strict=False)
        sources = tuple(Source(path=str(path), weight=weight) for path, weight in pairs)
        return open_corpus(CorpusSettings(sources=sources, replacement=replacement))

    prints = [made(None, None), made(1, 1), made(2, 1), made(None, None, replacement=True)]
    prints += [made(1), made(1, replacement=True), open_corpus(tmp_path)]
    assert len({corpus.fingerprint for corpus in prints}) == 7
    assert made(7).fingerprint == open_corpus(a).fingerprint
    assert made(2, 1).fingerprint == made(0.5, 0.25).fingerprint


def test_an_empty_source_is_told_if_it_has_a_weight(tmp_path):
    full = write_rows(tmp_path / "full.jsonl", [prose(1)])
    empty = write_rows(tmp_path / "empty.jsonl", [" "])
    sources = (Source(path=str(full)), Source(path=str(empty)))
    assert len(open_corpus(CorpusSettings(sources=sources))) == 1
    weighted = (sources[0], Source(path=str(empty), weight=2))
    with pytest.raises(CorpusError, match=r"empty\.jsonl holds no text"):
        open_corpus(CorpusSettings(sources=weighted))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "at least one source"),
        ("words = [", "cannot be read"),
        ("[[source]]\npath = 5\n", "Expected `str`"),
        ("[[source]]\nweight = 1\n", "path"),
        ('[[source]]\npath = "x"\nwieght = 1\n', "unknown key 'source.wieght'"),
        ('[[source]]\npath = "x"\n[filters]\nlength = 1\n', "unknown key 'filters.length'"),
        ('[[sources]]\npath = "x"\n', "unknown key 'sources'"),
        ('words = 0\n[[source]]\npath = "x"\n', ">= 1"),
        ('[[source]]\npath = "x"\nweight = -1\n', "must be positive"),
        ('[[source]]\npath = "x"\nweight = nan\n', "must be positive"),
        ('[[source]]\npath = "x"\nweight = 1e-9\n[[source]]\npath = "y"\n', "rounder"),
        ('[[source]]\npath = "x"\n[filters]\nmin_words = -3\n', "min_words"),
        ('source = "x"\n', "Expected `array`"),
        ('filters = 3\n[[source]]\npath = "x"\n', "Expected `object`"),
    ],
)
def test_files_of_sources_that_cannot_be(tmp_path, text, words):
    path = tmp_path / "mix.toml"
    path.write_text(text)
    with pytest.raises(CorpusError, match=words) as caught:
        read_settings(path)
    assert "mix.toml" in str(caught.value)


def test_provenance_reaches_the_manifest_fields(mix):
    plan = Plan(seed=0, skills=tuple(Skill)[:2], corpus=open_corpus(mix), designer="scripted")
    found = [plan.provenance(n, 0, Completion(text="", model="m"))["passage"] for n in range(9)]
    drawn = [open_corpus(mix).draw(plan.cursor(n))[0] for n in range(9)]
    assert [one["sha256"] for one in found] == [passage.sha256 for passage in drawn]
    assert {(one["corpus"], one["licence"]) for one in found} == {
        ("notes", "CC-BY-4.0"),
        ("rows.jsonl", "MIT"),
        ("pydoc", "PSF-2.0"),
    }
    assert all(one["source"] and one["offset"] >= 0 and one["title"] for one in found)


def test_one_place_named_twice_and_filters_as_values(mix, tmp_path):
    path = str(tmp_path / "rows.jsonl")
    settings = CorpusSettings(
        sources=(Source(path=path, weight=1), Source(path=path, weight=1)),
        filters=Filters(min_words=5),
    )
    corpus = open_corpus(settings)
    assert (len(corpus), corpus.name) == (2, "rows.jsonl")
    assert {corpus.draw(Cursor(position=n))[0].text for n in range(2)} == {prose(2, 40)}
