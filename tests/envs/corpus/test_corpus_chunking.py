from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from spade_envs.corpus.chunking import spans

TEXTS = st.lists(
    st.sampled_from(["a", "bb", "ccc.", " ", "  ", "\n", "\n\n", "\t", "é", "漢字"]), max_size=200
).map("".join)


@settings(deadline=None)
@given(text=TEXTS, words=st.integers(1, 20))
def test_passages_hold_every_word_once_and_in_order(text, words):
    found = spans(text, words)
    assert [word for start, end in found for word in text[start:end].split()] == text.split()
    assert all(a[1] <= b[0] for a, b in pairwise(found))
    assert all(len(text[s:e].split()) <= words + max(0, (words - 1) // 4) for s, e in found)
    assert all(text[s:e] == text[s:e].strip() for s, e in found)


def test_ends_at_a_blank_line_in_its_second_half():
    text = "one two three four five six\n\nseven eight nine ten eleven twelve"
    assert [text[s:e] for s, e in spans(text, 8)] == [
        "one two three four five six",
        "seven eight nine ten eleven twelve",
    ]


def test_short_tail_joins_the_passage_before():
    text = " ".join(str(i) for i in range(21))
    assert [len(text[s:e].split()) for s, e in spans(text, 10)] == [10, 11]


def test_text_without_white_space_is_cut_as_well():
    text = "x" * 100_000
    found = spans(text, 100)
    assert "".join(text[s:e] for s, e in found) == text
    assert max(e - s for s, e in found) <= 8192
