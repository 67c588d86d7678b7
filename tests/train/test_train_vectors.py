"""Hand-computed numbers of the published recipe; every formula of it has a row here."""

import math

import numpy as np
import pytest

from spade_train.advantages import (
    agent_advantages,
    designer_advantages,
    importance_weights,
    role_gain,
)
from spade_train.curriculum import SlidingWindow, active_skills, epoch_of, is_design_update
from spade_train.measure import Measurement
from spade_train.pool import PoolCursor
from spade_train.potential import Potential
from spade_train.regret import Regret
from spade_train.rewards import (
    SuccessRate,
    plateau,
    published_outcome,
    regret_term,
    variance_bonus,
)
from spade_train.scores import ScoreSettings, designer_scores


@pytest.mark.parametrize(
    ("rate", "expected"),
    [
        (0, 0), (0.15, 0), (0.20, 0.2), (0.275, 0.5), (0.40, 1), (0.5, 1), (0.60, 1),
        (0.725, 0.5), (0.80, 0.2), (0.85, 0), (1, 0),
    ],
)  # fmt: skip
def test_plateau(rate, expected):
    assert plateau(rate) == pytest.approx(expected)


@pytest.mark.parametrize(("rate", "expected"), [(0, 0), (0.1, 0.5), (0.3, 1), (0.5, 0.5), (0.6, 0)])
def test_plateau_of_the_later_phase(rate, expected):
    assert plateau(rate, low=0.2, high=0.4, ramp=0.2) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("regret", "expected"), [(-0.2, 0), (0, 0), (0.075, 0.5), (0.15, 1), (0.6, 1)]
)
def test_regret_term(regret, expected):
    assert regret_term(regret) == pytest.approx(expected)


def measured(success, regret, *, skill="s", fault_share=0.0):
    """An environment with a success rate in thousandths and a given regret."""
    known = None
    if regret is not None:
        known = Regret(
            mean=regret, standard_error=0.1, instances=8,
            success=success, hinted_success=success + regret,
        )  # fmt: skip
    return Measurement(
        env=f"{skill}/{success}/{regret}", skill=skill, levels=(), regret=known,
        success=SuccessRate(successes=round(1000 * success), episodes=1000),
        fault_share=fault_share,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "success", "regret", "expected"),
    [
        ("blend", 0.5, 0.0, 0.6),
        ("blend", 0.5, 0.15, 1.0),
        ("blend", 0.125, 0.4 - 0.125, 0.4),
        ("blend", 0.875, 1 - 0.875, 1 / 3),
        ("blend", 0.5, None, 0.6),
        ("blend", 0.1, 0.9, 0.4),
        ("regret", 0.25, 0.5, 0.5),
        ("regret", 0.5, -0.2, 0.0),
        ("regret", 0.5, None, 0.0),
        ("solve_rate", 0.2, 0.9, 0.2),
        ("solve_rate", 0.5, None, 1.0),
    ],
)
def test_designer_scores(name, success, regret, expected):
    (score,), _ = designer_scores([measured(success, regret)], ScoreSettings(name=name))
    assert score.value == pytest.approx(expected)


@pytest.mark.parametrize(
    ("agents", "designers", "interval", "expected"),
    [(192, 24, 4, 32), (192, 24, 8, 50), (256, 16, 32, 50), (192, 0, 4, 1)],
)
def test_role_gain(agents, designers, interval, expected):
    assert role_gain(agents, designers, interval) == expected
    if designers and expected == 50:
        assert role_gain(agents, designers, interval, cap=1e9) in (64, 512)


def test_designer_advantages():
    found = designer_advantages([0.6, 0.6, 0.4, 1 / 3], ["s"] * 4, gain=32.0)
    assert found.values == pytest.approx([3.733, 3.733, -2.667, -4.8], abs=5e-4)


def test_agent_advantages():
    found = agent_advantages([1, 0, 0, 0, 0, 0, 0, 0], ["e"] * 8)
    assert found.values == pytest.approx([2.6458] + [-0.3780] * 7, abs=5e-5)
    assert agent_advantages([1, 1, 1], ["e"] * 3).values.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("rewards", "terminated", "expected"),
    [
        ([0.2, 0.5], False, 0), ([0.2, 0.5], True, 0.5), ([3.0], True, 1),
        ([-4.0], True, -1), ([], True, 0),
    ],
)  # fmt: skip
def test_published_outcome(rewards, terminated, expected):
    assert published_outcome(rewards, terminated=terminated) == expected


@pytest.mark.parametrize(("variance", "expected"), [(0.25, 1), (0, math.exp(-3.125))])
def test_variance_bonus(variance, expected):
    assert variance_bonus(variance) == pytest.approx(expected)
    assert math.exp(-3.125) == pytest.approx(0.0439, abs=5e-5)


@pytest.mark.parametrize(("delta", "expected"), [(0, 1), (1, 2), (-1, 0.3679), (0.5, 1.6487)])
def test_importance_weights(delta, expected):
    assert importance_weights([delta - 3.0], [-3.0])[0] == pytest.approx(expected, abs=5e-5)


def test_learning_potential():
    first = Potential().updated({"s": 0.4})
    assert (first.means["s"].fast, first.means["s"].slow) == (0.4, 0.4)
    second = first.updated({"s": 0.6})
    assert second.means["s"].fast == pytest.approx(0.596)
    assert second.means["s"].slow == pytest.approx(0.57)
    assert second.signed("s") == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("wins", "high", "low"), [(116, 8, 5), (115, 7, 4), (128, 8, 5), (0, 7, 4)]
)
def test_sliding_window(wins, high, low):
    before = SlidingWindow(low=4, high=7)
    after = before.record(7, episodes=128, successes=wins)
    assert (after.low, after.high, after.episodes, after.successes) == (low, high, 0, 0)


@pytest.mark.parametrize(
    ("update", "expected"),
    [(0, (0, 1, 2)), (3, (0, 1, 2)), (4, (3, 4, 5)), (7, (3, 4, 5)), (8, (0, 1, 2))],
)
def test_rotation_of_three_of_six(update, expected):
    assert active_skills(range(6), 3, epoch_of(update, 4)) == expected
    assert is_design_update(update, 4) is (update % 4 == 0)


def test_rotation_of_four_of_six():
    assert active_skills(range(6), 4, 1) == (4, 5, 0, 1)
    assert active_skills(range(6), 0, 1) == active_skills(range(6), 9, 5) == tuple(range(6))


def test_static_pool():
    cursor = PoolCursor(size=7872, seed=42)
    seen = []
    for _ in range(328):
        drawn, cursor = cursor.draw(24)
        seen += drawn
    assert sorted(seen) == list(range(7872))
    assert cursor.passes == 1.0
    _, cursor = cursor.draw(24 * 72)
    assert cursor.passes == pytest.approx(1.2195, abs=5e-5)


def test_every_score_stays_in_its_range():
    grid = [
        measured(success, regret)
        for success in np.linspace(0, 1, 11)
        for regret in (None, -0.3, 0.0, 0.07, 1.0)
    ]
    for name in ("regret", "blend", "solve_rate", "learning_potential"):
        scores, _ = designer_scores(grid, ScoreSettings(name=name))
        assert all(0.0 <= score.value <= 1.0 for score in scores)
