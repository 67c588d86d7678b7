"""A run whose gates and episodes are on a Ray cluster has the records of a local one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="`make test-ray` runs these in their own environment")

pytestmark = pytest.mark.timeout(900)
SMALL = {
    "run.updates": 2,
    "designer.environments": 6,
    "agent.episodes_per_env": 8,
    "hint.episodes_per_env": 4,
    "evaluation.episodes": 0,
    "rollout.workers": 2,
}


def metrics(folder: Path, backend: str) -> bytes:
    wanted = {**SMALL, "rollout.backend": backend}
    settings = [part for key, value in wanted.items() for part in ("--set", f"{key}={value}")]
    command = ["-m", "spade_train", "run", "quickstart", "--out", str(folder), "--quiet", *settings]
    one_thread = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
    known = {key: value for key, value in os.environ.items() if key != "RAY_ADDRESS"}
    subprocess.run([sys.executable, *command], check=True, env={**known, **one_thread})
    return (folder / "metrics.jsonl").read_bytes()


def test_the_metrics_equal_those_of_a_local_run_to_the_last_digit(tmp_path: Path) -> None:
    local = metrics(tmp_path / "local", "local")
    assert local.count(b"\n") == 2
    assert metrics(tmp_path / "ray", "ray") == local
