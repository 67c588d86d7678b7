"""Many files at once, some of them hostile: all are reported, and nothing is left behind."""

import json
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest

from hostile.arena import descendants
from hostile.bulk import HOSTILE, fill, orphans, source
from spade_envs.gates import check
from spade_envs.gates.check import OUT_OF_TIME
from spade_envs.types import EnvSource

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox needs Linux")
DEADLINE_S = 60


def run(folder, *arguments):
    command = [sys.executable, "-m", "spade_envs", "check", str(folder), "--json", *arguments]
    with orphans() as left:
        begun = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, timeout=3000, check=False)
        spent = time.monotonic() - begun
    rows = json.loads(done.stdout)
    print(len(rows), "files,", f"{spent:.1f} s, rc {done.returncode},", len(left), "left,",
          dict(Counter(row["verdict"] for row in rows)), done.stderr[-500:])  # fmt: skip
    return done.returncode, rows, left


def judge(rows, bad, good_word):
    """Every file is there once; the hostile ones are refused, with a reason."""
    names = {str(path) for path in bad}
    assert len({row["target"] for row in rows}) == len(rows)
    for row in rows:
        expected = "refused" if row["target"] in names else good_word
        results = row["report"]["results"]
        why = [
            r["message"] for r in results if r["outcome"] == "fail" or OUT_OF_TIME in r["message"]
        ]
        assert row["verdict"] == expected, (row["target"], why, row["error"])
        assert bool(why) == (row["target"] in names), row["target"]


def test_a_sound_file_of_this_folder_is_accepted():
    report = check(EnvSource(code=source(1)))
    assert report.accepted, report.failures


def test_hostile_files_cost_the_others_nothing(tmp_path):
    chosen = 6
    bad = fill(tmp_path, sound=4, hostile=chosen)
    code, rows, left = run(tmp_path, "--quick", "--deadline", str(DEADLINE_S))
    assert (code, len(rows), left) == (1, 10, [])
    judge(rows, bad, "passes")


def test_nothing_is_left_behind_by_an_interrupt_or_a_kill(tmp_path):
    for number, name in enumerate(("hang in step", "hang and hold on", "a slow step")):
        (tmp_path / f"{number}.py").write_text(source(number, HOSTILE[name]))
    command = [sys.executable, "-m", "spade_envs", "check", str(tmp_path), "--deadline", "60"]
    for number in (signal.SIGINT, signal.SIGKILL):
        with orphans() as left:
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            with subprocess.Popen(command, start_new_session=True, **quiet) as started:
                until = time.monotonic() + 60
                while not descendants(started.pid) and time.monotonic() < until:
                    time.sleep(0.1)
                time.sleep(1.0)
                busy = len(descendants(started.pid))
                started.send_signal(number)
        assert (busy > 0, left) == (True, []), number


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("depth", ["quick", "standard"])
def test_200_files_of_which_20_and_more_are_hostile(tmp_path, depth):
    bad = fill(tmp_path, sound=200 - len(HOSTILE), hostile=len(HOSTILE))
    assert len(bad) >= 20
    more = ("--quick",) if depth == "quick" else ()
    code, rows, left = run(tmp_path, *more, "--deadline", str(DEADLINE_S))
    assert (code, len(rows), left) == (1, 200, [])
    judge(rows, bad, "passes" if depth == "quick" else "accepted")
