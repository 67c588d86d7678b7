"""Containers that forbid namespaces or Landlock: what is left must hold, or nothing runs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox needs Linux")

USERS = [os.getuid(), 65534] if hasattr(os, "getuid") and os.getuid() == 0 else [os.getuid()]


def run(user: int, *denied: str) -> dict:
    script = Path(__file__).with_name("under_filter.py")
    result = subprocess.run(
        [sys.executable, str(script), str(user), *denied],
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    if "become_nobody" in result.stderr and "OSError" in result.stderr:
        pytest.skip("this root may not make a mount namespace, so Python is out of reach for 65534")
    assert result.returncode == 0, result.stderr[-3000:]
    return json.loads(result.stdout.splitlines()[-1])


@pytest.mark.parametrize("user", USERS)
def test_without_namespaces_landlock_and_seccomp_hold(user):
    report = run(user, "unshare")
    if "refused" in report:
        assert "landlock" in report["refused"]
        pytest.skip("this kernel has no Landlock either, and the sandbox refuses to run")
    assert "namespaces" not in report["layers"]
    assert {"landlock", "seccomp", "rlimits", "no-new-privs"} <= set(report["layers"])
    assert report["failures"] == {}
    assert report["left"] == []


def test_without_namespaces_and_landlock_nothing_runs():
    report = run(USERS[0], "unshare", "landlock_create_ruleset")
    assert "landlock or namespaces" in report["refused"]
    assert "CAP_SYS_ADMIN" in report["refused"]


def test_without_seccomp_nothing_runs():
    report = run(USERS[0], "seccomp", "unshare", "landlock_create_ruleset")
    assert "refused" in report
