"""Run every attack as uid 65534; started by root in a process of its own.

Python may live where that user may not go (under /root). So the process first enters a mount
namespace of its own, in which each closed folder above Python is replaced by an open one that
holds only the path onward. Nothing of the real file system is changed.

Prints a JSON object: how many attacks ran, and what went wrong with each that failed.
"""

import json
import os
import stat
import sys
from pathlib import Path

NOBODY = 65534


def open_the_way(target: Path) -> None:
    """Make `target` reachable for everyone, in this process's mount namespace only."""
    from spade_envs.sandbox import linux

    for parent in reversed(target.parents):
        if parent == Path("/") or parent.stat().st_mode & stat.S_IXOTH:
            continue
        onward = parent / target.relative_to(parent).parts[0]
        descriptor = os.open(onward, os.O_PATH)
        linux.mount("none", str(parent), "tmpfs", 0, "mode=755")
        onward.mkdir()
        linux.mount(f"/proc/self/fd/{descriptor}", str(onward), None, linux.MS_BIND | linux.MS_REC)
        os.close(descriptor)


def become_nobody() -> None:
    from spade_envs.sandbox import linux

    linux.unshare(linux.CLONE_NEWNS)
    linux.mount(None, "/", None, linux.MS_REC | linux.MS_PRIVATE)
    for needed in {Path(sys.base_prefix), Path(sys.prefix), *(Path(p) for p in sys.path if p)}:
        if needed.exists():
            open_the_way(needed.resolve())
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    linux.set_dumpable(True)


def main() -> None:
    sys.path.insert(0, str(Path(__file__).parents[1]))
    become_nobody()
    from hostile.arena import Arena, missed
    from hostile.attacks_inside import INSIDE
    from hostile.attacks_outside import OUTSIDE
    from hostile.attacks_resources import RESOURCES

    arena, failures = Arena(), {}
    attacks = OUTSIDE + RESOURCES + INSIDE
    for attack in attacks:
        try:
            kinds = [fault.kind for fault in arena.run(attack) if fault is not None]
            if missed(attack, kinds):
                failures[attack.name] = f"{attack.expect} not in {kinds}"
        except AssertionError as error:
            failures[attack.name] = str(error)
    active = [layer.name for layer in arena.sandbox.layers if layer.active]
    arena.close()
    print(json.dumps({"uid": os.getuid(), "ran": len(attacks), "failures": failures,
                      "layers": active}))  # fmt: skip


if __name__ == "__main__":
    main()
