"""Studies over synthetic runs: arms, budgets, order, resumption, table, page."""

import json
import signal
import sys
import time
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from envs.reports.test_reports_page import Reader
from spade_envs.errors import ConfigError
from spade_train.cli import main
from spade_train.config import resolve
from spade_train.config.learning import Budget
from spade_train.reports import read
from spade_train.studies.arms import arm, arm_config, expected_updates
from spade_train.studies.comparison import verdicts
from spade_train.studies.curves import binned, evaluated
from spade_train.studies.document import StudyDocument, document, schema
from spade_train.studies.outcome import outcome, spent
from spade_train.studies.page import render
from spade_train.studies.plan import Job, jobs, open_study, read_study, study_of
from spade_train.studies.runner import run_study
from spade_train.studies.study import gather
from train.reports.kit_runs import event, make_run, write_lines

ARMS = ("coevolution", "fixed-pool", "random-designer")
GAINS = {"coevolution": 0.2, "fixed-pool": 0.1, "random-designer": 0.13}


def make_study(path, seeds=3):
    """Write the runs of a study: the gains above, and a little more for each seed."""
    study = study_of("quickstart", ARMS, tuple(range(seeds)))
    open_study(study, path)
    for job in jobs(study):
        make_run(
            job.folder(path),
            updates=12,
            seed=job.seed,
            overlays=job.arm.overlays,
            gain=GAINS[job.arm.name] + job.seed / 50 * (1 + 0.1 * (job.arm.name == "fixed-pool")),
        )
    return study


def test_arms_are_the_preset_with_an_overlay():
    first = arm_config("quickstart", arm("coevolution"), seed=3, settings=["agent.max_turns=7"])
    assert first == resolve("quickstart", settings=["run.seed=3", "agent.max_turns=7"])
    pool = arm_config("quickstart", arm("fixed-pool"), seed=0)
    assert pool == resolve("quickstart", overlays=["fixed-pool"])
    still = arm_config("quickstart", arm("lr0"), seed=0)
    assert still.optimizer.learning_rate == 0
    with pytest.raises(ConfigError, match=r"no arm 'coevolutoin'.*coevolution"):
        arm("coevolutoin")


def test_a_budget_ends_the_run_and_not_the_number_of_updates():
    budget = Budget(agent_episodes=11_520, generated_tokens=10**6)
    first = arm_config("quickstart", arm("coevolution"), seed=0, budget=budget)
    assert first.budget == budget
    # 32 environments x (24 + 12 / 2) episodes an update: 12 updates; four times as many at most
    assert expected_updates(first, budget) == 12
    assert first.run.updates == 48
    pool = arm_config("quickstart", arm("fixed-pool"), seed=0, budget=budget)
    assert expected_updates(pool, budget) == 15  # without hinted episodes
    falling = arm_config(
        "quickstart",
        arm("fixed-pool"),
        seed=0,
        budget=budget,
        settings=["optimizer.schedule=linear"],
    )
    assert falling.run.updates == 15  # the rate must reach its end


def test_a_study_is_taken_up_again_and_may_grow(tmp_path):
    study = study_of("quickstart", ("coevolution", "fixed-pool"), (0, 1), controls=("lr0",))
    assert [job.name for job in jobs(study)] == [
        "coevolution, seed 0",
        "coevolution, seed 1",
        "fixed-pool, seed 0",
        "lr0, seed 0",
        "fixed-pool, seed 1",
        "lr0, seed 1",
    ]
    open_study(study, tmp_path / "s")
    assert read_study(tmp_path / "s") == study
    open_study(study_of("quickstart", ARMS, tuple(range(5))), tmp_path / "s")
    with pytest.raises(ConfigError, match="another preset, first arm, budget or settings"):
        open_study(study_of("quickstart", ARMS, (0,), budget_episodes=9), tmp_path / "s")
    with pytest.raises(ConfigError, match="another preset, first arm"):
        open_study(study_of("quickstart", ("fixed-pool",), (0,)), tmp_path / "s")
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "note").write_text("mine")
    with pytest.raises(ConfigError, match="holds no study"):
        open_study(study, tmp_path / "x")
    with pytest.raises(ConfigError, match="each arm once"):
        study_of("quickstart", ("coevolution", "coevolution"), (0,))


FAKE = """
import sys
from pathlib import Path
sys.path[:0] = [{tests!r}, {src!r}]
from spade_train.config import resolve
from train.reports.kit_runs import make_run
config = resolve(sys.argv[1])
seed, folder = config.run.seed, Path(sys.argv[2])
if config.pool.source == "designer" and seed == 1:
    sys.exit("error: the pool broke")
make_run(folder, updates=5 + seed, seed=seed, settings=["evaluation.source=x"])
(folder / "config.toml").write_text(Path(sys.argv[1]).read_text())
"""


def fake(tmp_path):
    root = str(__file__).partition("/tests/")[0]
    script = tmp_path / "fake.py"
    script.write_text(FAKE.format(tests=f"{root}/tests", src=f"{root}/src"))
    return lambda file, folder: (sys.executable, str(script), str(file), str(folder))


def test_runs_wait_for_the_budget_of_the_first_arm(tmp_path):
    study = study_of("quickstart", ("coevolution", "fixed-pool"), (0, 1))
    out, seen = tmp_path / "study", []
    open_study(study, out)
    ended = run_study(
        study, out, at_once=2, command=fake(tmp_path), held_out="/h", show=seen.append
    )
    states = {progress.job.name: progress.state for progress in ended}
    notes = [progress.note for progress in ended]
    assert states == {
        "coevolution, seed 0": "done",
        "coevolution, seed 1": "done",
        "fixed-pool, seed 0": "done",
        "fixed-pool, seed 1": "failed",
    }, notes
    assert notes[:3] == ["", "", ""]
    assert notes[3].endswith("error: the pool broke")
    first = Job(arm("coevolution"), 0).folder(out)
    assert spent(first) == Budget(agent_episodes=5 * 1152, generated_tokens=5 * 30_000)
    pooled = read(Job(arm("fixed-pool"), 0).folder(out)).config
    assert pooled.budget == spent(first)
    assert pooled.evaluation.source == "/h"
    assert pooled.pool.source == "designer"
    at_most = [sum(progress.state == "running" for progress in runs) for runs in seen]
    assert max(at_most) <= 2
    # Taken up again, nothing that is done is run anew.
    again = run_study(study, out, command=lambda *_: ("false",))
    assert [progress.state for progress in again] == ["done", "done", "done", "failed"]
    found = gather(study, out, again)
    assert "fixed-pool, seed 1 failed" in found.comparison.failures[0]
    assert not found.interrupted


def test_an_interrupt_lets_runs_save_and_starts_no_more(tmp_path):
    study = study_of("quickstart", ("coevolution", "fixed-pool"), (0,))
    open_study(study, tmp_path / "s")
    saved = tmp_path / "saved"
    script = f"trap 'echo > {saved}; exit 0' TERM; while :; do sleep 0.05; done"

    def interrupt(runs):
        if runs[0].state == "running":
            time.sleep(0.5)  # the shell must have set its trap
            signal.raise_signal(signal.SIGTERM)

    ended = run_study(
        study, tmp_path / "s", command=lambda *_: ("bash", "-c", script), show=interrupt
    )
    assert [progress.state for progress in ended] == ["stopped", "waiting"]
    assert saved.is_file()
    assert gather(study, tmp_path / "s", ended).interrupted


def test_a_run_without_an_end_is_no_outcome(tmp_path):
    run = make_run(tmp_path / "run", updates=4, ended="signal SIGTERM")
    assert outcome(read(run), "a", 0) is None
    assert spent(run) is None
    write_lines(run / "events.jsonl", [event("stopped", 4, why="budget: generated_tokens")])
    found = outcome(read(run), "a", 0)
    assert (found.held_out, found.held_out_first) == (pytest.approx(0.6), pytest.approx(0.4))
    assert found.groups["level-10"] == pytest.approx(0.3)


def test_the_table_and_its_words(tmp_path):
    found = gather(make_study(tmp_path / "s"), tmp_path / "s")
    comparison = found.comparison
    rows = {row.arm: row for row in comparison.rows}
    assert rows["coevolution"].held_out.mean == pytest.approx(0.62)
    assert rows["coevolution"].lead is None
    assert comparison.best_baseline == "random-designer"
    # Seed by seed .07 more; the seeds themselves differ by .02 each, which cancels out.
    assert rows["random-designer"].lead.mean == pytest.approx(0.07)
    assert rows["random-designer"].lead.deviation == pytest.approx(0, abs=1e-9)
    # .1 more, less .002 for each seed: mean .098, deviation .002
    assert rows["fixed-pool"].lead.mean == pytest.approx(0.098)
    assert rows["fixed-pool"].lead.low == pytest.approx(0.098 - 4.3027 * 0.002 / 3**0.5, abs=1e-6)
    assert rows["fixed-pool"].gain.mean == pytest.approx(0.122)
    assert rows["coevolution"].regret_last.above_zero
    assert rows["coevolution"].level_rise.mean == pytest.approx(9 / 11)
    words = verdicts(comparison)
    assert words[0].startswith("coevolution leads random-designer (the best baseline): +7.0 points")
    assert words[1].startswith("coevolution leads fixed-pool: +9.8 points [+9.3, +10.3]")
    assert "regret stays positive" in words[3]
    assert "the level of new environments rises, by 0.82" in words[4]
    published = Path(__file__).parents[3] / "docs" / "compare.schema.json"
    assert json.loads(published.read_text("utf-8")) == json.loads(json.dumps(schema()))
    plain = json.loads(json.dumps(document(comparison, found.outcomes)))
    assert msgspec.convert(plain, StudyDocument).runs[0].arm == "coevolution"


def test_bad_news_is_told(tmp_path):
    study = study_of("quickstart", ("fixed-pool", "coevolution"), (0, 1, 2))
    make_study(tmp_path / "s")
    comparison = gather(study, tmp_path / "s").comparison
    assert verdicts(comparison)[0].startswith("fixed-pool trails coevolution")
    half = study_of("quickstart", ("coevolution", "fixed-pool"), (0,))
    assert "one seed, no interval" in verdicts(gather(half, tmp_path / "s").comparison)[0]
    none = gather(study_of("quickstart", ("lr0",), (7,)), tmp_path / "s").comparison
    assert verdicts(none) == ("No run of lr0 has finished, so nothing can be said.",)


def test_curves_are_over_cost_and_seeds(tmp_path):
    runs = [
        make_run(tmp_path / f"{seed}", updates=11, seed=seed, gain=seed / 10) for seed in (0, 1)
    ]
    found = evaluated("x", [read(run) for run in runs])
    # Evaluated before update 0, and before update 10.
    assert found.updates.tolist() == [0, 10 * 1152]
    assert found.values == pytest.approx([0.4, 0.45])
    assert found.errors == pytest.approx([0, 0.05])
    level = binned("x", [read(run) for run in runs], "agent/level_mean")
    assert level.values[0] == pytest.approx(1.0)
    assert level.values[-1] == pytest.approx(2.0)
    assert not binned("x", [read(run) for run in runs], "nothing")
    assert not evaluated("x", [])


def test_the_page_of_a_study(tmp_path):
    found = gather(make_study(tmp_path / "s", seeds=2), tmp_path / "s")
    page = render(found.comparison, found.records, title="a & b", made_at="now")
    text = Reader(page).text
    assert page.count('<svg class="plot"') == 8
    assert "coevolution leads random-designer (the best baseline): +7.0 points" in text
    assert "A run is one observation" in text
    assert "a & b" in text
    assert "level-10" in text


def test_the_command_prints_the_table_of_what_is_done(tmp_path, monkeypatch):
    make_study(tmp_path / "s")
    monkeypatch.setattr("spade_train.studies.study.write_heldout", lambda *_, **__: None)
    arms = ["--arms", ",".join(ARMS), "--seeds", "3", "--out", str(tmp_path / "s")]
    done = CliRunner().invoke(main, ["compare", *arms])
    assert done.exit_code == 0, done.output
    assert "random-designer  3  55.0 % [50.0, 60.0]  +7.0 [+7.0, +7.0]" in done.stdout
    assert (tmp_path / "s" / "compare.html").is_file()
    assert json.loads((tmp_path / "s" / "compare.json").read_text())["format"] == 1
    done = CliRunner().invoke(main, ["compare", *arms, "--set", "agent.max_turns=3"])
    assert (done.exit_code, "holds a study with another preset" in done.stderr) == (2, True)
