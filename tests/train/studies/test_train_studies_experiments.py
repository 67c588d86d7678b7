"""Experiments over one set of runs: their files, models that are made before, tables."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from spade_envs.errors import ConfigError
from spade_train.cli import main
from spade_train.config import resolve
from spade_train.errors import DataError
from spade_train.studies.arms import arm_config
from spade_train.studies.experiments import bootstrap, read_plan, run_plan
from spade_train.studies.plan import jobs, open_study, read_study
from spade_train.studies.statistics import interval
from spade_train.studies.study import gather
from spade_train.studies.tables import markdown
from train.reports.kit_runs import make_run

SHIPPED = Path(__file__).parents[3] / "examples" / "experiments"
COMMON = """
preset = "quickstart"
first = "coevolution"
seeds = 2
settings = ["evaluation.source=starter"]
"""
FILES = {
    "common": COMMON,
    "memory": 'title = "Memory"\nquestion = "Is it worth it?"\narms = ["no-memory"]\n',
    "sizes": 'title = "Sizes"\nquestion = "?"\narms = ["small", "no-memory"]\n'
    "[sizes.small]\nlayers = 2\ninner = 64\n",
}
MADE = """
import json, sys
folder, settings = sys.argv[1:]
open(folder + "/bootstrap.json", "w").write(json.dumps({"settings": json.loads(settings)}))
open(folder + "/../made", "a").write("x")
"""


@pytest.fixture
def files(tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / f"{name}.toml").write_text(text)
    return folder


def fake(size, folder):
    told = {"layers": size.layers, "inner": size.inner, "steps": size.steps, "seed": size.seed}
    return (sys.executable, "-c", MADE, str(folder), json.dumps(told))


def ran(plan, out):
    """Write the runs of a plan: `no-memory` gains .1, the small model .02, co-evolution .2."""
    open_study(plan.study, out)
    gains = {"coevolution": 0.2, "no-memory": 0.1, "small": 0.02}
    for job in jobs(plan.study):
        settings = [*plan.study.settings, *job.arm.settings]
        gain = gains[job.arm.name] + job.seed / 100
        make_run(job.folder(out), updates=5, seed=job.seed, gain=gain, settings=settings)


def test_the_shipped_experiments_name_arms_that_can_be_configured(tmp_path):
    plan = read_plan([SHIPPED], tmp_path)
    names = [each.name for each in plan.experiments]
    assert names == ["corpus", "memory", "pools", "scaling", "scores"]
    configs = {
        job.arm.name: arm_config(
            plan.study.preset, job.arm, seed=job.seed, settings=plan.study.settings
        )
        for job in jobs(plan.study)
    }
    assert configs["coevolution"].designer.score.name == "frontier"
    assert configs["solve-rate"].designer.score.name == "solve_rate"
    assert configs["no-corpus"].corpus.source == "none"
    assert not configs["no-memory"].memory.enabled
    assert configs["fixed-pool"].pool.source == "designer"
    small = [configs[name].model.path for name, _ in plan.sizes]
    assert small == [str(tmp_path / "models" / name) for name, _ in plan.sizes]
    assert len(small) == 2
    # Every arm is in some experiment, and the shared one is run once.
    assert (
        len(set(plan.study.arms))
        == len(plan.study.arms)
        == 1 + sum(len(each.study.arms) - 1 for each in plan.experiments)
    )


def test_experiments_share_runs_and_keep_their_own_tables(files, tmp_path):
    out = tmp_path / "out"
    plan = read_plan([files], out, seeds=3, settings=["agent.max_turns=7"])
    assert plan.study.arms == ("coevolution", "no-memory", "small")
    assert plan.study.settings == ("evaluation.source=starter", "agent.max_turns=7")
    ran(plan, out)
    memory, sizes = run_plan(plan, out, command=fake)
    assert (memory.experiment.study.arms, sizes.experiment.study.arms) == (
        ("coevolution", "no-memory"),
        ("coevolution", "small", "no-memory"),
    )
    rows = {row.arm: row for row in sizes.found.comparison.rows}
    assert rows["small"].gain.mean == pytest.approx(0.03)
    assert rows["small"].start.mean == pytest.approx(0.4)
    assert rows["small"].lead.mean == rows["small"].gain_lead.mean == pytest.approx(0.18)
    assert rows["small"].about.endswith("2 layers of inner width 64.")
    assert (out / "models" / "made").read_text() == "x"
    run_plan(plan, out, command=fake)
    assert (out / "models" / "made").read_text() == "x"  # made once
    assert read_study(out).arm("small") == plan.study.arm("small")
    # One experiment alone goes on in the same folder, and forgets no arm of the others.
    one = read_plan([files / "memory.toml"], out, seeds=3, settings=["agent.max_turns=7"])
    run_plan(one, out, command=fake)
    assert read_study(out).own == plan.study.own
    others = (
        ("inner = 64\nsteps = 5", "a model of other settings"),
        ("inner = 65", "a study with"),
    )
    for text, says in others:
        (files / "sizes.toml").write_text(FILES["sizes"].replace("inner = 64", text))
        other = read_plan([files], out, settings=["agent.max_turns=7"])
        with pytest.raises(ConfigError, match=f"holds {says}.*name a new folder"):
            run_plan(other, out, command=fake)


def test_arms_that_begin_elsewhere_are_compared_by_what_they_gain(files, tmp_path):
    out = tmp_path / "out"
    plan = read_plan([files / "memory.toml"], out)
    ran(plan, out)
    found = gather(plan.study, out).comparison
    same = markdown(found, title="T", question="Q")
    assert "\n* coevolution leads no-memory (the best baseline): +10.0 points" in same
    first, second = found.rows
    lower = replace(second, start=interval([0.1, 0.1]), gain=interval([-0.02, -0.02]))
    apart = markdown(replace(found, rows=(first, lower)), title="T", question="Q")
    assert "* no-memory: held-out success falls, by -2.0 points [-2.0, -2.0].\n" in apart
    assert "* Gain of coevolution minus that of no-memory: +10.0 points" in apart
    assert "leads" not in apart


@pytest.mark.parametrize("text", ["", '{"settings": {"layers"', "[]", "{}", '{"settings": 3}'])
def test_a_damaged_model_is_named_with_its_mend(text, files, tmp_path):
    folder = tmp_path / "out" / "models" / "small"
    plan = read_plan([files / "sizes.toml"], tmp_path / "out")
    with pytest.raises(DataError):
        run_plan(plan, tmp_path / "out", command=lambda *_: ("false",))
    (folder / "bootstrap.json").write_text(text)
    with pytest.raises(ConfigError, match=r"json is damaged; remove the folder .*small"):
        run_plan(plan, tmp_path / "out", command=fake)


def test_a_model_that_cannot_be_made_ends_it(files, tmp_path):
    plan = read_plan([files / "sizes.toml"], tmp_path / "out")
    said = []
    with pytest.raises(DataError, match=r"small could not be made; see models/small\.log"):
        run_plan(plan, tmp_path / "out", command=lambda *_: ("false",), say=said.append)
    assert said == ["making the model small"]
    assert read_study(tmp_path / "out") == plan.study  # the folder is taken before
    wrong = read_plan([files], tmp_path / "wrong", settings=["run.updaets=3"])
    with pytest.raises(ConfigError, match="updaets"):
        run_plan(wrong, tmp_path / "wrong", command=fake)
    assert not (tmp_path / "wrong").exists()
    words = bootstrap(dict(plan.sizes)["small"], Path("/m"))
    assert words[3:] == (
        *("nano", "bootstrap", "--out", "/m", "--samples", "0", "--episodes", "0"),
        *("--steps", "2300", "--layers", "2", "--inner", "64", "--seed", "0"),
    )


_SIZED = 'title = "a"\nquestion = "b"\narms = []\n[sizes."{}"]\nlayers = {}\ninner = 64\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("title = 3\n", "Expected `str`, got `int`"),
        ('title = "a"\nquestion = "b"\narms = ["no-memory"]\nseed = 1\n', "unknown field `seed`"),
        ('title = "a"\nquestion = "b"\narms = ["no-memroy"]\n', "no arm 'no-memroy'"),
        ('title = "a"\nquestion = "b"\narms = ["no-memory"]\nsizes = ["x"]\n', "sizes"),
        ("title = [\n", "memory.toml"),
        (_SIZED.format("../../x", 2), "not '../../x'"),
        (_SIZED.format("regret", 2), "there is an arm 'regret'"),
        (_SIZED.format("small", 4), "'small' is another one elsewhere"),
        (_SIZED.format("tiny", 0), ">= 1"),
        (_SIZED.format("tiny", -3), ">= 1"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(files, tmp_path, text, says):
    (files / "memory.toml").write_text(text)
    done = CliRunner().invoke(
        main, ["experiments", str(files), "--out", str(tmp_path / "out"), "--quiet"]
    )
    assert done.exit_code == 2, done.output
    assert says in done.stderr
    assert not (tmp_path / "out").exists()


def test_no_experiment_writes_over_the_study(files, tmp_path):
    (files / "memory.toml").rename(files / "study.toml")
    with pytest.raises(ConfigError, match=r"study\.toml: the folder of the runs has a file"):
        read_plan([files], tmp_path / "out")


def test_a_file_is_no_folder_of_runs(files, tmp_path):
    (tmp_path / "out").write_text("mine")
    done = CliRunner().invoke(main, ["experiments", str(files), "--out", str(tmp_path / "out")])
    assert done.exit_code == 2, done.output
    assert "is no folder" in done.stderr
    assert (tmp_path / "out").read_text() == "mine"


def test_the_command_prints_and_writes_the_tables(files, tmp_path):
    out = tmp_path / "out"
    ran(read_plan([files / "memory.toml"], out), out)
    run = [str(files / "memory.toml"), "--out", str(out)]
    done = CliRunner().invoke(main, ["experiments", *run])
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0] == "## Memory"
    first, second = (
        line for line in lines if line.startswith(("| coev", "| no-m")) and "40.0" in line
    )
    assert first.startswith("| coevolution | 2 | 40.0 % [40.0, 40.0] | 60.5 %")
    assert second.split(" | ")[-1] == "+10.0 [+10.0, +10.0] |"
    assert (out / "tables.md").read_text() == done.stdout.removesuffix("\n")
    assert "Is it worth it?" in done.stdout
    assert "<title>Memory" in (out / "memory.html").read_text()
    told = CliRunner().invoke(main, ["experiments", *run, "--json"])
    (only,) = json.loads(told.stdout)
    assert only == json.loads((out / "memory.json").read_text())
    assert (only["name"], only["comparison"]["rows"][1]["lead"]["seeds"]) == ("memory", 2)
    assert resolve(str(out / "runs" / "no-memory" / "seed-1" / "config.toml")).run.seed == 1
