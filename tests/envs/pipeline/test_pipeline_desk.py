"""Choosing what to ask for with a view to the store: parents, coverage, likeness, and resuming."""

import dataclasses
import json

import pytest

from envs.pipeline.pipeline_fakes import CODE, Writer, brief_of, checker, pydoc
from spade_envs.design.prompting import prompt_version
from spade_envs.errors import ConfigError
from spade_envs.memory import open_memory
from spade_envs.pipeline import Plan, generate, ledger
from spade_envs.pipeline.choice import Choice, Choices
from spade_envs.pipeline.desk import Desk
from spade_envs.store import open_store
from spade_envs.store.plays import Plays, PlayWriter
from spade_envs.types import EnvSource, Message, Record, Skill

COGNITIVE = tuple(Skill)[:6]


@pytest.fixture
def store(tmp_path):
    return open_store(tmp_path / "store", create=True)


def desk_of(store, *, memory=True, **settings):
    found = None
    if memory:
        found = open_memory(store, "hashed")
        found.refresh()
    settings = {"candidates": 3, "crowd": 0, **settings}  # the writer's programs are all alike
    return Desk(store, memory=found, **settings)


def run(store, *, designer=None, desk=None, count=8, **settings):
    settings = {"seed": 2, "block": 4, "checker": checker, "max_attempts": 40, **settings}
    desk = desk or desk_of(store)
    return list(generate(designer or Writer(), pydoc(), store, count=count, desk=desk, **settings))


def add(store, number, *, skill="optimization", word="Old"):
    source = EnvSource(code=CODE.format(word=word, number=number))
    provenance = {"method": "hand-written"}
    return store.add(source, checker(source), provenance, skills=(skill,), licence="MIT")


def play(store, record, successes, plays=10, hinted_successes=None, level=None):
    line = Plays(
        digest=record.digest,
        plays=plays,
        successes=successes,
        returns=successes,
        hinted=0 if hinted_successes is None else plays,
        hinted_successes=hinted_successes or 0,
        hinted_returns=hinted_successes or 0,
        level=level,
    )
    PlayWriter(store.root).append([line])


def choices_of(store):
    (path,) = (store.root / "ledger").glob("briefs-*.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()]


def modes_plan(desk, *modes, skills=COGNITIVE):
    return Plan(skills=skills, corpus=None, designer="d", desk=desk, modes=modes)


def test_a_run_with_memory_is_the_same_again_and_after_a_kill(tmp_path, monkeypatch):
    stores = [open_store(tmp_path / name, create=True) for name in "ab"]
    whole = brief_of(run(stores[0]))
    append, lines = ledger.Ledger.append, []

    def deadly(self, line):
        append(self, line)
        lines.append(line)
        if len(lines) == 5:
            raise KeyboardInterrupt

    monkeypatch.setattr(ledger.Ledger, "append", deadly)
    with pytest.raises(KeyboardInterrupt):
        run(stores[1])
    monkeypatch.undo()
    assert brief_of(run(stores[1])) == whole
    assert choices_of(stores[0]) == choices_of(stores[1])


def test_what_was_chosen_stays_though_the_store_changes(store):
    plan = modes_plan(desk_of(store), "game")
    before = [plan.choice(attempt) for attempt in range(4)]
    record = add(store, 1)
    play(store, record, 5, hinted_successes=9)
    again = modes_plan(desk_of(store), "game")
    assert [again.choice(attempt) for attempt in range(4)] == before
    assert again.choice(4) != plan.choice(4) or again.choice(4).examples == ()


def test_every_second_attempt_is_for_the_skill_with_the_least(store):
    for number in (2, 3, 4, 6, 7, 8):
        add(store, number, skill=COGNITIVE[0], word=f"More{number}")
    plan = Plan(skills=COGNITIVE[:2], corpus=None, designer="d", desk=desk_of(store))
    found = [plan.choice(attempt).skill for attempt in range(6)]
    assert [found[attempt] for attempt in (1, 3)] == [COGNITIVE[1]] * 2
    rotation = Plan(skills=COGNITIVE[:2], corpus=None, designer="d")
    even = range(0, 6, 2)
    assert [found[n] for n in even] == [rotation.choice(n).skill for n in even]


def test_challenges_are_evened_out_by_skill(store):
    plan = Plan(skills=COGNITIVE[:1], corpus=None, designer="d", desk=desk_of(store))
    found = [plan.choice(attempt).challenge for attempt in range(9)]
    assert sorted(found) == ["easy"] * 3 + ["hard"] * 3 + ["medium"] * 3


def test_the_passage_least_like_the_store_is_taken(store):
    passage = Plan(skills=COGNITIVE, corpus=pydoc(), designer="d").brief(1).passage
    code = CODE.format(word="A", number=1).replace("number", f"text = {passage.text!r}\n    number")
    source = EnvSource(code=code)
    report = checker(EnvSource(code=CODE.format(word="A", number=1)))
    report = dataclasses.replace(report, source_sha256=source.sha256)
    store.add(source, report, {"method": "hand-written"}, licence="MIT")
    plan = Plan(skills=COGNITIVE, corpus=pydoc(), designer="d", desk=desk_of(store, candidates=2))
    assert plan.choice(0).position == 0  # the passage at 1 is in the store, word for word
    assert plan.choice(1).position in (2, 3)
    assert plan.brief(0).passage != passage


def test_a_passage_that_was_chosen_is_not_read_again_for_each_choice(store, monkeypatch):
    corpus, drawn = pydoc(), []
    draw = type(corpus).draw

    def counted(self, cursor):
        drawn.append(cursor.position)
        return draw(self, cursor)

    monkeypatch.setattr(type(corpus), "draw", counted)
    add(store, 1)
    plan = Plan(skills=COGNITIVE, corpus=corpus, designer="d", desk=desk_of(store))
    chosen = [plan.choice(attempt) for attempt in range(6)]
    assert drawn == list(range(18))
    drawn.clear()
    again = Plan(skills=COGNITIVE, corpus=corpus, designer="d", desk=desk_of(store))
    seventh = again.choice(6)
    assert drawn == [18, 19, 20, *(choice.position for choice in chosen)]  # looked up after a stop
    assert plan.choice(6) == seventh


def test_good_environments_are_shown_and_bad_ones_named(store):
    good, easy = add(store, 1, word="Good"), add(store, 7, word="Easy")
    play(store, good, 5, hinted_successes=9)
    play(store, easy, 10)
    plan = Plan(skills=(Skill.OPTIMIZATION,), corpus=None, designer="d", desk=desk_of(store))
    choice = plan.choice(0)
    assert choice.examples == (good.digest,)
    assert any("too easy: won in 10 of 10 plays" in line for line in choice.avoid)
    assert plan.brief(0).examples == (store.source(good).code,)


@pytest.mark.parametrize("memory", [True, False])
def test_parents_suit_the_mode(store, memory):
    wins = {"Hard": 0, "Good": 5, "Easy": 10}
    records = {name: add(store, 1 + n, word=name) for n, name in enumerate(wins)}
    for name, record in records.items():
        play(store, record, wins[name], hinted_successes=9, level=2)
    for mode, name in (("harden", "Easy"), ("ease", "Hard"), ("mutate", "Good")):
        plan = modes_plan(desk_of(store, memory=memory), mode)
        choice = plan.choice(0)
        assert (choice.mode, choice.parents) == (mode, (records[name].digest,))
        (parent,) = plan.brief(0).parents
        assert parent.code == store.source(records[name]).code
        told = "\n".join(parent.facts)
        assert f"Won in {wins[name]} of 10 plays" in told
        assert f"By level: level 2: {wins[name]} of 10." in told
        assert choice.challenge == {"harden": "hard", "ease": "easy"}.get(mode, choice.challenge)


def test_cross_takes_two_and_the_least_used_come_first(store):
    records = [add(store, number, word=f"P{number}") for number in (1, 2, 3)]
    plan = modes_plan(desk_of(store), "cross")
    found = [plan.choice(attempt).parents for attempt in range(3)]
    assert all(len(set(parents)) == 2 for parents in found)
    assert {digest for parents in found[:2] for digest in parents} == {r.digest for r in records}
    provenance = plan.provenance(
        0, 0, Writer().complete([_user()], seed=1, max_tokens=1, temperature=0)
    )
    assert tuple(provenance["parents"]) == found[0]
    sampling = provenance["designer"]["sampling"]
    assert (sampling["mode"], sampling["prompt"]) == ("cross", prompt_version())


def test_without_parents_it_designs_afresh(store):
    plan = modes_plan(desk_of(store), "harden")
    assert (plan.choice(0).mode, plan.choice(0).parents) == ("game", ())
    add(store, 1)  # nobody played it
    assert modes_plan(desk_of(store), "harden").choice(1).mode == "game"
    named = desk_of(store, named=[store.records()[0].digest])
    assert modes_plan(named, "harden").choice(0).mode == "harden"


def test_a_parent_that_is_named_is_taken_or_refused(store):
    source = EnvSource(code=CODE.format(word="Plain", number=7))
    bare = store.add(source, checker(source), {"method": "hand-written"}, licence="MIT")
    assert bare.skills == ()
    assert modes_plan(desk_of(store), "mutate").choice(0).parents == ()
    named = desk_of(store, named=[bare.digest])
    chosen = modes_plan(named, "mutate").choice(3)
    assert (chosen.mode, chosen.parents, chosen.skill in COGNITIVE) == (
        "mutate",
        (bare.digest,),
        True,
    )
    tools = desk_of(store, named=[bare.digest])
    with pytest.raises(ConfigError, match="--mode mutate can take none of the parents"):
        modes_plan(tools, "mutate", skills=tuple(Skill)[6:]).choice(0)


def test_a_parent_that_went_leaves_a_fresh_design(store):
    record = add(store, 1)
    plan = modes_plan(desk_of(store), "mutate")
    assert plan.choice(0).parents == (record.digest,)
    store.withdraw(record.id, "wrong")
    assert (plan.brief(0).mode, plan.brief(0).parents) == ("game", ())


def test_what_is_too_near_is_refused_by_name(store):
    record = add(store, 1, word="Ferry Timetable Harbour".replace(" ", ""))
    desk = desk_of(store, apart=0.5)
    near = EnvSource(code=CODE.format(word="FerryTimetableHarbour", number=2))
    assert desk.too_near(near).record.digest == record.digest
    assert desk.too_near(EnvSource(code=CODE.format(word="ZebraXylophone", number=2))) is None
    assert desk_of(store, apart=0).too_near(near) is None


def test_a_crowd_is_kept_small_and_the_refusal_says_why(store):
    outcomes = run(store, desk=desk_of(store, crowd=3), count=8, max_attempts=12)
    made = [outcome for outcome in outcomes if isinstance(outcome, Record)]
    assert (len(made), len(outcomes)) == (3, 12)
    refused = [each for each in outcomes if "--crowd" in getattr(each, "reason", "")]
    assert {each.stage for each in refused} == {"novelty"}
    assert refused[-1].reason.startswith(tuple(record.id for record in made))
    assert "and 2 more" in refused[-1].reason
    assert "3 is the most" in refused[-1].reason


def test_a_crowd_is_the_same_after_a_stop(tmp_path):
    stores = [open_store(tmp_path / name, create=True) for name in "ab"]
    whole = brief_of(run(stores[0], desk=desk_of(stores[0], crowd=3), count=8, max_attempts=12))
    desk = desk_of(stores[1], crowd=3)
    for _ in zip(range(5), generate_of(stores[1], desk), strict=False):
        pass
    again = desk_of(stores[1], crowd=3)
    assert brief_of(run(stores[1], desk=again, count=8, max_attempts=12)) == whole


def generate_of(store, desk):
    settings = {"seed": 2, "block": 4, "checker": checker, "max_attempts": 12}
    return generate(Writer(), pydoc(), store, count=8, desk=desk, **settings)


def test_crowds_are_part_of_what_a_run_is_called_by(store):
    keys = {modes_plan(desk_of(store, crowd=crowd)).key for crowd in (0, 1, 6)}
    assert len(keys) == 3
    assert desk_of(store, memory=False, crowd=3).crowded(EnvSource(code="x = 1")) is None


def test_lineage_is_in_the_manifest(store):
    parent = add(store, 1)
    outcomes = run(store, modes=["mutate"], skills=["optimization"], count=2)
    made = [outcome for outcome in outcomes if isinstance(outcome, Record)]
    assert len(made) == 2
    manifests = [store.manifest(record) for record in made]
    assert manifests[0].provenance.parents == (parent.digest,)
    assert manifests[0].provenance.designer.sampling["mode"] == "mutate"
    assert manifests[0].skills == ("optimization",)


def test_torn_and_foreign_lines_are_passed_over(store):
    choices = Choices(store, "run")
    one = Choice(attempt=0, position=0, skill=Skill.OPTIMIZATION, challenge="easy", mode="game")
    choices.add(one)
    path = store.root / "ledger" / "briefs-run.jsonl"
    whole = path.read_bytes()
    hostile = [b'{"attempt": 1', b"[]", b'{"attempt":-1}', whole.strip().replace(b"game", b"x")]
    hostile.append(whole.strip().replace(b'"parents":[]', b'"parents":["x"]'))
    assert hostile[-1] != whole.strip()
    path.write_bytes(b"\n".join([*hostile, whole]))
    again = Choices(store, "run")
    assert again.by_attempt == {0: one}
    other = Choice(attempt=3, position=1, skill=Skill.OPTIMIZATION, challenge="hard", mode="cross")
    again.add(other)
    assert Choices(store, "run").by_attempt == {0: one, 3: other}


def test_settings_out_of_range_are_refused(store):
    with pytest.raises(ConfigError, match="candidates"):
        Desk(store, candidates=0)
    with pytest.raises(ConfigError, match="apart"):
        Desk(store, apart=2)
    with pytest.raises(ConfigError, match="crowd"):
        Desk(store, crowd=-1)


def _user():
    return Message("user", "x")
