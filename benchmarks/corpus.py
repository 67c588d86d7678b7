"""A corpus of many GiB: memory of indexing and drawing, and how soon a passage is there."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.timing import Claim, Result, Scale, Series

MEMORY_BAR_MIB = 500
FIRST_BAR_S = 2.0
DRAWS = 1000

CHILD = """
import json, sys, time
from spade_envs.corpus import Cursor, open_corpus
path, seed, draws = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
corpus = open_corpus(path)
passage, cursor = corpus.draw(Cursor(seed=seed))
print(json.dumps([len(corpus), passage.source, time.process_time()]), flush=True)
for _ in range(draws):
    passage, cursor = corpus.draw(cursor)
status = open("/proc/self/status").read()
print(json.dumps(int(status.partition("VmHWM:")[2].split()[0]) / 1024), flush=True)
"""


@dataclass(frozen=True)
class Opened:
    """What a fresh process saw of the corpus."""

    passages: int
    first_s: float
    first_cpu_s: float
    resident_mib: float


def run(scale: Scale) -> Result:
    """Index a synthetic JSONL file once, then open it and draw in fresh processes."""
    with tempfile.TemporaryDirectory(prefix="spade-corpus-") as folder:
        path = Path(folder, "synthetic.jsonl")
        rows = write(path, scale.corpus_mib << 20)
        begun = time.perf_counter()
        made = child(path, folder, seed=0, draws=0)
        indexing_s = time.perf_counter() - begun
        found = [child(path, folder, seed=1 + n, draws=DRAWS) for n in range(scale.rounds)]
    name = "first passage, fresh process, other seed"
    first = Series(name, "s", tuple(one.first_s for one in found))
    worked = Series("the same", "processor s", tuple(one.first_cpu_s for one in found))
    drawing = Series(
        f"drawing {DRAWS} passages", "MiB resident", tuple(one.resident_mib for one in found)
    )
    indexing = Series("indexing", "MiB resident", (made.resident_mib,))
    claims = (
        Claim("memory at its peak, indexing, in MiB", made.resident_mib, MEMORY_BAR_MIB, False),
        Claim("memory at its peak, drawing, in MiB", drawing.median, MEMORY_BAR_MIB, False),
        Claim("seconds until the first passage, index there", first.median, FIRST_BAR_S, False),
    )
    rate = scale.corpus_mib / indexing_s
    notes = (
        f"{scale.corpus_mib} MiB, {rows} rows, {made.passages} passages",
        f"indexed in {indexing_s:.0f} s ({made.first_cpu_s:.0f} of processor), {rate:.1f} MiB/s",
    )
    return Result("corpus", (first, worked, indexing, drawing), claims, notes)


def write(path: Path, size: int) -> int:
    """Write rows of 20 to 900 words until the file has `size` bytes; return how many."""
    rng = random.Random(0)
    words = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(2, 9))) for _ in range(5000)]
    sentences = [
        " ".join(rng.choices(words, k=rng.randint(6, 18))).capitalize() + "." for _ in range(20_000)
    ]
    count = written = 0
    with path.open("w", encoding="ascii") as file:
        while written < size:
            text = " ".join(rng.choices(sentences, k=rng.randint(2, 75)))
            row = {"text": text, "title": f"Synthetic {count}", "licence": "CC0-1.0"}
            written += file.write(json.dumps(row) + "\n")
            count += 1
    return count


def child(path: Path, folder: str, *, seed: int, draws: int) -> Opened:
    """Open the corpus in a fresh process and draw."""
    environ = {**os.environ, "SPADE_CORPUS_CACHE": str(Path(folder, "cache"))}
    begun = time.perf_counter()
    command = [sys.executable, "-c", CHILD, str(path), str(seed), str(draws)]
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) as running:
        out: Any = running.stdout
        passages, source, cpu_s = json.loads(out.readline())
        first_s = time.perf_counter() - begun
        resident_mib = json.loads(out.readline())
    assert source.startswith("synthetic.jsonl#"), source
    return Opened(passages, first_s, cpu_s, resident_mib)
