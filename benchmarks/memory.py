"""The memory with 100,000 vectors: adding, exact search, and the graph that serves more.

The vectors lie in clusters, as those of environments do, and so do the questions: points of the
same clusters that are not in the store.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.timing import Claim, Result, Scale, Series
from spade_envs.memory.embedders import Fingerprint
from spade_envs.memory.embedders.base import Vectors
from spade_envs.memory.index import Index
from spade_envs.memory.vectors import VectorReader, VectorWriter

DIMENSION = 384
K, K_RECALL = 8, 10
ADD_BAR, EXACT_BAR_MS, GRAPH_BAR_MS, RECALL_BAR = 20_000.0, 60.0, 5.0, 0.95
_BATCH = 4096


def run(scale: Scale) -> Result:
    """Measure vectors kept and indexed per second, and milliseconds per question."""
    rows, questions = clustered(scale.vectors, scale.questions)
    digests = [f"sha256:{number:064x}" for number in range(len(rows))]
    added = [_add_all(rows, digests) for _ in range(min(3, scale.rounds))]
    exact = Index(DIMENSION)
    exact.add(rows)
    graph = Index(DIMENSION, graph=True)
    start = time.perf_counter()
    graph.add(rows)
    built_s = time.perf_counter() - start
    asked: dict[str, list[float]] = {"exact": [], "graph": []}
    for question in questions:  # taking turns
        asked["exact"].append(_ask(exact, question))
        asked["graph"].append(_ask(graph, question))
    recall = float(np.mean([_recall(exact, graph, question) for question in questions]))
    series = (
        Series(f"keep and index {len(rows)} vectors", "vectors/s", (float(np.median(added)),)),
        Series(f"exact, k={K}", "ms, p50", (float(np.median(asked["exact"])),)),
        Series(f"graph, k={K}", "ms, p50", (float(np.median(asked["graph"])),)),
        Series("build the graph", "s", (built_s,)),
        Series(f"graph, recall@{K_RECALL}", "share", (recall,)),
    )
    claims = (
        Claim("vectors kept and indexed per second", series[0].median, ADD_BAR, True),
        Claim(f"exact, k={K}: ms, p50", series[1].median, EXACT_BAR_MS, False),
        Claim(f"graph, k={K}: ms, p50", series[2].median, GRAPH_BAR_MS, False),
        Claim(f"graph, recall@{K_RECALL}", recall, RECALL_BAR, True),
    )
    notes = (
        f"{len(rows)} vectors of {DIMENSION} in clusters of about 100, {len(questions)} questions; "
        f"exact p90 {np.quantile(asked['exact'], 0.9):.3g} ms, "
        f"graph p90 {np.quantile(asked['graph'], 0.9):.3g} ms",
    )
    return Result("memory", series, claims, notes)


def clustered(count: int, questions: int) -> tuple[Vectors, Vectors]:
    """Return unit vectors and questions of the same clusters, none of which is a vector."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((max(2, count // 100), DIMENSION), dtype=np.float32)
    members = rng.integers(len(centres), size=count + questions)
    noise = rng.standard_normal((count + questions, DIMENSION), dtype=np.float32)
    rows = centres[members] + 0.7 * noise
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows[:count], rows[count:]


def _add_all(rows: Vectors, digests: list[str]) -> float:
    """Keep the vectors in a fresh folder, synced batch by batch, index them; give vectors per s."""
    whose = Fingerprint(name="benchmark", revision="1", dimension=DIMENSION, text=1)
    with tempfile.TemporaryDirectory() as folder:
        writer, index = VectorWriter(Path(folder), whose), Index(DIMENSION)
        start = time.perf_counter()
        for at in range(0, len(rows), _BATCH):
            writer.append(digests[at : at + _BATCH], rows[at : at + _BATCH])
            index.add(rows[at : at + _BATCH])
        elapsed = time.perf_counter() - start
        read = sum(len(block.rows) for block in VectorReader(Path(folder), whose).new())
        if read != len(rows) or len(index) != len(rows):
            raise RuntimeError(f"{read} of {len(rows)} vectors are there")
    return len(rows) / elapsed


def _ask(index: Index, question: Vectors) -> float:
    start = time.perf_counter()
    places, _ = index.nearest(question, K)
    elapsed_ms = (time.perf_counter() - start) * 1e3
    if len(places) != K:
        raise RuntimeError(f"{len(places)} neighbours instead of {K}")
    return elapsed_ms


def _recall(exact: Index, graph: Index, question: Vectors) -> float:
    truth, found = (set(index.nearest(question, K_RECALL)[0].tolist()) for index in (exact, graph))
    return len(truth & found) / len(truth)
