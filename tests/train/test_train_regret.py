import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spade_train.errors import DataError
from spade_train.regret import Regret, paired_regret, unpaired_regret

episodes = st.lists(
    st.tuples(
        st.booleans(),  # success
        st.booleans(),  # hinted
        st.integers(0, 5),  # instance
        st.booleans(),  # valid
    ),
    max_size=40,
)


def regret_of(rows):
    success, hinted, instances, valid = ([row[at] for row in rows] for at in range(4))
    return paired_regret(success, hinted, instances, valid=valid)


def test_by_hand():
    # Instances: 0 -> 1, 1 -> 1, 0 -> 0, 0 -> 1; gains 1, 0, 0, 1.
    found = paired_regret([0, 1, 0, 0, 1, 1, 0, 1], [0] * 4 + [1] * 4, [1, 2, 3, 4] * 2)
    assert found == Regret(
        mean=0.5, standard_error=pytest.approx(np.std([1, 0, 0, 1], ddof=1) / 2),
        instances=4, success=0.25, hinted_success=0.75,
    )  # fmt: skip


def test_repeats_count_once_per_instance():
    # Instance 1: 1/4 -> 1; instance 2: 1 -> 1 from a single episode each.
    found = paired_regret([1, 0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 0, 1, 1], [1, 1, 1, 1, 2, 1, 2])
    assert found.mean == pytest.approx((0.75 + 0.0) / 2)
    assert (found.instances, found.success, found.hinted_success) == (2, 0.625, 1.0)


def test_an_instance_without_its_other_arm_is_dropped():
    found = paired_regret([0, 1, 1], [0, 1, 1], ["a", "a", "b"])
    assert (found.mean, found.instances, found.dropped, found.standard_error) == (1.0, 1, 1, None)
    assert paired_regret([1, 1], [False, True], ["a", "b"]) is None
    assert paired_regret([], [], []) is None


@settings(deadline=None)
@given(rows=episodes, junk=st.sampled_from([float("nan"), 1e9, -3.0, 0.0]), order=st.randoms())
def test_faults_and_order_change_nothing(rows, junk, order):
    kept = [row for row in rows if row[3]]
    expected = regret_of(kept)
    spoilt = [row if row[3] else (junk, *row[1:]) for row in rows]
    order.shuffle(spoilt)
    found = regret_of(spoilt)
    assert (found is None) == (expected is None)
    if found is not None:
        assert found.mean == pytest.approx(expected.mean)
        assert found.instances == expected.instances
        assert found.standard_error == pytest.approx(expected.standard_error)


@settings(deadline=None)
@given(rows=episodes)
def test_range_and_the_sign_of_the_hint(rows):
    found = regret_of(rows)
    if found is None:
        return
    assert -1.0 <= found.mean <= 1.0
    assert found.mean == pytest.approx(found.hinted_success - found.success)
    assert abs(found.shrunk()) <= abs(found.mean)
    swapped = regret_of([(row[0], not row[1], *row[2:]) for row in rows])
    assert swapped.mean == pytest.approx(-found.mean)


def test_pairing_takes_out_what_instances_differ_by():
    rng = np.random.default_rng(0)
    hard = rng.random(4000) < 0.5  # a hard instance is won with the hint only one time in ten more
    rate = np.where(hard, 0.05, 0.85)
    plain, helped = rng.random(4000) < rate, rng.random(4000) < rate + 0.1
    paired = paired_regret(
        np.concatenate([plain, helped]), [False] * 4000 + [True] * 4000, [*range(4000)] * 2
    )
    unpaired = unpaired_regret(plain, helped)
    assert paired.mean == pytest.approx(unpaired.mean)
    assert paired.mean == pytest.approx(0.1, abs=3 * paired.standard_error)
    assert paired.standard_error < 0.75 * unpaired.standard_error


def test_the_standard_error_tells_the_spread():
    rng = np.random.default_rng(1)
    found = [
        paired_regret(
            np.concatenate([rng.random(64) < 0.3, rng.random(64) < 0.6]),
            [0] * 64 + [1] * 64,
            [*range(64)] * 2,
        )
        for _ in range(400)
    ]
    means = np.array([each.mean for each in found])
    told = np.mean([each.standard_error for each in found])
    assert means.std() == pytest.approx(told, rel=0.12)
    assert means.mean() == pytest.approx(0.3, abs=0.015)


def test_shrinking():
    plain = Regret(mean=0.2, standard_error=0.1, instances=9, success=0.5, hinted_success=0.7)
    assert plain.shrunk() == pytest.approx(0.2 * 0.75)
    noise = Regret(mean=0.1, standard_error=0.2, instances=9, success=0.5, hinted_success=0.6)
    assert noise.shrunk() == 0.0
    unknown = Regret(mean=1.0, standard_error=None, instances=1, success=0.0, hinted_success=1.0)
    assert unknown.shrunk() == 0.0


def test_unpaired():
    found = unpaired_regret([0, 1], [1, 1, 1, 0])
    assert found.mean == pytest.approx(0.25)
    assert found.standard_error == pytest.approx((0.5**2 + 0.25**2) ** 0.5)
    assert unpaired_regret([], [1]) is None
    assert unpaired_regret([0], [1, 1]).standard_error is None


@pytest.mark.parametrize(
    ("successes", "hinted", "instances", "valid"),
    [
        ([0, 1], [0], [1, 1], None),
        ([0, 1], [0, 1], [1], None),
        ([0, 1], [0, 1], [1, 1], [True]),
        ([0, 2], [0, 1], [1, 1], None),
        ([0, float("nan")], [0, 1], [1, 1], None),
        ([[0, 1]], [0, 1], [1, 1], None),
    ],
)
def test_bad_data(successes, hinted, instances, valid):
    with pytest.raises(DataError):
        paired_regret(successes, hinted, instances, valid=valid)
