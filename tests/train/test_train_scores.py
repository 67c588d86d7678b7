import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spade_train.errors import DataError
from spade_train.frontier import FrontierSettings, frontier_terms
from spade_train.measure import Measurement, measure, persistence
from spade_train.potential import Potential
from spade_train.regret import Regret
from spade_train.rewards import SuccessRate
from spade_train.scores import ScoreSettings, designer_scores
from spade_train.types import EpisodeResult, HintInformation, as_json, from_json


def arm(wins, *, hinted=False, level=0, update=0, repeats=1, fault=None):
    """Episodes of one arm: seeds in order, each `repeats` times."""
    return [
        EpisodeResult(
            env="e", level=level, seed=at // repeats, update=update, hinted=hinted,
            success=bool(win), fault=fault,
        )
        for at, win in enumerate(wins)
    ]  # fmt: skip


def score(measurement, **changes):
    (found,), _ = designer_scores([measurement], ScoreSettings(**changes))
    return found


def test_measure_by_hand():
    results = [
        *arm([1, 0, 0, 0]),
        *arm([1, 1, 1, 0], hinted=True),
        *arm([1, 1, 0, 1], update=1),  # later: no hints, so no part of the regret
        *arm([0, 0], level=3),
        *arm([0], level=3, fault="crash"),
    ]
    found = measure(results, skill="s")
    assert found.success == SuccessRate(successes=4, episodes=10, faults=1)
    assert found.fault_share == pytest.approx(1 / 15)
    assert found.regret.mean == pytest.approx(0.5)
    assert (found.regret.instances, found.regret.dropped) == (4, 2)
    assert [(each.level, each.success.episodes) for each in found.levels] == [(0, 8), (3, 2)]
    assert found.levels[1].regret is None
    assert found.levels[0].learnability is None


@settings(deadline=None)
@given(order=st.randoms())
def test_the_order_of_episodes_does_not_matter(order):
    results = [*arm([1, 0, 1, 0], repeats=2), *arm([1, 1, 1, 0], repeats=2, hinted=True)]
    shuffled = list(results)
    order.shuffle(shuffled)
    assert measure(shuffled, skill="s") == measure(results, skill="s")


def test_measurements_of_nothing_or_of_two_are_refused():
    with pytest.raises(DataError, match="one environment"):
        measure([], skill="s")
    with pytest.raises(DataError, match="one environment"):
        measure([*arm([1]), replace(arm([1])[0], env="f")], skill="s")
    with pytest.raises(DataError, match="chance"):
        measure(arm([1]), skill="s", chance=1.0)


def regret(mean, standard_error=0.05):
    return Regret(
        mean=mean, standard_error=standard_error, instances=9,
        success=0.2, hinted_success=0.2 + mean,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (regret(0.5), regret(0.5), 1.0), (regret(0.5), regret(0.1), 0.2),
        (regret(0.5), regret(-0.1), 0.0), (regret(0.2), regret(0.4), 1.0),
        (regret(0.1), regret(0.1), 0.0), (regret(0.5, None), regret(0.5), 0.0),
    ],
)  # fmt: skip
def test_persistence(before, after, expected):
    assert persistence(before, after) == pytest.approx(expected)


HALF = [*arm([1, 0] * 8, repeats=2), *arm([1, 1] * 8, repeats=2, hinted=True)]


def test_refused_broken_and_unplayed_programs():
    broken = measure([*HALF, *arm([1] * 4, level=1, fault="timeout")], skill="s")
    found, _ = designer_scores([None, broken], ScoreSettings())
    assert [(each.value, each.reason) for each in found] == [(-0.5, "refused"), (-0.5, "faults")]
    found, _ = designer_scores([None, broken], ScoreSettings(invalid_score=None, fault_score=None))
    assert [each.value for each in found] == [None, None]
    forgiven = score(broken, max_fault_share=0.2)
    assert forgiven == score(measure(HALF, skill="s"))
    hints_only = measure(arm([1, 1], hinted=True), skill="s")
    assert (score(hints_only).value, score(hints_only).reason) == (None, "not played")


def test_faults_are_never_paid():
    # Every fault would have been a success; the score is that of the episodes that ended.
    honest = arm([1] + [0] * 19)
    for name in ("regret", "blend", "solve_rate", "learning_potential", "frontier"):
        with_faults = measure([*honest, *arm([1, 1], fault="exception")], skill="s")
        assert score(with_faults, name=name) == score(measure(honest, skill="s"), name=name)


def test_a_missing_regret_is_said():
    found = score(measure(arm([1, 0]), skill="s"))
    assert (found.value, found.reason) == (0.6, "no regret")
    assert score(measure(arm([1, 0]), skill="s"), name="solve_rate").reason == ""


@pytest.mark.parametrize("name", ["regret", "blend"])
def test_the_guard_admits_regret_of_feasible_environments_with_honest_hints(name):
    hopeless = [*arm([0] * 40), *arm([1] * 40, hinted=True)]
    plain = {"regret": 1.0, "blend": 0.4}[name]
    assert score(measure(hopeless, skill="s"), name=name, guard=False).value == plain
    found = score(measure(hopeless, skill="s"), name=name)
    assert (found.value, found.reason) == (0.0, "not won without the hint")
    easier = [*hopeless, *arm([1, 0], level=1)]
    assert score(measure(easier, skill="s"), name=name).value == pytest.approx(plain)
    told = score(measure(easier, skill="s", hint=hint(withheld=False)), name=name)
    assert (told.value, told.reason) == (0.0, "the hint tells the answer")
    lucky = score(measure(easier, skill="s", chance=0.6), name=name)
    assert lucky.reason == "not won without the hint"


def test_shrinking_is_a_choice():
    noisy = measure([*arm([1, 0, 0, 1]), *arm([0, 1, 1, 1], hinted=True)], skill="s")
    assert noisy.regret.mean == 0.25
    assert score(noisy).value == pytest.approx(1.0)
    assert score(noisy, shrink=True).value == pytest.approx(0.6)


def test_learning_potential_reads_before_it_moves():
    measurements = [
        measure(arm([1] * 3 + [0]), skill="s"),
        measure(arm([1] + [0] * 3), skill="s"),
        measure(arm([1, 1]), skill="new"),
    ]
    past = Potential().updated({"s": 0.2})
    found, moved = designer_scores(measurements, ScoreSettings(name="learning_potential"), past)
    assert [each.value for each in found] == pytest.approx([0.55, 0.05, 0.0])
    assert moved.means["s"].slow == pytest.approx(0.15 * 0.2 + 0.85 * 0.5)
    found, again = designer_scores(
        measurements, ScoreSettings(name="learning_potential", published_order=True), past
    )
    # Distance from 0.15 * old + 0.85 * the batch's own mean: an outlier's pay.
    assert [each.value for each in found] == pytest.approx([0.295, 0.205, 0.0])
    assert again == moved
    assert from_json(Potential, as_json(moved)) == moved


@settings(deadline=None)
@given(rates=st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_moving_averages_stay_within_what_was_seen(rates):
    potential = Potential()
    for rate in rates:
        potential = potential.updated({"s": rate})
    assert min(rates) - 1e-9 <= potential.means["s"].slow <= max(rates) + 1e-9
    assert abs(potential.signed("s")) <= 0.5 * (max(rates) - min(rates)) + 1e-9


def test_bad_settings():
    with pytest.raises(DataError):
        Potential(gamma_slow=0.99)
    with pytest.raises(DataError):
        Potential().updated({"s": 1.5})
    with pytest.raises(DataError, match="unknown designer score"):
        score(measure(HALF, skill="s"), name="novelty")
    with pytest.raises(DataError):
        FrontierSettings(free_overlap=1.0)
    with pytest.raises(DataError, match="no episode"):
        frontier_terms(measure(arm([1], hinted=True), skill="s"))


def frontier(results, **facts):
    return frontier_terms(measure(results, skill="s", **facts))


def hint(**values):
    return HintInformation(**({"words": 20.0, "overlap": 0.0} | values))


def test_frontier_terms_by_hand():
    terms = frontier(HALF)  # won half the time, always with the hint
    assert terms == {
        "score": 1.0, "learnability": 1.0, "gain": 1.0,
        "feasible": 1.0, "brevity": 1.0, "discretion": 1.0, "training": 1.0,
    }  # fmt: skip
    assert frontier(HALF, chance=0.5)["score"] == 0.0
    # Above chance: (.5 - .2) / .8 = .375; 4 * .375 * .625 * 16 / 15 = 1, so take less than that.
    assert frontier(HALF, chance=0.4)["learnability"] == pytest.approx(4 / 6 * 5 / 6 * 16 / 15)
    assert frontier(HALF, hint=hint(overlap=0.625))["score"] == pytest.approx(0.5)
    assert frontier(HALF, hint=hint(overlap=1.0))["score"] == 0.0
    assert frontier(HALF, hint=hint(words=400.0))["score"] == pytest.approx(0.25)
    assert frontier(HALF, hint=hint(withheld=False))["score"] == 0.0
    # The reader wins .8 of what the agent loses by itself: .5 - .8 * .5 = .1 is left of the gain.
    assert frontier(HALF, hint=hint(reader_success=0.8))["gain"] == pytest.approx(0.1 / 0.15)
    assert frontier(HALF, hint=hint(reader_success=1.0))["score"] == 0.0
    assert frontier(HALF, persistence=1.0)["score"] == pytest.approx(0.5)
    half = FrontierSettings(regret_share=0.5)
    only_plain = measure([each for each in HALF if not each.hinted], skill="s")
    assert frontier_terms(only_plain, half)["score"] == pytest.approx(0.5)


def test_one_feasible_level_is_enough_and_hopeless_ones_pay_nothing():
    hopeless = [*arm([0] * 16, level=1), *arm([1] * 16, level=1, hinted=True)]
    assert frontier(hopeless)["feasible"] == 0.0
    both = frontier([*HALF, *hopeless])
    assert both["feasible"] == 1.0
    assert both["score"] == pytest.approx(0.5)
    assert both["learnability"] == pytest.approx(0.5)


def test_the_reader_takes_of_what_the_agent_loses_and_levels_weigh_by_episodes():
    quarter = [*arm([1, 0, 0, 0] * 4), *arm([1] * 5 + [0] * 11, hinted=True)]
    # 5/16 - 4/16 is the regret; a reader that wins 1 in 24 explains 1/24 * 3/4 of it.
    terms = frontier(quarter, hint=hint(reader_success=1 / 24))
    assert terms["gain"] == pytest.approx((1 / 16 - 1 / 32) / 0.15)
    sure = [*arm([1] * 48, level=1), *arm([1] * 48, level=1, hinted=True)]
    assert frontier([*HALF, *sure])["learnability"] == pytest.approx(16 / 64)


def test_one_episode_is_no_evidence():
    assert frontier([*arm([1]), *arm([1], hinted=True)])["score"] == 0.0


@settings(deadline=None, max_examples=60)
@given(
    wins=st.lists(st.booleans(), min_size=1, max_size=24),
    helped=st.lists(st.booleans(), min_size=1, max_size=24),
    chance=st.floats(0, 0.9),
    words=st.floats(0, 500),
    shares=st.tuples(*[st.floats(0, 1)] * 3),
)
def test_the_score_is_a_share_and_more_information_never_pays(wins, helped, chance, words, shares):
    results = [*arm(wins, repeats=2), *arm(helped, repeats=2, hinted=True)]
    overlap, read, stays = shares
    facts = {"chance": chance, "persistence": stays}
    told = hint(words=words, overlap=overlap, reader_success=read)
    full = frontier(results, hint=told, **facts)
    assert all(0.0 <= value <= 1.0 for value in full.values())
    for less in (
        {"overlap": overlap / 2}, {"words": words / 2}, {"reader_success": read / 2}
    ):  # fmt: skip
        assert frontier(results, hint=replace(told, **less), **facts)["score"] >= full["score"]
    assert frontier(results, hint=told, chance=chance)["score"] >= full["score"]


def test_scores_need_no_torch():
    code = (
        "import sys, spade_train.scores, spade_train.advantages, spade_train.curriculum,"
        "spade_train.delayed, spade_train.pool, spade_train.hint_information;"
        "heavy = ('torch', 'transformers', 'trl', 'pydantic');"
        "print([name for name in heavy if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_a_measurement_can_be_kept():
    found = measure(HALF, skill="s", hint=hint(), chance=0.1)
    assert from_json(Measurement, as_json(found)) == found
