"""The seeds and levels that gates look at, and the resets that training asks for."""

from itertools import pairwise

import pytest

from envs.gates import zoo
from envs.gates.subjects import judge, subject_of
from spade_envs.gates import check
from spade_envs.gates.conduct import clean_reset
from spade_envs.gates.subject import DRAWN_SEEDS
from spade_envs.types import EnvSource


def _spoilt(code, old, new):
    assert old in code
    return code.replace(old, new, 1)


@pytest.mark.parametrize("count", [8, 20, 100])
def test_seeds_differ_are_small_at_times_and_else_lie_all_over_those_that_are_drawn(count):
    subject = subject_of(zoo.SUMS, seeds=count)
    seeds = subject.seeds
    assert len(set(seeds) | set(subject.other_seeds(300))) == count + 300
    assert all(0 <= seed < DRAWN_SEEDS for seed in seeds)
    small = [seed for seed in seeds if seed < 200]
    assert len(small) == count // 4
    assert seeds[0] in small
    drawn = sorted(set(seeds) - set(small))
    edges = [0, *drawn, DRAWN_SEEDS]
    widest = max(after - before for before, after in pairwise(edges))
    assert widest < DRAWN_SEEDS * 2.7 / len(drawn)


def test_seeds_follow_from_the_source():
    one, other = (subject_of(code).seeds for code in (zoo.SUMS, f"{zoo.SUMS}\n# x\n"))
    assert one == subject_of(zoo.SUMS).seeds
    assert not set(one[1:4]) & set(other)


def test_what_pays_anybody_on_great_seeds_is_refused():
    step, reset = (
        "    def step(self, action):\n",
        "    def reset(self, *, seed=None, options=None):\n",
    )
    pays = "        if self.great:\n            return self.win('Right.')\n"
    code = _spoilt(zoo.SUMS, step, step + pays)
    code = _spoilt(code, reset, f"{reset}        self.great = (seed or 0) >> 29 > 0\n")
    report = check(EnvSource(code=code), seeds=8)
    assert not report.accepted
    assert {"L3.2", "L3.3"} <= {result.gate for result in report.failures}


def _levels(depth, count, draw):
    code = _spoilt(zoo.SUMS, "levels = ", f"levels = {count} or ")
    subject = subject_of(f"{code}\n# {draw}\n")
    subject.depth = depth
    try:
        return subject.edge_levels
    finally:
        subject.close()


def test_a_level_between_is_judged_too_and_nobody_knows_which():
    between = set()
    for draw in range(12):
        low, middle, high = _levels("standard", 5, draw)
        assert (low, high) == (0, 4)
        between.add(middle)
    assert len(between) >= 2
    assert between <= {1, 2, 3}
    assert _levels("standard", 1, 0) == [0]
    assert _levels("standard", 2, 0) == [0, 1]
    assert _levels("deep", 5, 0) == [0, 1, 2, 3, 4]
    assert _levels("quick", 5, 0) == [4]


_BEGIN = "        return self.begin("


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("        self.begun = 1\n", None),
        (
            "        if self._native:\n            return f'{self.state}', {}\n",
            "shows what the usual",
        ),
        (
            "        if self._native:\n            self.tasks = self.tasks[:1]\n",
            "the episode plays otherwise",
        ),
        ("        if self._native:\n            raise KeyError('x')\n", "shows what the usual"),
    ],
    ids=["nothing", "leak", "less to do", "breaks"],
)
def test_a_reset_for_a_chat_template_is_the_usual_episode(change, why):
    code = _spoilt(zoo.PARCELS, _BEGIN, f"{change}{_BEGIN}")
    finding = judge(code, clean_reset)
    assert finding.outcome == ("pass" if why is None else "fail")
    assert why is None or why in finding.message
