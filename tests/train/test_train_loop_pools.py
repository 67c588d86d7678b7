from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from spade_envs.errors import ConfigError
from spade_envs.types import COGNITIVE_SKILLS, Record
from spade_train.batch import Solo, UpdateStats
from spade_train.errors import HealthError
from spade_train.loop import HeldEnv, HeldOut
from spade_train.loop.pools import pool_of
from spade_train.loop.state import LiveEnv
from spade_train.types import Role
from train.loop_fakes import FakeRollouts, config, digest, drive, make

FIXED = {
    "designer__train": False,
    "designer__interval": 0,
    "hint__episodes_per_env": 0,
    "pool__source": "designer",
    "pool__size": 6,
    "levels__rule": "uniform",
}


def _record(name, **more):
    fields = {
        "id": f"spade/{name}-v0",
        "digest": digest(name),
        "store": Path("x"),
        "title": name,
        "summary": "",
        "kind": "text",
        "levels": 3,
        "max_turns": 4,
        "skills": ("optimization",),
    }
    return Record(**{**fields, **more})


def test_a_store_becomes_a_pool_without_what_is_held_out_or_of_another_kind():
    records = [
        _record("a"),
        _record("b"),
        _record("c", withdrawn="bad"),
        _record("d", kind="tool"),
    ]
    games = config(setting="games", designer__skills=["mathematical-reasoning"])
    pool = pool_of(games, records, {digest("b")})
    assert [env.digest for env in pool] == [digest("a")]
    assert pool[0].levels == 3
    with pytest.raises(ConfigError, match=r"the store of pool\.source holds no environment"):
        pool_of(games, records, {digest("a"), digest("b")})


def test_a_pool_is_gone_through_without_replacement():
    envs = [LiveEnv(digest=digest(f"p{n}"), skill="optimization", levels=2) for n in range(6)]
    setting = config(**{**FIXED, "pool__source": "starter", "designer__environments": 3})
    loop, rollouts, book = make(setting, Solo(), pool=envs)
    batches = drive(loop, most=2)
    assert Counter(job.env for job in rollouts.played) == dict.fromkeys(
        [env.digest for env in envs], 8
    )
    assert all(row.role == Role.AGENT for batch in batches for row in batch.rows)
    assert not any(job.hinted for job in rollouts.played)
    assert not book.of("designed")
    levels = Counter((job.env, job.level) for job in rollouts.played)
    assert set(levels.values()) == {4}
    assert loop.state.cursor.position == 6


def test_the_untrained_designer_writes_the_pool_before_the_first_update():
    rollouts = FakeRollouts(refuse=["0/0/1/0", "0/4/0"])
    loop, _, book = make(config(**FIXED), Solo(), rollouts=rollouts)
    assert loop.batch(0) is not None
    assert len(loop.state.pool) == 6
    assert len(book.of("designed")) == 7
    assert {event["update"] for event in book.of("designed")} == {-1}
    loop.updated(0, UpdateStats())
    assert loop.wants_save(0)
    assert loop.state.spent.completions == 7
    written = len(rollouts.designed)
    loop.batch(1)
    assert len(rollouts.designed) == written


def test_an_even_pool_has_as_many_of_each_challenge():
    rollouts = FakeRollouts(refuse=["/0/0/0", "/0/3/0"])
    setting = config(**FIXED, pool__challenges="even")
    loop, _, _ = make(setting, Solo(), rollouts=rollouts)
    loop.batch(0)
    assert Counter(env.challenge for env in loop.state.pool) == {"easy": 2, "medium": 2, "hard": 2}


@pytest.mark.parametrize("challenge", ["easy", "medium", "hard"])
def test_a_pool_can_be_of_one_challenge(challenge):
    rollouts = FakeRollouts(refuse=["/0/0/0", "/0/3/0"])
    setting = config(**FIXED, pool__challenges=challenge, designer__challenge="mixed")
    loop, _, _ = make(setting, Solo(), rollouts=rollouts)
    loop.batch(0)
    assert [env.challenge for env in loop.state.pool] == [challenge] * 6
    # Six places and, in the second round, the two that were refused.
    assert len(rollouts.designed) == 8
    assert {job.brief.challenge for job in rollouts.designed} == {challenge}


def test_the_seed_draws_the_skills_of_a_narrow_pool():
    skills = COGNITIVE_SKILLS[:5]

    def drawn(seed, share=0.4, size=9, **more):
        sections = {**FIXED, "pool__size": size, "run__seed": seed, "pool__skill_share": share}
        rollouts = FakeRollouts()
        setting = config(**{**sections, "designer__skills": skills, **more})
        make(setting, Solo(), rollouts=rollouts)[0].batch(0)
        return [job.brief.skill for job in rollouts.designed]

    found = [drawn(seed) for seed in range(80)]
    assert {len(set(each)) for each in found} == {2}
    # Skills go round in threes: 3 of the first, 3 of the second, 3 of the first.
    assert {tuple(sorted(Counter(each).values())) for each in found} == {(3, 6)}
    assert len({frozenset(each) for each in found}) == 10  # all pairs of five come up
    assert drawn(7, pool__seed=1, designer__challenge="hard") == found[7]
    assert len(set(drawn(7, share=0.01))) == 1
    assert list(dict.fromkeys(drawn(7, share=1.0, size=15))) == list(skills)


def test_a_pool_that_cannot_be_written_stops_the_run():
    rollouts = FakeRollouts(refuse=["/0"])
    loop, _, _ = make(config(**FIXED), Solo(), rollouts=rollouts)
    with pytest.raises(HealthError, match="wrote 0 of 6 environments"):
        loop.batch(0)


def test_held_out_programs_are_known_so_that_nobody_writes_them():
    held = HeldOut((HeldEnv(digest("held"), 2, "walk"),))
    loop, rollouts, _ = make(config(**FIXED), Solo(), held=held)
    loop.batch(0)
    assert all(digest("held") in known for known in rollouts.known)


def test_the_sliding_window_of_a_pool_rises_with_success():
    envs = [LiveEnv(digest=digest("p"), skill="optimization", levels=4)]
    setting = config(
        **{
            **FIXED,
            "pool__source": "starter",
            "designer__environments": 1,
            "levels__rule": "sliding",
            "levels__enough": 8,
            "levels__threshold": 0.5,
        }
    )
    loop, rollouts, _ = make(setting, Solo(), pool=envs, rollouts=FakeRollouts(skill=2.0))
    drive(loop, most=4)
    assert {job.level for job in rollouts.played if job.update == 0} == {0}
    assert max(job.level for job in rollouts.played) >= 1
    window = loop.state.windows[digest("p")]
    assert window.high >= 1


def test_weighted_levels_leave_what_is_always_won():
    env = LiveEnv(digest=digest("p"), skill="optimization", levels=2)
    setting = config(
        **{
            **FIXED,
            "pool__source": "starter",
            "designer__environments": 1,
            "levels__rule": "weighted",
        }
    )

    class Sure(FakeRollouts):
        def _play(self, job):
            played = super()._play(job)
            won = job.level == 0 or job.seed % 2 == 0
            return replace(played, result=replace(played.result, success=won))

    loop, rollouts, _ = make(setting, Solo(), pool=[env], rollouts=Sure())
    drive(loop, most=4)
    late = Counter(job.level for job in rollouts.played if job.update == 3)
    assert late[1] > late[0]


def test_something_is_played_until_a_program_is_accepted():
    spare = [LiveEnv(digest=digest(f"s{n}"), skill="optimization", levels=2) for n in range(9)]
    rollouts = FakeRollouts(refuse=["/0"])
    loop, _, book = make(config(), Solo(), rollouts=rollouts, fallback=spare)
    batch = loop.batch(0)
    loop.updated(0, UpdateStats())
    played = {job.env for job in rollouts.played}
    assert len(played) == 4
    assert played <= {env.digest for env in spare}
    assert not any(job.hinted for job in rollouts.played)
    assert sum(row.role == Role.AGENT for row in batch.rows) == 32
    rollouts.refuse = ["/1/0"]
    loop.batch(1)
    late = {job.env for job in rollouts.played if job.update == 1}
    assert not late & {env.digest for env in spare}
    assert book.metrics[0]["designer/acceptance"] == 0.0
