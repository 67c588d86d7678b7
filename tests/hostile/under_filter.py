"""Run a few attacks where the kernel refuses some system calls, as in a strict container.

Arguments: the user id to run as, then the names of the calls that fail with EPERM.
Prints a JSON object: active layers, failures, whether killed hosts leave processes, or the error.
"""

import errno
import json
import os
import sys
import time
from pathlib import Path

import pyseccomp

sys.path.insert(0, str(Path(__file__).parents[1]))


def main() -> None:
    user, *denied = sys.argv[1:]
    if int(user) != os.getuid():
        from hostile.as_nobody import become_nobody

        become_nobody()
    rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    for name in denied:
        rules.add_rule(pyseccomp.ERRNO(errno.EPERM), name)
    rules.load()

    from hostile.arena import Arena, descendants
    from hostile.attacks_outside import FILES, KERNEL, NETWORK, PROCESSES, SECRETS
    from spade_envs.errors import IsolationUnavailable

    try:
        arena = Arena()
    except IsolationUnavailable as error:
        print(json.dumps({"refused": str(error)}))
        return
    failures = {}
    for attack in (*FILES, *SECRETS, *NETWORK, *PROCESSES, *KERNEL):
        try:
            arena.run(attack)
        except AssertionError as error:
            failures[attack.name] = str(error)
    active = [layer.name for layer in arena.sandbox.layers if layer.active]
    zygote = arena.sandbox._zygote
    below = descendants(zygote.pid)
    arena.close()
    deadline = time.monotonic() + 5
    while (left := [pid for pid in below if pid in descendants(1)]) and time.monotonic() < deadline:
        time.sleep(0.02)
    print(json.dumps({"layers": active, "failures": failures, "left": left}))


if __name__ == "__main__":
    main()
