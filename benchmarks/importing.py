"""`import spade_envs` with a large store, beside `import gymnasium`, each in a fresh process."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from benchmarks.timing import Claim, Measure, Result, Scale, Series, interleave
from benchmarks.workload import publish, scratch_store
from spade_envs.store import EnvStore, index
from spade_envs.store.layout import ENVS

EXTRA_BAR_S = 0.6

_IMPORT_GYMNASIUM = "import gymnasium"
_IMPORT_OURS = """\
import gymnasium, spade_envs
found = sum(spec.kwargs.get("store") == {store!r} for spec in gymnasium.registry.values())
assert found == {count}, found
"""
_MAKE = """\
import gymnasium, spade_envs
env = gymnasium.make({id!r})
assert env.reset(seed=0)[0].startswith("A dark room")
env.close()
"""
_TIMED = """\
import time
start = time.perf_counter()
{body}
print(time.perf_counter() - start)
"""


def run(scale: Scale) -> Result:
    """Measure seconds inside a fresh process, from its first import to the end of the job."""
    with scratch_store() as store:
        made = _fill(store, scale.stored)
        fields = {"store": str(store.root), "count": scale.stored, "id": made}
        environ = {**os.environ, "SPADE_ENVSTORE": str(store.root)}
        labels = {
            "import gymnasium": _IMPORT_GYMNASIUM,
            f"import spade_envs, {scale.stored} stored": _IMPORT_OURS.format(**fields),
            "the same, gym.make, reset, close": _MAKE.format(**fields),
        }
        contenders = {label: _timed(body, environ) for label, body in labels.items()}
        taken = interleave(scale, contenders)
    series = tuple(Series(name, "s", samples) for name, samples in taken.items())
    extra = series[1].median - series[0].median
    text = f"import spade_envs, {scale.stored} stored: seconds more than import gymnasium"
    return Result("importing", series, (Claim(text, extra, EXTRA_BAR_S, False),))


def _timed(body: str, environ: dict[str, str]) -> Measure:
    command = [sys.executable, "-c", _TIMED.format(body=body)]

    def measure() -> float:
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return float(done.stdout)

    return measure


def _fill(store: EnvStore, count: int) -> str:
    """Publish one environment, and give the index `count` lines; the others have empty folders.

    Importing looks at names, ages and the index only, so this is what it meets in a true store that
    was filled an hour ago.
    """
    record = publish(store)
    (line,) = index.load(store.root)
    lines = [line]
    for number in range(1, count):
        name = f"bench.room-{number:05d}"
        (store.root / ENVS / name / "v0").mkdir(parents=True)
        lines.append(_renamed(line, f"spade/{name}-v0", number))
    earlier_s = time.time() - 3600
    for folder in (store.root / ENVS).iterdir():
        os.utime(folder, (earlier_s, earlier_s))
    index.write_index(store.root, lines, scanned_at_ns=time.time_ns())
    return record.id


def _renamed(line: index.IndexLine, env_id: str, number: int) -> index.IndexLine:
    values = {name: getattr(line, name) for name in index.IndexLine.__struct_fields__}
    return index.IndexLine(**{**values, "id": env_id, "digest": f"sha256:{number:064x}"})
