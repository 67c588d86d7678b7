from collections import Counter
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from spade_envs.corpus import order
from spade_envs.corpus.order import Sampling, shuffled


@settings(deadline=None, max_examples=60)
@given(key=st.text(max_size=8), count=st.integers(1, 700), epoch=st.integers(0, 4))
def test_the_order_of_a_large_corpus_visits_every_place_once(key, count, epoch):
    found = [order._permuted(f"{key}/{epoch}", count, place) for place in range(count)]
    assert sorted(found) == list(range(count))


def test_a_large_corpus_costs_no_list():
    count = 40_000_000_000
    places = [shuffled("5", 3, count, place) for place in (0, 1, count - 1)]
    assert places == [5893105769, 24375674996, 21995990293]


def test_neighbours_in_a_large_order_are_far_apart():
    found = [order._permuted("k", 1 << 20, place) for place in range(2000)]
    halves = sum(value < 1 << 19 for value in found)
    steps = sum(abs(a - b) > 1 << 17 for a, b in pairwise(found))
    assert 900 < halves < 1100
    assert steps > 1400


@settings(deadline=None, max_examples=60)
@given(
    counts=st.lists(st.integers(1, 9), min_size=2, max_size=4),
    shares=st.lists(st.integers(1, 6), min_size=4, max_size=4),
    seed=st.integers(),
    start=st.integers(0, 10**6),
)
def test_every_round_holds_exactly_the_shares(counts, shares, seed, start):
    shares = shares[: len(counts)]
    sampling = Sampling(tuple(counts), tuple(shares))
    total = sum(shares)
    first = start * total
    drawn = [sampling.index(seed, first + step) for step in range(total)]
    of = [source for source, count in enumerate(counts) for _ in range(count)]
    assert Counter(of[index] for index in drawn) == Counter(dict(enumerate(shares)))


@settings(deadline=None, max_examples=60)
@given(
    counts=st.lists(st.integers(1, 9), min_size=2, max_size=3),
    shares=st.lists(st.integers(1, 4), min_size=3, max_size=3),
    seed=st.integers(),
)
def test_a_source_gives_all_its_passages_before_any_again(counts, shares, seed):
    sampling = Sampling(tuple(counts), tuple(shares[: len(counts)]))
    drawn = [sampling.index(seed, position) for position in range(120)]
    first = 0
    for count in counts:
        own = [index for index in drawn if first <= index < first + count]
        for epoch in range(len(own) // count):
            part = own[epoch * count : (epoch + 1) * count]
            assert sorted(part) == list(range(first, first + count))
        first += count


def test_with_replacement_each_draw_is_uniform_and_its_own():
    sampling = Sampling((6, 4), replacement=True)
    drawn = [sampling.index(1, position) for position in range(2000)]
    assert len(set(drawn[:10])) < 10
    assert all(140 < count < 260 for count in Counter(drawn).values())
    assert drawn[777] == Sampling((6, 4), replacement=True).index(1, 777)
    weighted = Sampling((6, 4), (1, 3), replacement=True)
    some = Counter(weighted.index(1, position) >= 6 for position in range(400))
    assert some == {True: 300, False: 100}
