"""Whole runs with the bundled tiny model."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

pytest.importorskip("trl")

from spade_envs.errors import ConfigError
from spade_train.config import resolve
from spade_train.errors import HealthError
from spade_train.launch import train
from spade_train.runs import read_events, read_metrics

# Most of it is loading torch; a busy machine may need minutes.
pytestmark = pytest.mark.timeout(600)

SMALL = (
    "run.updates=3",
    "run.save_interval=1",
    "designer.environments=3",
    "designer.skills_per_epoch=1",
    "designer.sampling.max_tokens=320",
    "agent.episodes_per_env=4",
    "agent.episodes_per_instance=2",
    "agent.max_turns=3",
    "agent.sampling.max_tokens=12",
    "hint.episodes_per_env=2",
    "designer.score.name=regret",
    "evaluation.episodes=0",
    "rollout.workers=1",
)


def _config(*settings):
    return resolve("quickstart", settings=(*SMALL, *settings))


@contextmanager
def _started(folder, *settings):
    sets = [part for each in (*SMALL, *settings) for part in ("--set", each)]
    command = [sys.executable, "-m", "spade_train", "run", "quickstart", *sets, "--out", folder]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _wait_for(process, path, lines):
    while process.poll() is None:
        if path.exists() and path.read_bytes().count(b"\n") >= lines:
            return
        time.sleep(0.02)
    raise AssertionError(process.communicate()[1])


def _plays(folder):
    """Return the whole ledger of a run's store, without the run's name."""
    (ledger,) = (folder / "envstore" / "ledger").glob("plays-run-*.jsonl")
    lines = [json.loads(line) for line in ledger.read_bytes().splitlines()]
    (run,) = {line.pop("policy") for line in lines}
    assert ledger.stem == f"plays-run-{run}"
    return [{**line, "key": line["key"].removeprefix(run)} for line in lines]


def test_a_killed_run_resumes_to_the_same_metrics(tmp_path):
    with _started(tmp_path / "killed") as process:
        _wait_for(process, tmp_path / "killed" / "metrics.jsonl", 2)
        process.kill()
    whole = train(_config(), tmp_path / "whole")
    resumed = train(None, tmp_path / "killed", resume=True)
    kept = (tmp_path / "whole" / "metrics.jsonl").read_bytes()
    assert (tmp_path / "killed" / "metrics.jsonl").read_bytes() == kept
    assert whole.updates == resumed.updates == 3
    assert whole.stopped == resumed.stopped == "updates"
    assert _plays(tmp_path / "killed") == _plays(tmp_path / "whole")
    assert {line["key"][:2] for line in _plays(tmp_path / "whole")} == {"/0", "/1", "/2"}
    # It did learn something, or the comparison would say little.
    lines = read_metrics(tmp_path / "whole" / "metrics.jsonl")
    assert any(line["train/grad_norm"] > 0 for line in lines)
    assert {event["kind"] for event in read_events(tmp_path / "killed" / "events.jsonl")} >= {
        "resumed",
        "designed",
        "scored",
        "times",
        "checkpoint",
        "stopped",
    }
    summary = json.loads((tmp_path / "killed" / "summary.json").read_bytes())
    assert 0.0 < summary["outside_model"] < 1.0
    assert summary["seconds"]["model_s"] > 0.0


def test_a_signal_ends_the_run_after_its_update_with_a_checkpoint(tmp_path):
    def watch(update, values):
        if update == 1:
            os.kill(os.getpid(), signal.SIGTERM)

    settings = ("run.updates=500", "run.save_interval=400")
    summary = train(_config(*settings), tmp_path / "run", watch=watch)
    assert summary.stopped == "signal SIGTERM"
    assert summary.updates == 2
    assert (tmp_path / "run" / "checkpoints" / "update-00000002").is_dir()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_run_stops_by_its_health_limits_and_says_so(tmp_path):
    with pytest.raises(HealthError, match=r"min_accepted_share = 100%"):
        train(
            _config("health.min_accepted_share=1.0", "designer.sampling.temperature=5.0"),
            tmp_path / "run",
        )
    summary = json.loads((tmp_path / "run" / "summary.json").read_bytes())
    assert summary["stopped"].startswith("health: the gates accepted 0 of 3 programs")


def test_a_folder_that_holds_a_run_is_refused(tmp_path):
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(ConfigError, match="holds a run already"):
        train(_config(), tmp_path)
