"""Two processes do together what one does alone."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("trl")

from spade_train.config import resolve
from spade_train.launch import train
from spade_train.runs import read_events, read_metrics

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SETTINGS = (
    "run.updates=2",
    "designer.environments=4",
    "designer.skills_per_epoch=2",
    "designer.sampling.max_tokens=320",
    "designer.delay=1",
    "agent.episodes_per_env=4",
    "agent.episodes_per_instance=2",
    "agent.max_turns=3",
    "agent.sampling.max_tokens=12",
    "hint.episodes_per_env=2",
    "hint.writer=policy",
    "hint.sampling.max_tokens=8",
    "evaluation.environments=2",
    "evaluation.episodes=8",
    "evaluation.interval=1",
)


def test_two_processes_play_what_one_plays(tmp_path):
    sets = [part for each in SETTINGS for part in ("--set", each)]
    run = subprocess.run(
        [
            *(sys.executable, "-m", "torch.distributed.run", "--standalone"),
            *("--nproc-per-node", "2", "-m", "spade_train"),
            *("run", "quickstart", *sets, "--out", tmp_path / "two"),
        ],
        env={**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == str(tmp_path / "two")
    train(resolve("quickstart", settings=SETTINGS), tmp_path / "one")
    one, two = (read_metrics(tmp_path / name / "metrics.jsonl") for name in ("one", "two"))
    assert [line["update"] for line in two] == [line["update"] for line in one] == [0, 1, 2]
    played = {key: value for key, value in one[0].items() if not key.startswith("train/")}
    assert {key: two[0][key] for key in played} == pytest.approx(played)
    events = read_events(tmp_path / "two" / "events.jsonl")
    assert sum(event["kind"] == "designed" for event in events) == 4
    assert sum(event["kind"] == "stopped" for event in events) == 1
