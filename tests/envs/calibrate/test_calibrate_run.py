"""Calibration: known skills come out, nothing is played twice, failures are no results."""

from dataclasses import replace

import pytest

from spade_envs.calibrate import Calibration, ModelPlayer, Settings, Target, scripted
from spade_envs.errors import ClientError, ConfigError
from spade_envs.play.session import open_session
from spade_envs.store import open_store
from spade_envs.store.plays import PlayReader
from spade_envs.types import Completion, EnvSource

CODE = """
from spade_envs.api import TextEnv


class Sums(TextEnv):
    \"\"\"Add.\"\"\"

    levels, max_turns = 2, 2

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.answer = self.draw_int(10, 99) + self.level
        return f"What is {self.answer - 1} + 1?", {}

    def step(self, action):
        MIDDLE
        return self.win("Right.") if action == str(self.answer) else self.go_on("No.")
    HINT
    def solution(self):
        return [str(self.answer)]
"""
HINT = """
    def hint(self):
        return "Count one further."
"""


def target(tmp_path, middle="pass", hint=HINT):
    source = EnvSource(code=CODE.replace("MIDDLE", middle).replace("    HINT", hint))
    session = open_session(source)
    interface = session.interface
    session.close()
    root = tmp_path / "store"
    open_store(root, create=True)
    return Target(
        id="sums",
        digest=f"sha256:{source.sha256}",
        source=source,
        interface=interface,
        ledger=root,
    )


def calibration(found, spec="scripted:reference", **settings):
    return Calibration([found], scripted(spec), Settings(**settings))


def sums(plan):
    return {level: (f.plays, f.successes, f.regret) for (_, level), f in plan.figures().items()}


@pytest.mark.parametrize(("plain", "hinted"), [(0.0, 0.0), (0.3, 0.8), (0.7, 0.7), (1.0, 1.0)])
def test_a_player_of_known_skill_is_measured_within_the_interval(tmp_path, plain, hinted):
    plan = calibration(target(tmp_path), f"scripted:reference={plain},{hinted}", episodes=60)
    assert all(pair.counts for pair in plan.run())
    for figures in plan.figures().values():
        low, high = figures.success_interval
        assert low <= plain <= high
        low, high = figures.hinted_interval
        assert low <= hinted <= high
        low, high = figures.regret_interval
        assert low <= hinted - plain <= high
        assert high - low < 0.45
        assert figures.pairs == 60


def test_the_ledger_holds_each_instance_once_however_often_a_run_is_stopped(tmp_path):
    found = target(tmp_path)
    spec = "scripted:reference=0.5"
    whole = calibration(replace(found, ledger=_fresh(tmp_path)), spec, episodes=12)
    assert sum(1 for _ in whole.run()) == whole.total == 24
    for most in (3, 5, 100):
        plan = calibration(found, spec, episodes=12, live=4)
        before = plan.missing()
        run = plan.run()
        done = sum(1 for _, _pair in zip(range(most), run, strict=False))
        run.close()
        assert plan.missing() <= before - done
    assert plan.missing() == 0
    assert list(plan.run()) == []
    assert sums(plan) == sums(whole)
    assert PlayReader(found.ledger).figures()[found.digest].plays == 24


def _fresh(tmp_path):
    open_store(tmp_path / "other", create=True)
    return tmp_path / "other"


def test_more_episodes_add_what_is_missing_and_another_plan_plays_its_own(tmp_path):
    found = target(tmp_path)
    first = calibration(found, episodes=2, levels=(1,))
    assert [pair.level for pair in first.run()] == [1, 1]
    assert calibration(found, episodes=5).missing() == 8
    assert calibration(found, episodes=2, levels=(1,), seed=1).missing() == 2
    assert calibration(found, "scripted:empty", episodes=2, levels=(1,)).missing() == 2
    assert first.missing() == 0


def test_figures_do_not_depend_on_how_many_episodes_are_live(tmp_path):
    found = target(tmp_path)
    seen = []
    for live in (1, 3, 64):
        root = tmp_path / f"live-{live}"
        open_store(root, create=True)
        plan = calibration(
            replace(found, ledger=root), "scripted:reference=0.4,0.6", episodes=9, live=live
        )
        list(plan.run())
        seen.append(sums(plan))
    assert seen[0] == seen[1] == seen[2]
    assert seen[0][0][0] == 9


def test_an_environment_that_fails_gives_no_result(tmp_path):
    found = target(tmp_path, middle="self.missing if self.answer % 2 else None")
    plan = calibration(found, episodes=20)
    pairs = list(plan.run())
    faults = [pair for pair in pairs if pair.fault is not None]
    assert 0 < len(faults) < 40
    figures = PlayReader(found.ledger).figures()[found.digest]
    assert figures.plays == figures.hinted == 40 - len(faults) == figures.successes
    assert plan.missing() == len(faults)


def test_without_a_hint_only_the_one_arm_is_played(tmp_path):
    plan = calibration(target(tmp_path, hint=""), episodes=3)
    pairs = list(plan.run())
    assert len(pairs) == 6
    assert all(pair.hinted is None and pair.plain.success for pair in pairs)
    assert sums(plan) == {0: (3, 3, None), 1: (3, 3, None)}


class Model:
    """Answers by what it reads; some requests fail."""

    name = "model"

    def __init__(self, fails=lambda request: False):
        self.requests, self.fails = [], fails

    def complete_many(self, requests):
        self.requests += requests
        return [self._answer(request) for request in requests]

    def _answer(self, request):
        if self.fails(request):
            return ClientError("busy")
        first = request.messages[0].content
        number = int(first.split("What is ")[1].split(" ")[0])
        return Completion(text=str(number + 1) if "Hint: " in first else "0", model=self.name)


def test_a_model_reads_the_hint_in_one_arm_and_its_regret_is_one(tmp_path):
    model = Model()
    plan = Calibration(
        [target(tmp_path)], ModelPlayer(model, temperature=0.0, max_tokens=9), Settings(episodes=4)
    )
    list(plan.run())
    assert {f.regret for f in plan.figures().values()} == {1.0}
    turns = [len(request.messages) for request in model.requests]
    assert sorted(set(turns)) == [1, 3]  # the arm without is told No. and asked again
    shown = {r.messages[0].content.partition("\n")[2] for r in model.requests}
    assert shown == {"", "Hint: Count one further."}
    assert all(m.role != "system" for r in model.requests for m in r.messages)
    seeds = [request.seed for request in model.requests]
    assert len(set(seeds)) == len(seeds)


def test_an_answer_that_does_not_come_is_no_result_and_asked_for_again(tmp_path):
    found = target(tmp_path)
    model = Model(lambda request: request.attempt == 0)
    plan = Calibration([found], ModelPlayer(model), Settings(episodes=3))
    pairs = list(plan.run())
    assert sum(pair.error is not None for pair in pairs) == 2
    assert plan.missing() == 2
    model.fails = lambda request: False
    assert sum(1 for _ in plan.run()) == 2
    assert plan.missing() == 0
    assert {f.plays for f in plan.figures().values()} == {3}


def test_a_player_that_never_answers_stops_the_run(tmp_path):
    plan = Calibration([target(tmp_path)], ModelPlayer(Model(lambda _: True)), Settings())
    with pytest.raises(ClientError, match="busy"):
        list(plan.run())


@pytest.mark.parametrize(
    "spec",
    [
        "scripted:",
        "scripted:nobody",
        "scripted:reference=2",
        "scripted:reference=a",
        "scripted:random=1",
    ],
)
def test_a_scripted_player_that_there_is_not_is_refused(spec):
    with pytest.raises(ConfigError, match=r"scripted:empty|shares"):
        scripted(spec)


def test_a_text_that_is_not_utf8_is_refused_before_anything_is_played():
    with pytest.raises(ConfigError, match="not UTF-8"):
        scripted("scripted:constant=\udcff\udcfe")


def test_a_players_name_that_is_not_utf8_is_escaped_in_the_ledger(tmp_path):
    found = target(tmp_path)
    plan = Calibration([found], ModelPlayer(Model(), name="m\udcff"), Settings(episodes=1))
    assert all(pair.counts for pair in plan.run())
    assert plan.policy == "m\\udcff"
    assert {cell.policy for cell in PlayReader(found.ledger).cells()} == {"m\\udcff"}


def test_other_models_are_no_scripted_players(tmp_path):
    assert scripted("nano") is None
    assert scripted("http://localhost:8000/v1") is None
    (tmp_path / "script.jsonl").write_text('"a"\n')
    assert scripted(f"scripted:{tmp_path / 'script.jsonl'}") is None


def test_random_and_constant_play_to_the_end(tmp_path):
    found = target(tmp_path)
    for spec in ("scripted:random", "scripted:constant=12", "scripted:empty"):
        plan = calibration(found, spec, episodes=3)
        assert all(len(pair.plain.turns) == 2 or pair.plain.success for pair in plan.run())
