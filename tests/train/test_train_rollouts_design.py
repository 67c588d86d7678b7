import dataclasses

import pytest

from spade_envs.design.brief import build_brief
from spade_envs.design.prompting import example_source
from spade_envs.gates.table import GATES
from spade_envs.store.rejected import read_rejected
from spade_envs.types import EnvSource, GateResult, Passage, Skill
from spade_train.rollouts import (
    ActSettings,
    Checker,
    Clock,
    DesignJob,
    DesignSettings,
    EpisodeJob,
    Verdict,
    act,
    design,
    speech_of,
)
from spade_train.rollouts.checking import chance_of
from spade_train.rollouts.speech import CHAT, NANO
from train.rollout_cases import COUNT, LIGHTS, Scripted, form_of, passed_report, shelf_at
from train.token_formats import nano, tokenizer

FORM = form_of(tokenizer("qwen3-instruct"), tokens=60000, turn_tokens=8000)
SETTINGS = DesignSettings(run="test", model="toy")


def fenced(code):
    return f"Here it is.\n```python\n{code}```\n"


class Judging:
    """Verdicts by rule: what holds the word `refuse` fails a gate."""

    def __init__(self, complete=True):
        self.asked, self.complete = [], complete

    def check_all(self, sources):
        self.asked += sources
        return iter([self._verdict(source) for source in sources])

    def _verdict(self, source):
        report = passed_report(source)
        if "refuse" in source.code:
            bad = GateResult(gate="L3.3", title="pays", outcome="fail", message="pays all")
            report = dataclasses.replace(report, results=(*report.results, bad))
        report = dataclasses.replace(report, complete=self.complete)
        return Verdict(report=report, accepted="refuse" not in source.code, chance=0.25)

    def close(self):
        raise AssertionError("a judge that was given is not closed")


def jobs(count, **fields):
    passage = Passage(text="A lamp.", title="Lamps", corpus="test", source="lamps.md")
    brief = build_brief(passage, seed=1, skill=Skill.PATTERN_RECOGNITION)
    return [
        DesignJob(key=f"0/d{n}", brief=brief, brief_key="b", sample_seed=n, update=0, **fields)
        for n in range(count)
    ]


def write(folder, answers, *, judge=None, known=(), form=FORM, shelf=None, asked=None, **settings):
    """Let a scripted designer give these answers, one list per job."""
    judge = judge or Judging()
    shelf = shelf or shelf_at(folder)
    asked = asked or jobs(len(answers))
    left = {job.key: list(texts) for job, texts in zip(asked, answers, strict=True)}
    engine = Scripted(form, lambda text, request: left[request.key].pop(0))
    found = design(
        asked,
        engine=engine,
        form=form,
        shelf=shelf,
        settings=dataclasses.replace(SETTINGS, **settings),
        known=known,
        judge=judge,
    )
    return list(found), engine, shelf, judge


def test_what_passes_is_published_with_where_it_comes_from(tmp_path):
    (got,), engine, shelf, _ = write(tmp_path, [[fenced(COUNT)]])
    assert (got.stage, got.reason, got.levels, got.chance) == (None, "", 3, 0.25)
    assert (got.title, got.summary) == ("Count", "Say the numbers from one up, one a turn.")
    assert shelf.source(got.env).code == got.source.code == COUNT
    record = shelf.store.get(got.env)
    assert record.skills == ("pattern-recognition",)
    known = shelf.store.manifest(record).provenance
    assert known.run == "test#0/d0"
    assert known.passage.source == "lamps.md"
    assert known.designer.model == "toy"
    (request,) = engine.seen
    assert "A lamp." in FORM.template.decode(request.ids)
    assert engine.forgotten == ["0/d0"]
    assert got.dialogue.sampled_tokens > 100
    assert got.text == fenced(COUNT)


def test_what_is_refused_says_where_and_why_and_is_kept_for_study(tmp_path):
    answers = [["no code"], [fenced(COUNT + "# refuse\n")], [fenced("class A(:\n")]]
    found, _, shelf, _ = write(tmp_path, answers)
    assert [one.stage for one in found] == ["parse", "gates", "parse"]
    assert found[1].reason == "L3.3: pays all"
    assert found[1].source.code.endswith("# refuse\n")
    assert [one.env for one in found] == [None] * 3
    assert {one.stage for one in read_rejected(shelf.store.root)} == {"parse", "gates"}
    assert shelf.store.records() == []


def test_outcomes_come_in_the_order_of_the_jobs(tmp_path):
    answers = [[fenced(COUNT)], ["nothing"], [fenced(LIGHTS)]]
    found, *_ = write(tmp_path, answers, together=1)
    assert [one.job.key for one in found] == ["0/d0", "0/d1", "0/d2"]
    assert [one.stage for one in found] == [None, "parse", None]


@pytest.mark.parametrize("novelty", [True, False])
def test_the_second_of_two_equal_programs_is_refused(tmp_path, novelty):
    other = COUNT.replace("self.said", "self.spoken")
    answers = [[fenced(COUNT)], [fenced(COUNT)], [fenced(other)]]
    found, _, _, judge = write(tmp_path, answers, novelty=novelty)
    assert [one.stage for one in found] == [None, "novelty", "novelty" if novelty else None]
    assert len(judge.asked) == 2  # one text is checked once


def test_only_what_is_known_counts_and_not_what_lies_on_the_shelf(tmp_path):
    (first,), _, shelf, _ = write(tmp_path, [[fenced(COUNT)]])
    (again,), *_ = write(tmp_path, [[fenced(COUNT)]], shelf=shelf)
    assert again.env == first.env  # as if a killed process had published it
    (known,), _, _, judge = write(tmp_path, [[fenced(COUNT)]], shelf=shelf, known=[first.env])
    assert (known.env, known.stage) == (None, "novelty")
    assert judge.asked == []


def test_a_refused_program_goes_back_with_the_evidence(tmp_path):
    bad = COUNT + "# refuse\n"
    answers = [[fenced(bad), fenced(COUNT)], ["no code", fenced(LIGHTS)], [fenced(bad), "sorry"]]
    found, engine, _, _ = write(tmp_path, answers, repair_turns=1)
    assert [one.stage for one in found] == [None, None, "parse"]
    texts = [FORM.template.decode(request.ids) for request in engine.seen]
    assert "L3.3 pays: pays all" in texts[3]
    assert "defines a class" in texts[4]
    first = found[0].dialogue
    assert len(first.turns) == 2
    assert first.sampled_tokens == int(first.mask.sum())
    assert FORM.template.decode(first.ids.tolist()).startswith(texts[0])
    assert {request.seed for request in engine.seen[:3]}.isdisjoint(
        request.seed for request in engine.seen[3:]
    )


def test_a_quick_check_certifies_nothing_and_is_played_all_the_same(tmp_path):
    (got,), _, shelf, _ = write(tmp_path, [[fenced(COUNT)]], judge=Judging(complete=False))
    assert shelf.store.records() == []
    assert not shelf.get(got.env).certified
    anew = shelf_at(tmp_path)
    assert anew.source(got.env).code == COUNT
    form = form_of(nano())
    episode = EpisodeJob(
        key="e", env=got.env, level=0, seed=3, hinted=False, sample_seed=0, update=0
    )
    engine = Scripted(form, lambda text, _: text.rpartition("from ")[2].partition("<")[0])
    done = act([episode], engine=engine, form=form, shelf=anew, settings=ActSettings())
    assert done.played[0].result.success


def test_a_changed_program_is_not_given_out(tmp_path):
    from spade_envs.errors import Corrupt, NotFound

    (got,), *_ = write(tmp_path, [[fenced(COUNT)]], judge=Judging(complete=False))
    (file,) = (tmp_path / "quick").glob("*/env.py")
    file.write_text(COUNT + "# more\n")
    with pytest.raises(Corrupt, match="was changed"):
        shelf_at(tmp_path).get(got.env)
    with pytest.raises(NotFound, match=r"put back what was removed .*or begin a new run"):
        shelf_at(tmp_path).get("sha256:" + "0" * 64)


def test_a_prompt_without_room_is_refused_without_being_sampled(tmp_path):
    small = form_of(tokenizer("qwen3-instruct"), tokens=500, turn_tokens=100)
    (got,), engine, _, _ = write(tmp_path, [[fenced(COUNT)]], form=small)
    assert (got.stage, got.reason) == ("client", "the prompt leaves no room for an answer")
    assert engine.seen == []


def test_the_gates_judge_in_the_background_and_measure_the_hints():
    good, bad = EnvSource(code=example_source("text")), EnvSource(code=COUNT)
    checker = Checker(depth="quick", workers=2)
    try:
        first, second = checker.check_all([good, bad])
    finally:
        checker.close()
    assert first.accepted, first.reason
    assert not first.report.accepted  # a quick check is not complete
    assert {result.gate for result in first.report.results} == {gate.id for gate in GATES}
    assert first.hint.words > 10
    assert first.hint.withheld
    assert not second.accepted
    assert second.reason.startswith("L")


def test_chance_is_the_best_floor_and_few_episodes_count_little():
    source = EnvSource(code=COUNT)
    report = passed_report(source)

    def floor(trials, wins, low):
        evidence = {"floor": {"trials": trials, "mean": wins / trials, "wilson_95": [low, 1.0]}}
        return GateResult(gate="L3.3", title="", outcome="pass", message="", evidence=evidence)

    assert chance_of(report) == 0.0
    sure = dataclasses.replace(report, results=(floor(20, 3, 0.05),))
    assert chance_of(sure) == pytest.approx(0.15)
    few = dataclasses.replace(report, results=(floor(5, 1, 0.036),))
    assert chance_of(few) == pytest.approx(0.036)


def test_nano_is_asked_in_one_line_and_answers_without_a_fence(tmp_path):
    assert speech_of(tokenizer("qwen3-instruct")) is CHAT
    assert speech_of(nano()) is NANO
    (job,) = jobs(1)
    passage = dataclasses.replace(job.brief.passage, text="A lamp, a river and a lamp.")
    job = dataclasses.replace(job, brief=dataclasses.replace(job.brief, passage=passage))
    (message,) = NANO.ask(job.brief)
    assert message.content.startswith("pattern-recognition text medium ")
    assert "\n" not in message.content
    read = message.content.rpartition(": ")[2].split()
    avoiding = dataclasses.replace(job.brief, avoid=(f"{read[0]}: too easy",))
    (message,) = NANO.ask(avoiding)
    assert message.content.rpartition(": ")[2].split() == [*read[1:], read[0]]
    assert NANO.read("x = 1\n\n") == "```python\nx = 1\n```\n"


def test_the_time_of_sampling_and_of_gates_is_told_apart(tmp_path):
    clock = Clock()
    shelf = shelf_at(tmp_path)
    engine = Scripted(FORM, lambda *_: fenced(COUNT))
    list(
        design(
            jobs(1),
            engine=engine,
            form=FORM,
            shelf=shelf,
            settings=SETTINGS,
            clock=clock,
            judge=Judging(),
        )
    )
    times = clock.times()
    assert times.model_s > 0
    assert times.gates_s > 0
    assert times.play_s == 0
