"""Every attack again, as an unprivileged user."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox needs Linux")


@pytest.mark.skipif(
    hasattr(os, "getuid") and os.getuid() != 0,
    reason="not root: the other hostile tests already run unprivileged",
)
@pytest.mark.timeout(300)
def test_nothing_gets_out_as_uid_65534():
    script = Path(__file__).with_name("as_nobody.py")
    result = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=280, check=False
    )
    if "unshare" in result.stderr or "mount" in result.stderr:
        pytest.skip("this root may not make a mount namespace, so Python is out of reach for 65534")
    assert result.returncode == 0, result.stderr[-3000:]
    report = json.loads(result.stdout.splitlines()[-1])
    assert report["uid"] == 65534
    assert report["ran"] >= 80
    assert report["failures"] == {}
    assert {"seccomp", "rlimits", "no-new-privs"} <= set(report["layers"])
