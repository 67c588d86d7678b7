import numpy as np
import pytest

from spade_train.batch import Solo
from spade_train.config import resolve
from spade_train.config.sources import Memory
from spade_train.delayed import DelayedDesigns, DueDesign
from spade_train.errors import StateError
from spade_train.loop.grade import Scored, graded
from spade_train.loop.memory import examples, facts, parents, remember, warnings
from spade_train.loop.outcomes import Outcome
from spade_train.loop.spread import mine
from spade_train.loop.state import LoopState, Remembered, from_bytes
from spade_train.loop.transcripts import transcripts
from spade_train.rollouts.jobs import EpisodeJob
from spade_train.scores import Score
from spade_train.tokens import Dialogue
from spade_train.tokens.dialogue import Segment
from spade_train.types import DesignSample, EpisodeResult
from train.loop_fakes import FakeRollouts


def _seen(name, success, regret=0.0, skill="optimization"):
    return Remembered(
        digest=name, skill=skill, success=success, regret=regret, title=name, summary="asks"
    )


def test_the_oldest_are_forgotten_and_repeats_renewed():
    memory = remember((), [_seen("a", 0.5), _seen("b", 0.5), _seen("c", 0.5)], 3)
    memory = remember(memory, [_seen("a", 0.7), _seen("d", 0.1)], 3)
    assert [(each.digest, each.success) for each in memory] == [("c", 0.5), ("a", 0.7), ("d", 0.1)]


def test_examples_are_drawn_from_those_with_the_greatest_regret_in_the_band():
    memory = [_seen(f"e{n}", n / 10, regret=n / 10) for n in range(11)]
    memory.append(_seen("other", 0.5, regret=9.0, skill="spatial-reasoning"))
    settings = Memory(low=0.2, high=0.8, top=3, examples=2)
    shown = {
        digest
        for seed in range(20)
        for digest in examples(memory, settings, "optimization", np.random.default_rng(seed))
    }
    assert shown == {"e6", "e7", "e8"}


def test_warnings_say_what_was_wrong():
    memory = [_seen("hard", 0.05), _seen("good", 0.5), _seen("easy", 1.0)]
    lines = warnings(memory, Memory(avoid=5), "optimization", np.random.default_rng(0))
    assert sorted(lines) == [
        "easy: asks (too easy: won in 100% of the plays)",
        "hard: asks (too hard: won in 5% of the plays)",
    ]


@pytest.mark.parametrize(
    ("mode", "chosen"),
    [
        ("harden", {"easy", "eased"}),
        ("ease", {"hard", "harder"}),
        ("mutate", {"eased", "good", "harder"}),
        ("cross", {"eased", "good", "harder"}),
    ],
)
def test_parents_suit_the_mode(mode, chosen):
    memory = [_seen("hard", 0.0), _seen("harder", 0.3), _seen("good", 0.5, regret=0.25)]
    memory += [_seen("eased", 0.7), _seen("easy", 1.0)]
    memory.append(_seen("other", 0.5, skill="spatial-reasoning"))
    found = [
        [each.digest for each in parents(memory, Memory(), mode, "optimization", rng)]
        for rng in map(np.random.default_rng, range(20))
    ]
    assert {digest for digests in found for digest in digests} == chosen
    assert {len(set(digests)) for digests in found} == {2 if mode == "cross" else 1}
    assert parents(memory[-1:], Memory(), mode, "optimization", np.random.default_rng(0)) == ()
    assert facts(memory[2]) == (
        "Won in 50% of the plays without its hint.",
        "The hint raised the share of plays that were won by 25 points.",
    )
    assert facts(_seen("hurt", 0.5, regret=-0.1))[1:] == (
        "The hint lowered the share of plays that were won by 10 points.",
    )
    assert facts(_seen("unknown", 0.5, regret=0.0)) == (
        "Won in 50% of the plays without its hint.",
    )


class _Rank:
    def __init__(self, rank, size):
        self.rank, self.size = rank, size


def test_work_is_shared_out_whole_and_environments_stay_together():
    items = ["a", "a", "b", "c", "c", "b"]
    assert mine(items, Solo()) == list(enumerate(items))
    parts = [mine(items, _Rank(rank, 2), together=str) for rank in range(2)]
    assert parts == [[(0, "a"), (1, "a"), (3, "c"), (4, "c")], [(2, "b"), (5, "b")]]
    # Fewer environments than processes: their episodes are dealt out.
    few = [mine(["a"] * 6, _Rank(rank, 3), together=str) for rank in range(3)]
    assert [[place for place, _ in part] for part in few] == [[0, 3], [1, 4], [2, 5]]


@pytest.mark.parametrize("data", [b"x", b"[]", b'{"format": 2}', b'{"format": 1, "state": {}}'])
def test_a_damaged_state_is_refused(data):
    with pytest.raises(StateError):
        from_bytes(data)


def test_the_transcript_shows_one_instance_in_both_arms():
    jobs = [
        EpisodeJob(
            key=f"k{number}",
            env=env,
            level=0,
            seed=seed,
            hinted=hinted,
            sample_seed=number,
            update=0,
        )
        for number, (env, seed, hinted) in enumerate(
            [("x", 1, False), ("e", 1, False), ("e", 2, False), ("e", 2, True)]
        )
    ]
    played = FakeRollouts().act(jobs)
    found = list(transcripts(played, "e"))
    assert [(each["seed"], each["hinted"], each["hint"]) for each in found] == [
        (2, False, ""),
        (2, True, "first comes 2"),
    ]
    assert [each["seed"] for each in transcripts(played, "x")] == [1]
    assert not list(transcripts(played, "y"))


def test_the_share_of_designs_without_a_token_is_the_agents():
    config = resolve("quickstart", settings=["loss.designer_share=1.0", "agent.group=environment"])
    played = {"env": "e", "level": 0, "update": 0, "hinted": False}
    outcomes = [
        Outcome(
            index=place,
            result=EpisodeResult(**played, seed=place, success=bool(place)),
            tokens=2,
            truncated=False,
            malformed=False,
        )
        for place in range(2)
    ]
    sample = DesignSample(key="k", brief="b", skill="optimization", update=0, env=None)
    refused = Scored(DueDesign(sample, ()), None, Score(value=-0.5, reason="refused"))
    state = LoopState(
        delayed=DelayedDesigns(delay=0),
        potential=config.designer.score.potential(),
        dialogues={"k": Dialogue((Segment((1, 2)),), truncated=True)},
    )
    grades = graded(config, state, outcomes, [refused])
    assert grades.agent == pytest.approx({0: -1.0, 1: 1.0})
    assert (grades.designer, grades.tokens) == ({"k": 0.0}, 4.0)
