"""Scripted agents of known skill play honest environments and the three hacks of regret."""

from dataclasses import dataclass

import numpy as np
import pytest

from spade_train.advantages import designer_advantages
from spade_train.measure import measure, persistence
from spade_train.scores import ScoreSettings, designer_scores
from spade_train.types import EpisodeResult, HintInformation

SEEDS, REPEATS = 64, 4
REGRET = ScoreSettings(name="regret", guard=False)
FRONTIER = ScoreSettings(name="frontier")


@dataclass(frozen=True)
class Chain:
    """A task of `steps` steps, each of which may go wrong; its hint takes some of them away.

    With `hidden` > 1 a last symbol must be named that nothing but the hint shows.
    """

    steps: int
    removed: int = 3
    """Steps that the hint removes without naming the answer."""
    told: float = 0.0
    """Share of the answer that the hint states; it removes that share of the steps, too."""
    hidden: int = 1

    def won(self, skill, hinted, rng):
        """Play one episode with an agent that gets each step right with probability `skill`."""
        left = self.steps
        if hinted:
            left -= max(self.removed, round(self.told * self.steps))
        right = bool(np.all(rng.random(max(left, 0)) < skill))
        return right and (hinted or bool(rng.integers(self.hidden) == 0))

    @property
    def hint(self):
        """What a hint of this kind is measured to give away."""
        alone = self.told == 1.0 or (self.hidden > 1 and self.steps <= self.removed)
        overlap = max(self.told, 1 / (self.steps + 1) if self.hidden > 1 else 0.0)
        return HintInformation(words=20.0, overlap=overlap, reader_success=float(alone))

    @property
    def chance(self):
        """Success of the best constant answer; each step has 26 choices."""
        return 26.0**-self.steps / self.hidden


def played(chain, skill, rng, *, update=0, seeds=SEEDS, repeats=REPEATS):
    return [
        EpisodeResult(
            env="e", level=0, seed=seed, update=update, hinted=hinted,
            success=chain.won(skill, hinted, rng),
        )
        for hinted in (False, True)
        for seed in range(seeds)
        for _ in range(repeats)
    ]  # fmt: skip


def measured(chain, skill, rng, *, known=True, **counts):
    facts = {"chance": chain.chance, "hint": chain.hint} if known else {}
    return measure(played(chain, skill, rng, **counts), skill="s", **facts)


def value(measurement, settings):
    (score,), _ = designer_scores([measurement], settings)
    return score.value


SKILLS = (0.7, 0.8, 0.9, 0.95)


@pytest.fixture(scope="module")
def honest():
    """For each skill the scores and success rates of honest environments of every length."""
    rng = np.random.default_rng(0)
    table = {}
    for skill in SKILLS:
        for steps in range(1, 31):
            found = measured(Chain(steps), skill, rng)
            table[skill, steps] = (value(found, FRONTIER), found.success.rate)
    return table


@pytest.mark.parametrize("skill", SKILLS)
def test_the_maximum_lies_at_the_frontier(honest, skill):
    best = max(range(1, 31), key=lambda steps: honest[skill, steps][0])
    top, rate = honest[skill, best]
    assert 0.35 <= rate <= 0.75
    assert top > 0.6
    for steps in range(1, 31):
        score, success = honest[skill, steps]
        if success < 0.1 or success > 0.97:
            assert score < 0.6 * top


def test_the_frontier_moves_with_the_agent(honest):
    best = [max(range(1, 31), key=lambda steps: honest[skill, steps][0]) for skill in SKILLS]
    assert best == sorted(best)
    assert best[-1] >= 3 * best[0]


HACKS = {
    "whole answer, unsolvable": Chain(60, told=1.0),
    "fuller hints, same environment": Chain(6, told=1.0),
    "fuller hints, harder environment": Chain(14, told=0.8),
    "hidden symbol": Chain(1, removed=1, hidden=10),
    "hidden coin": Chain(1, removed=1, hidden=2),
}


@pytest.mark.parametrize("name", HACKS)
def test_hacks_of_regret_score_below_an_honest_environment(name):
    rng = np.random.default_rng(1)
    fair, hack = measured(Chain(7), 0.9, rng), measured(HACKS[name], 0.9, rng)
    # What the score is for: plain regret pays every hack more.
    assert value(hack, REGRET) > value(fair, REGRET) + 0.05
    assert value(fair, FRONTIER) > 0.6
    assert value(hack, FRONTIER) < 0.5 * value(fair, FRONTIER)


@pytest.mark.parametrize("name", ["whole answer, unsolvable", "fuller hints, harder environment"])
def test_feasibility_and_learnability_hold_even_if_nobody_measured_the_hint(name):
    rng = np.random.default_rng(2)
    fair = measured(Chain(7), 0.9, rng, known=False)
    hack = measured(HACKS[name], 0.9, rng, known=False)
    assert value(hack, FRONTIER) < 0.85 * value(fair, FRONTIER)


def test_fuller_hints_of_one_environment_never_pay_more_beyond_the_scale():
    rng = np.random.default_rng(3)
    scores = [
        value(measured(Chain(7, told=told), 0.9, rng), FRONTIER) for told in (0.4, 0.6, 0.8, 1.0)
    ]
    assert scores == sorted(scores, reverse=True)
    assert scores[-1] == 0.0
    assert scores[0] > 0.6


def test_a_mixture_of_trivial_and_hidden_instances_is_no_frontier():
    # Half the seeds are won at once, half depend on a number that only the hint shows.
    rng = np.random.default_rng(4)
    easy, hidden = (played(Chain(0, removed=0, hidden=hidden), 0.9, rng) for hidden in (1, 10**6))
    shifted = [EpisodeResult(**{**as_dict(each), "seed": each.seed + SEEDS}) for each in hidden]
    found = measure([*easy, *shifted], skill="s")
    assert found.success.rate == pytest.approx(0.5)
    assert value(found, REGRET) == pytest.approx(0.5)
    assert value(found, FRONTIER) == 0.0


def as_dict(result):
    return {name: getattr(result, name) for name in result.__dataclass_fields__}


def test_regret_that_training_does_not_move_loses_its_pay():
    # A chain that ends in a hidden coin looks like a frontier at first; it stays when skill grows.
    rng = np.random.default_rng(5)
    fair, coin = Chain(7, removed=3), Chain(3, removed=0, hidden=2)
    kept = {}
    for chain in (fair, coin):
        young, old = measured(chain, 0.9, rng), measured(chain, 0.995, rng)
        kept[chain] = persistence(young.regret, old.regret)
    assert kept[fair] < 0.3
    assert kept[coin] > 0.9
    again = {
        chain: measure(
            played(chain, 0.9, rng), skill="s",
            chance=chain.chance, hint=chain.hint, persistence=kept[chain],
        )
        for chain in (fair, coin)
    }  # fmt: skip
    assert value(again[coin], REGRET) > value(again[fair], REGRET)
    assert value(again[coin], FRONTIER) < 0.75 * value(again[fair], FRONTIER)


def learned(settings, skill, *, updates=50, designs=24):
    """Train a softmax designer over environments by its score; return what it then writes."""
    rng = np.random.default_rng(6)
    menu = [Chain(steps) for steps in (2, 7, 14, 40)]
    menu += [Chain(40, told=1.0), Chain(7, told=1.0), Chain(1, removed=1, hidden=10)]
    logits = np.zeros(len(menu))
    for _ in range(updates):
        shares = np.exp(logits - logits.max())
        shares /= shares.sum()
        picks = rng.choice(len(menu), size=designs, p=shares)
        found = [measured(menu[pick], skill, rng, seeds=8, repeats=2) for pick in picks]
        scores, _ = designer_scores(found, settings)
        gains = designer_advantages([score.value for score in scores], ["s"] * designs).values
        for pick, gain in zip(picks, gains, strict=True):
            logits += 0.25 * gain * ((np.arange(len(menu)) == pick) - shares)
    return menu[int(np.argmax(logits))]


def test_a_designer_that_learns_by_regret_hacks_and_by_frontier_does_not():
    greedy = learned(REGRET, 0.9)
    assert greedy.told == 1.0 or greedy.hidden > 1
    assert learned(FRONTIER, 0.9) == Chain(7)
    assert learned(FRONTIER, 0.7) == Chain(2)
