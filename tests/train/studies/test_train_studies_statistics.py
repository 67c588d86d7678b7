"""Intervals over seeds against values from printed tables and by hand."""

import pytest

from spade_train.errors import DataError
from spade_train.studies.statistics import interval, paired, t_quantile


@pytest.mark.parametrize(
    ("confidence", "freedom", "expected"),
    [
        (0.95, 1, 12.7062),
        (0.95, 2, 4.3027),
        (0.95, 3, 3.1824),
        (0.95, 4, 2.7764),
        (0.95, 9, 2.2622),
        (0.95, 30, 2.0423),
        (0.95, 120, 1.9799),
        (0.99, 4, 4.6041),
        (0.90, 5, 2.0150),
        (0.50, 1, 1.0000),
    ],
)
def test_quantiles_are_those_of_the_tables(confidence, freedom, expected):
    assert t_quantile(confidence, freedom) == pytest.approx(expected, abs=5e-5)


def test_an_interval_by_hand():
    # mean 3, squares 4 1 0 1 4: variance 10 / 4; 2.7764 x sqrt(2.5) / sqrt(5) = 1.9632
    found = interval([1, 2, 3, 4, 5])
    assert (found.mean, found.seeds) == (3, 5)
    assert found.deviation == pytest.approx(2.5**0.5)
    assert found.low == pytest.approx(3 - 1.96324, abs=1e-4)
    assert found.high == pytest.approx(3 + 1.96324, abs=1e-4)
    assert found.above_zero
    assert not found.below_zero


def test_pairing_takes_out_what_seeds_share():
    one = {0: 0.50, 1: 0.70, 2: 0.90}
    other = {0: 0.44, 1: 0.65, 2: 0.83, 3: 0.1}
    found = paired(one, other)
    # differences .06 .05 .07: mean .06, deviation .01; 4.3027 x .01 / sqrt(3) = .02484
    assert found.seeds == 3
    assert found.mean == pytest.approx(0.06)
    assert found.low == pytest.approx(0.06 - 0.02484, abs=1e-5)
    assert found.above_zero
    wide = interval([0.5, 0.7, 0.9]).low
    assert wide < 0.7 - 0.4  # unpaired, the same seeds tell nothing


def test_the_ends_of_what_can_be_said():
    assert interval([]) is None
    one = interval([0.3])
    assert (one.mean, one.low, one.high, one.above_zero, one.below_zero) == (
        0.3,
        None,
        None,
        False,
        False,
    )
    same = interval([0.2, 0.2])
    assert (same.low, same.high) == (0.2, 0.2)
    assert paired({0: 1.0}, {1: 1.0}) is None
    with pytest.raises(DataError, match="finite"):
        interval([1.0, float("nan")])
    with pytest.raises(DataError, match="no such quantile"):
        t_quantile(1.0, 3)
