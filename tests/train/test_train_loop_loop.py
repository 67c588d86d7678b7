import threading
from collections import Counter

import pytest

from spade_envs.corpus import open_corpus
from spade_train.batch import Solo, UpdateStats
from spade_train.errors import CorpusChanged, HealthError, StateError
from spade_train.loop.designing import Designing
from spade_train.loop.state import from_bytes, to_bytes
from spade_train.types import Role
from train.loop_fakes import FakeRollouts, Threads, config, drive, make


def test_an_update_plays_both_arms_on_the_same_instances():
    loop, rollouts, _ = make(config(), Solo())
    batch = loop.batch(0)
    plain = {(job.env, job.level, job.seed) for job in rollouts.played if not job.hinted}
    hinted = [(job.env, job.level, job.seed) for job in rollouts.played if job.hinted]
    assert len(rollouts.played) == 4 * (8 + 4)
    assert len(plain) == 32
    assert len(set(hinted)) == 16
    assert set(hinted) <= plain
    assert len({job.key for job in rollouts.played}) == 48
    roles = Counter(row.role for row in batch.rows)
    assert roles == {Role.AGENT: 32, Role.DESIGNER: 4}


def test_tokens_and_role_weights_cover_all_trained_rows():
    loop, _, _ = make(config(loss__designer_share=0.25), Solo())
    batch = loop.batch(0)
    assert batch.tokens == sum(row.dialogue.sampled_tokens for row in batch.rows)
    # Each role's part of the loss is its share: per sample, mean of token means.
    share = dict.fromkeys(Role, 0.0)
    for row in batch.rows:
        share[row.role] += abs(row.advantage) * row.dialogue.sampled_tokens / batch.tokens
    assert share[Role.AGENT] <= 0.75 * 2.5
    total = {role: sum(1 for row in batch.rows if row.role == role) for role in Role}
    agents = [row for row in batch.rows if row.role == Role.AGENT and row.advantage]
    one = agents[0]
    weight = 0.75 * batch.tokens / (one.dialogue.sampled_tokens * total[Role.AGENT])
    group = [row for row in agents if abs(row.advantage) > 0]
    assert abs(one.advantage / weight) < 3.0
    assert len(group) >= 8
    temperatures = {row.role: row.temperature for row in batch.rows}
    assert temperatures == {Role.AGENT: 1.0, Role.DESIGNER: 0.5}


def test_a_run_is_a_function_of_its_seed():
    first, _, one = make(config(), Solo())
    second, _, two = make(config(), Solo())
    other, _, three = make(config(run__seed=6), Solo())
    for loop in (first, second, other):
        assert len(drive(loop)) == 4
    assert one.metrics == two.metrics
    assert one.metrics != three.metrics
    assert first.stopped == "updates"
    assert one.of("stopped")[0]["why"] == "updates"


def test_an_agent_that_is_not_trained_plays_and_the_designer_learns_alone():
    loop, rollouts, book = make(config(agent__train=False, loss__designer_share=0.25), Solo())
    batch = loop.batch(0)
    assert len(rollouts.played) == 4 * (8 + 4)
    assert Counter(row.role for row in batch.rows) == {Role.DESIGNER: 4}
    assert batch.tokens == sum(row.dialogue.sampled_tokens for row in batch.rows)
    assert loop.updated(0, UpdateStats())
    assert 0.0 <= book.metrics[0]["agent/success"] <= 1.0
    assert "designer/regret" in book.metrics[0]


@pytest.mark.parametrize("delay", [0, 1, 3])
def test_a_resumed_run_repeats_the_metrics_to_the_last_digit(delay):
    setting = config(
        run__updates=6, designer__delay=delay, designer__interval=2, levels__rule="sliding"
    )
    whole, _, book = make(setting, Solo())
    drive(whole)
    first, rollouts, half = make(setting, Solo())
    drive(first, most=3)
    second, _, rest = make(setting, Solo(), rollouts=FakeRollouts())
    second.rollouts.sources.update(rollouts.sources)
    second._state = second._next = from_bytes(to_bytes(first.state))
    drive(second, start=3)
    assert half.metrics + rest.metrics == book.metrics


def test_delayed_designs_are_trained_later_and_flushed_at_the_end():
    loop, _, book = make(config(designer__delay=3, designer__interval=2), Solo())
    batches = drive(loop)
    designer = [sum(row.role == Role.DESIGNER for row in batch.rows) for batch in batches]
    # Written at updates 0 and 2; due at 3; what is left comes in one batch behind the last.
    assert designer == [0, 0, 0, 4, 4]
    assert [row.on_policy for row in batches[3].rows if row.role == Role.DESIGNER] == [False] * 4
    assert len(batches[4].rows) == 4
    assert [line["update"] for line in book.metrics] == [0, 1, 2, 3, 4]
    assert not loop.state.delayed.samples
    assert not loop.state.dialogues


def test_refused_programs_are_samples_and_named_by_their_gate():
    rollouts = FakeRollouts(refuse=["/0/1/0", "/0/2/0"])
    loop, _, book = make(config(), Solo(), rollouts=rollouts)
    batch = loop.batch(0)
    loop.updated(0, UpdateStats())
    line = book.metrics[0]
    assert line["designer/acceptance"] == 0.5
    assert line["designer/refused/l3.3"] == 2.0
    assert sum(row.role == Role.DESIGNER for row in batch.rows) == 4
    assert sum(row.role == Role.AGENT for row in batch.rows) == 16
    refused = [event for event in book.of("scored") if event["env"] is None]
    assert [event["score"] for event in refused] == [-0.5, -0.5]


def test_attempts_go_on_until_a_slot_is_filled():
    rollouts = FakeRollouts(refuse=["/0/1/0", "/1/1/0"])
    loop, _, _ = make(config(designer__attempts=3), Solo(), rollouts=rollouts)
    loop.batch(0)
    assert [job.key for job in rollouts.designed] == [
        "u0/design/0/0/0",
        "u0/design/0/1/0",
        "u0/design/0/2/0",
        "u0/design/0/3/0",
        "u0/design/1/1/0",
        "u0/design/2/1/0",
    ]


def test_playing_while_others_are_checked_changes_nothing(monkeypatch):
    setting = config(designer__delay=1, designer__interval=2)
    streaming, _, one = make(setting, Solo(), rollouts=FakeRollouts(refuse=["0/2/0"]))
    waiting, _, two = make(setting, Solo(), rollouts=FakeRollouts(refuse=["0/2/0"]))
    first = drive(streaming)
    monkeypatch.setattr(Designing, "_streams", False)
    second = drive(waiting)
    assert one.metrics == two.metrics
    assert [batch.rows for batch in first] == [batch.rows for batch in second]


def test_completions_of_a_brief_are_a_group():
    setting = config(
        designer__completions_per_brief=2, designer__baseline="brief", designer__environments=4
    )
    loop, rollouts, _ = make(setting, Solo())
    loop.batch(0)
    assert Counter(job.brief_key for job in rollouts.designed) == {
        "u0/design/0/0": 2,
        "u0/design/0/1": 2,
    }


def test_the_same_program_twice_is_refused():
    loop, _, book = make(config(), Solo(), rollouts=FakeRollouts(repeat="same"))
    loop.batch(0)
    loop.updated(0, UpdateStats())
    assert book.metrics[0]["designer/environments"] == 1.0
    assert [event["stage"] for event in book.of("designed")] == ["", *["novelty"] * 3]


def test_faults_are_masked_noted_and_charged_to_the_designer():
    rollouts = FakeRollouts(broken=["0/3/0"])
    loop, _, book = make(config(), Solo(), rollouts=rollouts)
    batch = loop.batch(0)
    assert sum(row.role == Role.AGENT for row in batch.rows) == 24
    (health,) = book.of("health")
    assert health["share"] == 0.25
    (broken,) = [event for event in book.of("scored") if event["reason"] == "faults"]
    assert broken["score"] == -0.5
    assert loop.updated(0, UpdateStats())
    assert book.metrics[0]["agent/fault_share"] == 0.25


def test_too_many_faults_stop_the_run_with_a_clear_message():
    rollouts = FakeRollouts(broken=["0/3/0"])
    loop, _, _ = make(config(health__max_fault_share=0.2), Solo(), rollouts=rollouts)
    with pytest.raises(HealthError, match=r"broke 12 of 48 episodes of update 0 \(25%"):
        loop.batch(0)


def test_a_document_that_changes_stops_the_run_with_its_state_and_the_way_on(tmp_path):
    text = tmp_path / "ferry.txt"
    text.write_text("Ferries leave at nine. " * 30)
    loop, _, _ = make(config(), Solo(), corpus=open_corpus(tmp_path))
    loop.batch(0)
    loop.updated(0, UpdateStats())
    before = to_bytes(loop.state)
    for change in (lambda: text.write_text("Gone fishing. " * 30), text.unlink):
        change()
        with pytest.raises(CorpusChanged, match=r"ferry\.txt has changed .* --resume"):
            loop.batch(1)
        assert to_bytes(loop.state) == before
    text.write_text("Ferries leave at nine. " * 30)
    assert loop.batch(1) is not None


def test_too_few_accepted_programs_stop_the_run():
    rollouts = FakeRollouts(refuse=["/0/0/0", "/0/1/0", "/0/2/0"])
    loop, _, _ = make(config(health__min_accepted_share=0.5), Solo(), rollouts=rollouts)
    with pytest.raises(HealthError, match=r"accepted 1 of 4 .* L3.3 \(3 times\)"):
        loop.batch(0)


def test_nothing_accepted_gives_an_empty_update_and_the_run_goes_on():
    rollouts = FakeRollouts(refuse=["/0"])
    loop, _, _ = make(config(), Solo(), rollouts=rollouts)
    batch = loop.batch(0)
    assert [row.advantage for row in batch.rows] == [0.0] * 4
    assert loop.updated(0, UpdateStats())
    assert loop.batch(1) is not None


def test_a_budget_ends_the_run_and_counts_both_arms():
    loop, _, book = make(config(run__updates=50, budget__agent_episodes=100), Solo())
    drive(loop)
    assert loop.stopped == "budget: agent_episodes"
    assert book.metrics[-1]["budget/agent_episodes"] == 144.0
    tokens = loop.state.spent
    assert tokens.generated_tokens == book.metrics[-1]["budget/generated_tokens"]
    assert tokens.designer_tokens > 0
    assert loop.wants_save(2)


def test_an_interrupted_run_stops_after_its_update_and_wants_to_be_saved():
    loop, _, book = make(config(), Solo(), interrupted=lambda: "signal SIGTERM")
    assert len(drive(loop)) == 1
    assert loop.stopped == "signal SIGTERM"
    assert loop.wants_save(0)
    assert book.of("stopped")[0]["why"] == "signal SIGTERM"


def test_updates_must_come_in_turn():
    loop, _, _ = make(config(), Solo())
    with pytest.raises(StateError, match="is at update 0, not at 3"):
        loop.batch(3)


def test_memory_shows_earlier_environments():
    rollouts = FakeRollouts()
    setting = config(memory__low=0.0, memory__high=1.0, memory__avoid_low=0.9)
    loop, _, _ = make(setting, Solo(), rollouts=rollouts)
    drive(loop, most=2)
    late = [job for job in rollouts.designed if job.update == 1]
    assert all(job.brief.examples for job in late)
    assert all("too hard" in job.brief.avoid[0] for job in late)
    assert not any(job.brief.examples for job in rollouts.designed if job.update == 0)
    without, other, _ = make(config(memory__enabled=False), Solo())
    drive(without, most=2)
    assert not any(job.brief.examples or job.brief.avoid for job in other.designed)


def test_skills_rotate_and_challenges_mix():
    setting = config(designer__skills_per_epoch=1, designer__challenge="mixed")
    loop, rollouts, _ = make(setting, Solo())
    drive(loop)
    skills = {job.update: job.brief.skill for job in rollouts.designed}
    assert len({skills[0], skills[1]}) == 2
    assert skills[0] == skills[2]
    assert len({job.brief.challenge for job in rollouts.designed}) == 3


def test_modes_come_in_turn_and_take_parents_from_the_memory():
    setting = config(
        designer__modes=("game", "mutate", "harden"),
        memory__low=0.0,
        memory__high=1.0,
        memory__avoid_low=0.0,
        memory__avoid_high=1.0,
    )
    loop, rollouts, _ = make(setting, Solo())
    drive(loop)
    first = {job.brief.mode for job in rollouts.designed if job.update == 0}
    assert first == {"game"}  # nothing is remembered yet
    late = [job.brief for job in rollouts.designed if job.update > 0]
    assert "mutate" in {brief.mode for brief in late}
    assert all(brief.parents[0].code for brief in late if brief.mode == "mutate")
    assert not any(brief.examples for brief in late if brief.parents)
    assert all("of the plays" in brief.parents[0].facts[0] for brief in late if brief.parents)


def test_hints_by_the_policy_are_shown_and_paid_for():
    loop, rollouts, _ = make(config(hint__writer="policy"), Solo())
    loop.batch(0)
    loop.updated(0, UpdateStats())
    hinted = [job for job in rollouts.played if job.hinted]
    assert all(job.hint == f"hint for {job.key}" for job in hinted)
    assert all(job.hint is None for job in rollouts.played if not job.hinted)
    assert loop.state.spent.hint_tokens == 3 * 16


def test_remarks_of_the_policy_are_noted_and_paid_for_and_refuse_nothing():
    loop, _, book = make(config(gates__auditor="policy"), Solo())
    loop.batch(0)
    loop.updated(0, UpdateStats())
    audits = book.of("audited")
    assert [each["remarks"][0]["kind"] for each in audits] == ["unreachable"] * 4
    assert loop.state.spent.hint_tokens == 20
    assert book.metrics[0]["designer/acceptance"] == 1.0


def test_difficulty_is_told_by_the_environments_alone_too():
    loop, _, book = make(config(), Solo())
    loop.batch(0)
    loop.updated(0, UpdateStats())
    line = book.metrics[0]
    assert line["designer/solution_words"] == 3.0
    assert 0.0 < line["designer/level_mean"] < 3.0
    assert line["hint/words"] == 5.0


@pytest.mark.parametrize(("skill", "training"), [(0.3, 0.5), (1.2, 1.0)])
def test_a_regret_that_training_leaves_standing_halves_the_score(skill, training):
    setting = config(
        run__updates=3,
        designer__interval=3,
        designer__delay=2,
        designer__environments=1,
        designer__score={"name": "frontier"},
        agent__episodes_per_env=64,
        hint__episodes_per_env=64,
        hint__replay_episodes=64,
    )
    loop, rollouts, book = make(setting, Solo(), rollouts=FakeRollouts(skill=0.3))
    batches = [loop.batch(0)]
    loop.updated(0, UpdateStats())
    drive(loop, start=1, most=1)
    rollouts.skill = skill  # what training made of the agent
    batches.append(loop.batch(2))
    loop.updated(2, UpdateStats())
    hinted = {job.update for job in rollouts.played if job.hinted}
    assert hinted == {0, 2}
    (scored,) = book.of("scored")
    assert scored["terms"]["training"] == pytest.approx(training, abs=0.15)


def test_two_processes_share_the_work_and_agree():
    alone, _, book = make(config(designer__delay=1), Solo())
    whole = drive(alone)
    desk, found, books, shared = Threads.desk(2), {}, {}, {}

    def work(rank):
        loop, rollouts, books[rank] = make(config(designer__delay=1), Threads(rank, 2, desk))
        rollouts.sources = shared  # as processes share a store
        found[rank] = drive(loop)

    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert books[0].metrics == books[1].metrics == book.metrics
    for update, batch in enumerate(whole):
        parts = [found[rank][update] for rank in range(2)]
        assert all(part.tokens == batch.tokens for part in parts)
        rows = [row for part in parts for row in part.rows]
        assert all(part.rows for part in parts)
        assert sorted(map(_key, rows)) == sorted(map(_key, batch.rows))


def _key(row):
    return row.role, row.dialogue.segments[1].ids, row.advantage
