import json
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spade_envs.corpus import Cursor, open_corpus
from spade_envs.errors import CorpusError


@settings(deadline=None)
@given(seed=st.integers(-(2**40), 2**40), count=st.integers(1, 60), epoch=st.integers(0, 5))
def test_an_epoch_visits_every_passage_once(seed, count, epoch):
    drawn = [
        Cursor(seed=seed, position=epoch * count + place).passage_index(count)
        for place in range(count)
    ]
    assert sorted(drawn) == list(range(count))


@settings(deadline=None)
@given(
    cursor=st.builds(
        Cursor, seed=st.integers(), position=st.integers(min_value=0), corpus=st.text(max_size=9)
    )
)
def test_json_round_trip(cursor):
    assert Cursor.from_json(json.loads(json.dumps(cursor.as_json()))) == cursor


@pytest.mark.parametrize(
    "data", [None, {}, {"seed": 1}, {"seed": "1", "position": 0, "corpus": ""}]
)
def test_not_a_cursor(data):
    with pytest.raises(CorpusError, match="not a cursor"):
        Cursor.from_json(data)


def test_negative_position():
    with pytest.raises(CorpusError, match=">= 0"):
        Cursor(position=-1)


def test_epochs_and_seeds_have_orders_of_their_own():
    orders = {
        tuple(Cursor(seed=seed, position=40 * epoch + i).passage_index(40) for i in range(40))
        for seed in range(3)
        for epoch in range(3)
    }
    assert len(orders) == 9


def test_a_stored_cursor_continues_the_same_sequence():
    corpus = open_corpus("pydoc")
    cursor, first = Cursor(seed=5), []
    for _ in range(6):
        passage, cursor = corpus.draw(cursor)
        first.append(passage.sha256)
    cursor, again = Cursor(seed=5), []
    for _ in range(6):
        passage, cursor = corpus.draw(cursor)
        cursor = Cursor.from_json(json.loads(json.dumps(cursor.as_json())))
        again.append(passage.sha256)
    assert again == first
    assert len(set(first)) == 6


def test_order_does_not_depend_on_the_hash_seed():
    code = (
        "from spade_envs.corpus import Cursor, open_corpus\n"
        "c, k = open_corpus('pydoc'), Cursor(seed=3)\n"
        "for _ in range(5):\n"
        "    p, k = c.draw(k)\n"
        "    print(p.source, p.offset, p.sha256, k.corpus)\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert len(outputs.pop().splitlines()) == 5


def test_cursor_of_another_corpus(tmp_path):
    (tmp_path / "a.txt").write_text("alpha beta")
    corpus = open_corpus(tmp_path)
    with pytest.raises(CorpusError, match="another corpus"):
        corpus.draw(Cursor(corpus="0123456789abcdef"))
