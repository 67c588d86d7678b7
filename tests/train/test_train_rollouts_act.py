import sys

import gymnasium as gym
import pytest

import spade_envs
from spade_envs.api.calls import call
from spade_envs.play import play
from spade_train.rollouts import ActSettings, act
from train.rollout_cases import (
    COUNT,
    CRASH,
    HANG,
    LIGHTS,
    NO_HINT,
    RAISE,
    SELFISH,
    Scripted,
    counts,
    form_of,
    job,
    stocked,
)
from train.token_formats import nano, tokenizer

FORM = form_of(nano())


def run(shelf, jobs, say=counts, form=FORM, **settings):
    engine = Scripted(form, say)
    done = act(jobs, engine=engine, form=form, shelf=shelf, settings=ActSettings(**settings))
    return engine, done


def test_an_episode_is_what_gym_make_gives_for_the_same_actions(tmp_path):
    shelf, (env,) = stocked(tmp_path, COUNT)
    jobs = [job(env, n, level=n % 3) for n in range(6)]

    def say(text, request):  # right at first, wrong in the third turn
        return counts(text, request) if text.count("go on") < 2 else "0"

    _, done = run(shelf, jobs, say)
    spade_envs.register_store(shelf.store)
    record = shelf.store.get(env)
    for asked, got in zip(jobs, done.played, strict=True):
        actions = iter([turn.action for turn in got.episode.turns])
        with gym.make(record.id, level=asked.level) as direct:
            expected = play(direct, lambda *_, a=actions: next(a), seed=asked.seed)
        assert got.episode.turns == expected.turns
        assert got.episode.success == expected.success == (asked.level < 2)
        assert got.episode.total_reward == expected.total_reward
        assert got.result.level == asked.level
        assert got.result.env == env


@pytest.mark.parametrize("flag", ['"no"', "1", "[False]", "None"])
def test_a_loss_that_claims_success_by_another_value_than_true_is_none(flag, tmp_path):
    loss = f'return "no", 0.0, True, False, {{"success": {flag}}}'
    shelf, (env,) = stocked(tmp_path, COUNT.replace('return self.lose("no")', loss))
    _, done = run(shelf, [job(env, 0), job(env, 1)], lambda text, request: "0")
    assert [(each.result.success, each.result.fault) for each in done.played] == [(False, None)] * 2


def test_the_dialogue_holds_what_was_sampled_and_shown(tmp_path):
    shelf, (env,) = stocked(tmp_path, COUNT)
    _, done = run(shelf, [job(env, 0, level=1)])
    (got,) = done.played
    text = nano().decode(got.dialogue.ids.tolist())
    first = got.episode.first_observation
    one, two = (turn.action for turn in got.episode.turns)
    assert text == (
        f"<|user|>{first}<|assistant|>{one}<|end|>"
        f"<|user|>go on after {one}<|assistant|>{two}<|end|>"
    )
    assert got.sampled_tokens == int(got.dialogue.mask.sum()) == len(one) + len(two) + 2


def test_both_arms_play_the_same_instances_and_only_one_sees_the_hint(tmp_path):
    shelf, (env,) = stocked(tmp_path, COUNT)
    jobs = [job(env, n, level=n % 2, hinted=hinted) for n in range(3) for hinted in (False, True)]
    engine, done = run(shelf, jobs)
    for plain, hinted in zip(done.played[::2], done.played[1::2], strict=True):
        assert plain.episode.first_observation == hinted.episode.first_observation
        start = plain.episode.first_observation.rpartition(" ")[2]
        assert hinted.hint == f"first {start}"
        assert hinted.solution[0] == start
        assert plain.hint == ""
        shown = nano().decode(hinted.dialogue.ids.tolist())
        assert shown.startswith(f"<|user|>{plain.episode.first_observation}\nHint: first {start}<")
    assert {request.temperature for request in engine.seen} == {1.0}


def test_a_given_hint_is_shown_in_place_of_the_environments_own(tmp_path):
    shelf, digests = stocked(tmp_path, COUNT, NO_HINT)
    jobs = [job(env, 0, hinted=True, hint="look well") for env in digests]
    engine, done = run(shelf, jobs)
    assert [one.hint for one in done.played] == ["look well"] * 2
    assert all("\nHint: look well<" in FORM.template.decode(r.ids) for r in engine.seen)
    assert not any(one.result.fault for one in done.played)


def test_without_a_hint_the_hinted_arm_has_a_fault_and_the_other_plays(tmp_path):
    shelf, (env,) = stocked(tmp_path, NO_HINT)
    _, done = run(shelf, [job(env, 0, hinted=True), job(env, 0)])
    assert done.played[0].episode.fault.op == "hint"
    assert done.played[0].sampled_tokens == 0
    assert done.played[1].result.success


def test_a_hint_cannot_change_the_instance_that_is_played(tmp_path):
    shelf, (env,) = stocked(tmp_path, SELFISH)

    def say(text, request):
        return counts(text, request) if "go on" not in text else "wrong"

    _, done = run(shelf, [job(env, 0, level=2, hinted=hinted) for hinted in (False, True)], say)
    assert [one.result.success for one in done.played] == [False, False]
    assert [len(one.episode.turns) for one in done.played] == [2, 2]


def test_results_do_not_depend_on_how_many_are_live_nor_on_the_order(tmp_path):
    shelf, digests = stocked(tmp_path, COUNT, LIGHTS)
    jobs = [job(env, n) for n in range(5) for env in digests]

    def say(text, request):  # depends on the seed of the turn alone
        return counts(text, request) if "Count" in text and request.seed % 2 else "x"

    _, alone = run(shelf, jobs, say, live_episodes=1)
    engine, many = run(shelf, jobs, say, live_episodes=7, workers=2)
    _, turned = run(shelf, jobs[::-1], say)
    assert alone.played == many.played
    assert turned.played == alone.played[::-1]
    assert max(map(len, engine.batches)) == 7
    assert sorted(engine.forgotten) == sorted(one.key for one in jobs)


def test_jobs_may_come_while_others_are_played(tmp_path):
    shelf, (env,) = stocked(tmp_path, COUNT)
    engine = Scripted(FORM, counts)
    sampled_before = []

    def jobs():
        for n in range(4):
            sampled_before.append(len(engine.batches))
            yield job(env, n)

    settings = ActSettings(live_episodes=2)
    done = act(jobs(), engine=engine, form=FORM, shelf=shelf, settings=settings)
    assert [one.job.seed for one in done.played] == [100, 101, 102, 103]
    assert sampled_before == [0, 0, 1, 1]


def test_only_so_many_environments_are_loaded_at_once(tmp_path, monkeypatch):
    codes = [COUNT.replace("Count {", f"{word} Count {{") for word in "abcde"]
    shelf, digests = stocked(tmp_path, *codes)
    monkeypatch.setattr(sys.modules["spade_train.rollouts.act"], "MOST_ENVS", 2)
    engine, done = run(shelf, [job(env, n) for env in digests for n in range(2)])
    assert all(one.result.success for one in done.played)
    for batch in engine.batches:
        assert len({key.partition("/")[0] for key in batch}) <= 2
    assert len(engine.batches[0]) == 4


def test_an_episode_ends_at_most_turns_and_where_the_window_ends(tmp_path):
    shelf, (env,) = stocked(tmp_path, LIGHTS)
    form = form_of(nano(), tokens=1200)
    # Without the list of tools in the prompt there is room for a few turns.
    _, done = run(shelf, [job(env, 0)], lambda *_: "not yet", form=form, max_turns=2)
    (got,) = done.played
    assert len(got.episode.turns) == 2
    assert (got.episode.truncated, got.episode.success) == (True, False)
    assert not got.dialogue.truncated
    small = form_of(nano(), tokens=len(got.dialogue) + 2, turn_tokens=20)
    _, done = run(shelf, [job(env, 0)], lambda *_: "not yet", form=small)
    (got,) = done.played
    assert got.dialogue.truncated
    assert got.episode.truncated
    assert got.result.fault is None


def test_a_prompt_without_room_is_an_episode_that_is_lost_and_never_sampled(tmp_path):
    shelf, (env,) = stocked(tmp_path, COUNT)
    engine, done = run(shelf, [job(env, 0)], form=form_of(nano(), tokens=8, turn_tokens=8))
    assert engine.seen == []
    assert (done.played[0].result.success, done.played[0].result.fault) == (False, None)


@pytest.mark.parametrize("name", ["qwen3-instruct", "nano"])
def test_tools_go_through_the_template_where_it_has_a_place_for_them(tmp_path, name):
    shelf, (env,) = stocked(tmp_path, LIGHTS)
    form = form_of(tokenizer(name), tokens=4000, turn_tokens=200)

    def say(text, request):
        lamp = text.partition("Light the ")[2].partition(".")[0]
        if f"{lamp} is on" not in text:
            return call("light", lamp=lamp)
        return lamp if "all. Please confirm" not in text else "Done."

    _, done = run(shelf, [job(env, 3)], say, form=form)
    (got,) = done.played
    assert got.result.success, got.episode
    text = form.template.decode(got.dialogue.ids.tolist())
    native = name != "nano"
    assert ("<tool_response>" in text) == native
    assert ("<tools>" in text) == native
    assert ("Tools:" in text) != native
    assert got.malformed_calls == 0


def test_calls_that_cannot_be_read_are_counted(tmp_path):
    shelf, (env,) = stocked(tmp_path, LIGHTS)
    say = lambda *_: '<tool_call>{"name": "light", </tool_call>'  # noqa: E731
    _, done = run(shelf, [job(env, 0)], say, form=form_of(nano(), tokens=4000), max_turns=3)
    assert done.played[0].malformed_calls == 3


@pytest.mark.parametrize(("code", "kind"), [(CRASH, "crash"), (RAISE, "exception")])
def test_what_breaks_is_a_fault_of_its_own_episodes(tmp_path, code, kind):
    shelf, (good, bad) = stocked(tmp_path, COUNT, code)
    jobs = [job(env, n) for n in range(6) for env in (good, bad)]
    _, done = run(shelf, jobs, workers=2)
    assert all(one.result.success for one in done.played[::2])
    assert [one.result.fault for one in done.played[1::2]] == [kind] * 6
    assert not any(one.result.success or one.result.total_reward for one in done.played[1::2])


def test_an_environment_that_hangs_is_given_up_and_the_rest_goes_on(tmp_path, monkeypatch):
    from spade_envs.play import table
    from spade_envs.types import Limits

    quick = Limits(step_timeout_s=0.2)
    monkeypatch.setattr(table, "LIMITS", quick)
    shelf, (good, bad) = stocked(tmp_path, COUNT, HANG)
    jobs = [job(env, n, level=1) for n in range(24) for env in (good, bad)]
    _, done = run(shelf, jobs, live_episodes=16)
    assert all(one.result.success for one in done.played[::2])
    faults = [one.episode.fault for one in done.played[1::2]]
    assert {fault.kind for fault in faults} == {"timeout"}
    # Its first batch costs what one batch may cost; the later episodes are not even begun.
    assert sum(fault.message.startswith("given up") for fault in faults) >= 12


def test_an_unknown_level_is_a_fault(tmp_path):
    shelf, (env,) = stocked(tmp_path, COUNT)
    _, done = run(shelf, [job(env, 0, level=3)])
    assert done.played[0].result.fault == "contract"


def test_times_add_up_to_the_wall(tmp_path):
    shelf, (env,) = stocked(tmp_path, COUNT)
    _, done = run(shelf, [job(env, 0)])
    assert done.times.wall_s == pytest.approx(
        done.times.model_s + done.times.play_s + done.times.tokens_s + done.times.other_s
    )
    assert done.times.play_s > 0
    assert (done.times + done.times).play_s == 2 * done.times.play_s
