import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.corpus.corpus_kit import dump, prose, write_rows
from spade_envs.corpus import CorpusSettings, Filters, Source, open_corpus
from spade_envs.corpus import corpus as corpus_module
from spade_envs.corpus.sieve import is_boilerplate
from spade_envs.errors import CorpusError, MissingExtra

ENGLISH = (
    "The harbour office keeps a ledger of every ship that enters between the two lights, and the "
    "pilot who brought it in signs beside the hour of its arrival."
)
GERMAN = (
    "Das Hafenamt führt ein Buch über jedes Schiff, das zwischen den beiden Feuern einläuft, und "
    "der Lotse, der es hereingebracht hat, unterschreibt neben der Stunde der Ankunft."
)
FRENCH = (
    "Le bureau du port tient un registre de chaque navire qui entre entre les deux feux, et le "
    "pilote qui l'a conduit signe à côté de l'heure de son arrivée."
)


def opened(path, words=400, **filters):
    sources = (Source(path=str(path)),)
    return open_corpus(CorpusSettings(sources=sources, words=words, filters=Filters(**filters)))


def texts(corpus):
    return [row[0] for row in dump(corpus)]


def test_no_filter_changes_nothing(tmp_path):
    path = write_rows(tmp_path / "r.jsonl", [prose(n) for n in range(5)])
    assert opened(path).fingerprint == open_corpus(path).fingerprint


def test_languages(tmp_path):
    pytest.importorskip("py3langid")
    path = write_rows(tmp_path / "r.jsonl", [ENGLISH, GERMAN, FRENCH, ENGLISH.upper()])
    assert texts(opened(path, languages=("en",))) == [ENGLISH, ENGLISH.upper()]
    two = opened(path, languages=("de", "fr"))
    assert (texts(two), two.left_out) == ([GERMAN, FRENCH], {"language": 2})
    with pytest.raises(CorpusError, match="'english' is no language"):
        opened(path, languages=("english",))


def test_lengths(tmp_path):
    path = write_rows(tmp_path / "r.jsonl", [prose(n, 10 * n) for n in range(1, 6)])
    corpus = opened(path, min_words=20, max_words=40)
    assert [len(text.split()) for text in texts(corpus)] == [20, 30, 40]
    assert corpus.left_out == {"too long": 1, "too short": 1}


MENU = "Home\nProducts\nPricing\nBlog\nLog in\nSign up\nSkip to content\nSearch"
FOOTER = "© 2024 Example Ltd. All rights reserved. Privacy policy. Terms of use. Cookie settings."
LINKS = "\n".join(f"see https://example.org/a/very/long/path/{n}" for n in range(8))
RULES = "| --- | --- | --- |\n" * 20 + "1.2.3 4.5.6 7.8.9"
REPEATED = "This product is currently out of stock, come back later\n" * 6
TABLE = "| gate | finds |\n|---|---|\n| leaks | an answer in the text |\n| floors | empty wins |"
CODE = "def area(width, height):\n    if width < 0:\n        raise ValueError\n    return width"
LAW = ENGLISH + " All rights reserved by the harbour master do not extend to the pilots."


@pytest.mark.parametrize("text", [MENU, FOOTER, LINKS, RULES, REPEATED, "12 34 -- 56", "\u00a0"])
def test_boilerplate(text):
    assert is_boilerplate(text)


@pytest.mark.parametrize("text", [ENGLISH, GERMAN, TABLE, CODE, LAW, "漢字と仮名の文章です。", "a"])
def test_no_boilerplate(text):
    assert not is_boilerplate(text)


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=300))
def test_any_text_is_judged(text):
    assert is_boilerplate(text) in (True, False)


def test_boilerplate_is_counted(tmp_path):
    corpus = opened(write_rows(tmp_path / "r.jsonl", [MENU, ENGLISH, FOOTER]), boilerplate=True)
    assert (texts(corpus), corpus.left_out) == ([ENGLISH], {"boilerplate": 2})


@pytest.mark.parametrize("cached", [False, True])
def test_near_duplicates_keep_the_first(tmp_path, monkeypatch, cached):
    pytest.importorskip("rensa")
    if cached:
        monkeypatch.setattr(corpus_module, "CACHED_BYTES", 1)
        monkeypatch.setenv("SPADE_CORPUS_CACHE", str(tmp_path / "cache"))
    first = [prose(n, 200) for n in range(300)]
    words = first[7].split()
    one_word, half = [*words[:99], "other", *words[100:]], [*words[:140], *prose(999, 60).split()]
    copies = [first[3], first[3].upper() + " !", " ".join(one_word), " ".join(half), "ab", "ab"]
    corpus = opened(write_rows(tmp_path / "r.jsonl", [*first, *copies]), near_duplicates=0.8)
    assert texts(corpus) == [*first, " ".join(half), "ab"]
    assert corpus.left_out == {"near-duplicate": 4}
    assert corpus.parts[0].documents == 306
    loose = opened(tmp_path / "r.jsonl", near_duplicates=0.45)
    assert texts(loose) == [*first, "ab"]
    assert len({corpus.fingerprint, loose.fingerprint}) == 2


def test_a_repetition_in_another_source_is_found(tmp_path):
    pytest.importorskip("rensa")
    one = write_rows(tmp_path / "one.jsonl", [prose(1, 50), prose(2, 50)])
    two = write_rows(tmp_path / "two.jsonl", [prose(2, 50), prose(3, 50)])
    corpus = open_corpus(
        CorpusSettings(
            sources=(Source(path=str(one)), Source(path=str(two))),
            filters=Filters(near_duplicates=0.8),
        )
    )
    assert [row[3] for row in dump(corpus)] == ["one.jsonl#1", "one.jsonl#2", "two.jsonl#2"]
    assert [part.left_out for part in corpus.parts] == [{}, {"near-duplicate": 1}]


def test_filters_that_leave_nothing_say_so(tmp_path):
    path = write_rows(tmp_path / "r.jsonl", ["short", "texts"])
    with pytest.raises(CorpusError, match=r"leave nothing of .*r\.jsonl: 2 too short"):
        opened(path, min_words=5)


@pytest.mark.parametrize(
    ("filters", "words"),
    [
        ({"min_words": -1}, "min_words"),
        ({"max_words": 0}, "max_words"),
        ({"min_words": 9, "max_words": 8}, "max_words"),
        ({"near_duplicates": 0.39}, "near_duplicates"),
        ({"near_duplicates": float("nan")}, "near_duplicates"),
        ({"near_duplicates": 1.1}, "near_duplicates"),
    ],
)
def test_filters_that_cannot_be(filters, words):
    with pytest.raises(CorpusError, match=words):
        Filters(**filters)


@pytest.mark.parametrize(
    ("package", "filters"),
    [("py3langid", {"languages": ("en",)}), ("rensa", {"near_duplicates": 0.8})],
)
def test_a_missing_library_is_named_with_its_extra(tmp_path, monkeypatch, package, filters):
    from spade_envs.corpus import sieve

    sieve._identifier.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, package, None)
    monkeypatch.setitem(__import__("sys").modules, f"{package}.langid", None)
    path = write_rows(tmp_path / "r.jsonl", [json.dumps("x")])
    with pytest.raises(MissingExtra, match=rf"{package} is not installed.*\[data\]"):
        opened(path, **filters)
