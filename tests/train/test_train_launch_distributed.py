"""Two processes of `spade-train run` give the records of one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SMALL = {
    "run.updates": 2,
    "designer.environments": 8,
    "agent.episodes_per_env": 8,
    "hint.episodes_per_env": 4,
    "evaluation.episodes": 0,
}


def run(folder: Path, launcher: list[str]) -> list[dict]:
    settings = [part for key, value in SMALL.items() for part in ("--set", f"{key}={value}")]
    command = ["-m", "spade_train", "run", "quickstart", "--out", str(folder), "--quiet", *settings]
    one_thread = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
    subprocess.run(
        [sys.executable, *launcher, *command], check=True, env={**os.environ, **one_thread}
    )
    return [json.loads(line) for line in (folder / "metrics.jsonl").open()]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_two_processes_give_the_metrics_of_one(tmp_path: Path) -> None:
    one = run(tmp_path / "one", [])
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    two = run(tmp_path / "two", launcher)
    assert len(one) == len(two) == 2
    # Sums in another order move a gradient by a few units in the last place of float32.
    for alone, together in zip(one, two, strict=True):
        assert together.keys() == alone.keys()
        assert together == pytest.approx(alone, rel=1e-3, abs=1e-6)
    assert one[0]["agent/success_hinted"] > 0
    assert one[1]["train/grad_norm"] > 0
