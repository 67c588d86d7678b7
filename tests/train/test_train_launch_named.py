"""A new run that names what is not there ends before anything is written."""

import pytest

pytest.importorskip("trl")

from click.testing import CliRunner

from spade_train.cli import main
from spade_train.cli.run import _doing
from spade_train.config import resolve
from spade_train.launch import train

_SUITES = 'evaluation.suites=["heldout,store=gone"]'
_POOL = ("--overlay", "fixed-pool")


def _run(*words):
    return CliRunner().invoke(main, ["run", "quickstart", *words, "--out", "runs/new"])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((*_POOL, "--set", "pool.source=gone"), 'pool.source = "gone": '),
        ((*_POOL, "--set", "pool.source=starter", "--set", "pool.ids=spade/gone-v0"), "pool.ids: "),
        ((*_POOL, "--set", "pool.source=starter", "--set", "pool.ids=gone.txt"), "pool.ids: "),
        (("--set", "designer.fallback=gone"), 'designer.fallback = "gone": '),
        (("--set", "evaluation.source=gone"), 'evaluation.source = "gone": '),
        (
            (*_POOL, "--set", "pool.source=gone", "--set", "evaluation.source=pool"),
            'pool.source = "gone": ',
        ),
        (("--set", "model.path=./gone"), 'model.path = "./gone": '),
        (("--set", "corpus.source=gone"), 'corpus.source = "gone": '),
        (("--set", _SUITES), "evaluation.suites: "),
        (("--set", "evaluation.suites=gone"), "evaluation.suites: "),
    ],
)
def test_what_is_not_there_is_named_by_its_key_and_no_folder_is_made(
    words, told, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    done = _run(*words, "--quiet")
    assert done.exit_code == 2
    assert done.stderr.startswith(f"error: {told}")
    assert "gone" in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_a_model_is_refused_before_the_folder_is_made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model").mkdir()
    done = _run("--set", "model.path=model", "--quiet")
    assert done.exit_code == 2
    assert done.stderr.startswith('error: model.path = "model": ')
    assert [each.name for each in tmp_path.iterdir()] == ["model"]


def test_the_same_command_runs_once_it_is_corrected(tmp_path):
    small = (
        "run.updates=1",
        "designer.environments=1",
        "agent.episodes_per_env=2",
        "agent.episodes_per_instance=2",
        "agent.max_turns=1",
        "agent.sampling.max_tokens=4",
        "evaluation.episodes=0",
        "rollout.workers=1",
    )
    out = tmp_path / "run"
    for source in ("gone", "starter"):
        config = resolve(
            "quickstart", overlays=["fixed-pool"], settings=[*small, f"pool.source={source}"]
        )
        if source == "gone":
            with pytest.raises(ValueError, match=r"pool\.source"):
                train(config, out)
        else:
            assert train(config, out).updates == 1


def test_a_taken_folder_is_told_before_the_model_is_looked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs" / "new").mkdir(parents=True)
    (tmp_path / "runs" / "new" / "notes").touch()
    done = _run("--set", "model.path=./gone", "--quiet")
    assert done.exit_code == 2
    assert "is not empty (it has notes)" in done.stderr


def test_a_run_says_at_once_what_it_does(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = _run("--set", "model.path=./gone").stderr.splitlines()
    assert lines[0] == "loading the model, writing held-out environments, first evaluation ..."
    assert lines[1].startswith("error: model.path")


def test_what_a_run_does_first_depends_on_its_configuration():
    assert _doing(resolve("quickstart", settings=["evaluation.episodes=0"])) == (
        "loading the model ..."
    )
    assert _doing(resolve("quickstart", settings=["evaluation.interval=0"])) == (
        "loading the model, writing held-out environments ..."
    )
    assert _doing(None) == "going on: loading the model and the newest checkpoint ..."


@pytest.mark.parametrize("key", ["designer.fallback", "evaluation.source"])
def test_a_comparison_names_a_misspelt_store_before_it_begins(key, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["compare", "--arms", "coevolution,lr0", "--seeds", "1", "--set", f"{key}=gone"]
    done = CliRunner().invoke(main, [*words, "--quiet"])
    assert done.exit_code == 2
    assert done.stderr.startswith(f'error: {key} = "gone": ')
    assert list(tmp_path.iterdir()) == []
