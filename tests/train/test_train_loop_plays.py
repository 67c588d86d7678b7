"""Plays of an update, summed up for the ledger."""

from spade_train.config import resolve
from spade_train.loop.plays import lines_of
from spade_train.types import EpisodeResult

ENV, OTHER = (f"sha256:{number:064x}" for number in (1, 2))


def _played(env, seed, *, hinted=False, won=False, fault=None, level=0, total=None):
    return EpisodeResult(
        env=env,
        level=level,
        seed=seed,
        update=3,
        hinted=hinted,
        success=won,
        total_reward=float(won) if total is None else total,
        fault=fault,
    )


def test_an_update_is_summed_by_environment_and_level():
    results = [
        _played(ENV, 1, won=True),
        _played(ENV, 1, hinted=True, won=True),
        _played(ENV, 2, total=0.5),
        _played(ENV, 2, hinted=True, won=True),
        _played(ENV, 3, level=1, won=True),
        _played(OTHER, 1),
    ]
    first, second, other = lines_of(resolve("quickstart"), 3, results)
    assert (first.digest, first.level, first.key) == (ENV, 0, "3/0")
    assert (first.plays, first.successes, first.returns, first.squares) == (2, 1, 1.5, 1.25)
    assert (first.hinted, first.hinted_successes, first.pairs, first.both) == (2, 2, 2, 1)
    assert (second.level, second.plays, second.pairs, second.key) == (1, 1, 0, "3/1")
    assert (other.digest, other.plays, other.successes) == (OTHER, 1, 0)
    assert first.hint == "instance"


def test_faults_do_not_count_and_break_their_pair():
    results = [
        _played(ENV, 1, won=True),
        _played(ENV, 1, hinted=True, won=True, fault="timeout"),
        _played(OTHER, 1, fault="crash"),
    ]
    (line,) = lines_of(resolve("quickstart"), 3, results)
    assert (line.digest, line.plays, line.hinted, line.pairs) == (ENV, 1, 0, 0)


def test_instances_that_were_played_oftener_are_no_pairs():
    results = [_played(ENV, 1), _played(ENV, 1, won=True), _played(ENV, 1, hinted=True)]
    (line,) = lines_of(resolve("quickstart"), 3, results)
    assert (line.plays, line.hinted, line.pairs, line.both) == (2, 1, 0, 0)


def test_hints_of_the_policy_are_told_apart():
    config = resolve("quickstart", settings=("hint.writer=policy",))
    (line,) = lines_of(config, 0, [_played(ENV, 1, hinted=True)])
    assert line.hint == "policy"
