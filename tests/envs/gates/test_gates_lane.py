"""Lanes play from copies only where copies play like fresh objects, and in turn on one object."""

import pytest

from envs.gates.subjects import subject_of
from envs.gates.zoo import PARCELS, SUMS, WALK
from spade_envs.gates.lane import Job
from spade_envs.gates.policies import script

_STEP = "    def step(self, action):\n"
SLOW = SUMS.replace(
    "        super().reset(seed=seed, options=options)\n",
    "        super().reset(seed=seed, options=options)\n        sum(range(300_000))\n",
)
SHARED = SLOW.replace(
    "        sum(range(300_000))\n",
    "        said = []\n        self.say = lambda word: said.append(word) or len(said)\n",
).replace(
    _STEP,
    f"{_STEP}        if self.say(action) > 1:\n            return self.lose('Enough.')\n",
)
"""Its copies count their words in the list of the original."""


@pytest.fixture
def subject(request):
    found = subject_of(request.param)
    found.allow_copies()
    yield found
    found.close()


@pytest.mark.parametrize("subject", [SUMS, WALK, PARCELS], indirect=True)
def test_sound_environments_are_copied(subject):
    assert subject.plain.may_copy


@pytest.mark.parametrize("subject", [SLOW], indirect=True)
def test_of_episodes_that_begin_alike_all_but_one_are_copies(subject):
    seed = subject.seeds[0]
    jobs = [Job(0, seed, script(("no", str(number)))) for number in range(6)]
    begun = subject.plain.begin(jobs)
    assert [live.copied for live in begun] == [False] + [True] * 5
    subject.plain.play(begun)
    alone = subject.plain.run([jobs[3]])[0]
    assert begun[3].trace().key() == alone.key()
    kept = subject.plain.begin(jobs[:2], fresh=False)
    assert [live.copied for live in kept] == [True, True]


@pytest.mark.parametrize("subject", [SLOW], indirect=True)
def test_rows_are_played_in_turn_on_one_instance(subject):
    seeds = subject.seeds[:3]
    rows = [[Job(0, seed, script(("no",))) for seed in seeds[: 1 + number]] for number in range(3)]
    played = subject.plain.in_turn(*rows)
    assert [[trace.seed for trace in traces] for traces in played] == [
        [job.seed for job in row] for row in rows
    ]
    assert played[2][0].key() == played[0][0].key()


def test_copies_that_play_otherwise_are_not_used():
    subject = subject_of(SHARED)
    try:
        subject.allow_copies()
        assert not subject.plain.may_copy
    finally:
        subject.close()
