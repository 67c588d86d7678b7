"""What the memory does to the diversity of what nano writes, at the same number of environments.

The same run is made three times: without memory, with it, and with it and refusing what is nearer
than `APART` to another environment. Diversity is counted in two ways. Families and sizes: the
effective number (the exponential of the entropy) of pairs of a family of programs and the size of
its instances at level 0, which tells how families and levels are spread. Distance: the mean of
1 - cosine to the nearest other environment. The memory looks at such distances itself, so they are
also taken with an embedder that it does not use, where one is installed.
"""

from __future__ import annotations

import math
import re
import tempfile
import time
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.timing import Claim, Result, Scale, Series, Table
from spade_envs.corpus import open_corpus
from spade_envs.design.clients import open_policy
from spade_envs.errors import MissingExtra
from spade_envs.memory import Memory, make_embedder, open_memory
from spade_envs.pipeline import generate
from spade_envs.pipeline.desk import Desk
from spade_envs.store import EnvStore, open_store
from spade_envs.types import Record
from spade_train.nano.programs import family_of

BAR = 1.5
"""How many times the diversity of the run without memory."""
APART = 0.5
"""Least distance of a new environment to all others, in the run that refuses what is nearer."""
SEED = 0
OTHER_EMBEDDER = "minilm"
_ATTEMPTS = 20
"""Attempts per environment before a run gives up."""
_SIZE = re.compile(r"(\d+) \+ self\.level")
_OFF, _PLAIN, _ON = "memory off", "memory on", "memory on, apart"


@dataclass(frozen=True, slots=True)
class Diverse:
    """How diverse a store is."""

    environments: int
    attempts: int
    families: float
    """Effective number of families."""
    cells: float
    """Effective number of pairs of family and size at level 0."""
    distance: float
    """Mean distance to the nearest other environment, by the memory's embedder."""
    other: float | None
    """The same by an embedder that the memory does not use; None where it is not installed."""
    vendi: float
    """Effective number of environments by likeness (Vendi score)."""
    seconds: float


def run(scale: Scale) -> Result:
    """Let nano write with and without memory, and compare what came of it."""
    found = {name: _measured(name, scale.written) for name in (_OFF, _PLAIN, _ON)}
    series = tuple(
        Series(f"{what}, {name}", unit, (value,))
        for name, one in found.items()
        for what, unit, value in (
            ("families and sizes", "effective", one.cells),
            ("distance to the nearest", "1 - cosine", one.distance),
        )
    )
    off, on = found[_OFF], found[_ON]
    claims = (
        Claim("families and sizes, times those without", on.cells / off.cells, BAR, True),
        Claim("distance to the nearest, times that without", on.distance / off.distance, BAR, True),
    )
    return Result("diversity", series, claims, (), (_table(found),))


def _measured(name: str, count: int) -> Diverse:
    """Run once in a fresh store and measure what is in it."""
    with tempfile.TemporaryDirectory(prefix="spade-diversity-") as folder:
        store = open_store(Path(folder) / "store", create=True)
        desk = None
        if name != _OFF:
            memory = open_memory(store, "hashed")
            desk = Desk(store, memory=memory, apart=APART if name == _ON else 0.0)
        begun = time.monotonic()
        outcomes = generate(
            open_policy("nano"),
            open_corpus("pydoc"),
            store,
            count=count,
            max_attempts=_ATTEMPTS * count,
            seed=SEED,
            desk=desk,
        )
        taken = sum(1 for _ in outcomes)
        return _diverse(store, taken, time.monotonic() - begun)


def _diverse(store: EnvStore, attempts: int, seconds: float) -> Diverse:
    records = store.records()
    codes = [store.source(record).code for record in records]
    families = [family_of(code) for code in codes]
    sizes = [int(found[1]) if (found := _SIZE.search(code)) else 0 for code in codes]
    likeness = _likeness(store, records, "hashed")
    try:
        other = _nearest(_likeness(store, records, OTHER_EMBEDDER))
    except MissingExtra:
        other = None
    return Diverse(
        environments=len(records),
        attempts=attempts,
        families=effective(families),
        cells=effective(zip(families, sizes, strict=True)),
        distance=_nearest(likeness),
        other=other,
        vendi=_vendi(likeness),
        seconds=seconds,
    )


def effective(items: Iterable[Hashable]) -> float:
    """Return how many equally frequent things would be as diverse: the exponential of entropy."""
    counts = Counter(items)
    total = sum(counts.values())
    return math.exp(-sum(n / total * math.log(n / total) for n in counts.values()))


def _likeness(store: EnvStore, records: list[Record], embedder: str) -> np.ndarray:
    """Return the cosine of every pair, as a square."""
    memory = Memory(store, make_embedder(embedder), keep=False)
    memory.refresh()
    rows = memory.rows(record.digest for record in records).astype(np.float64)
    return np.asarray(rows @ rows.T)


def _nearest(likeness: np.ndarray) -> float:
    apart = 1 - likeness
    np.fill_diagonal(apart, np.inf)
    return float(apart.min(axis=1).mean())


def _vendi(likeness: np.ndarray) -> float:
    values = np.linalg.eigvalsh(likeness / len(likeness))
    values = values[values > 1e-12]
    return float(np.exp(-(values * np.log(values)).sum()))


def _table(found: Mapping[str, Diverse]) -> Table:
    columns = ("run", "made", "attempts", "families", "and sizes", "nearest", OTHER_EMBEDDER)
    rows = [
        (
            name,
            str(one.environments),
            str(one.attempts),
            f"{one.families:.1f}",
            f"{one.cells:.1f}",
            f"{one.distance:.3f}",
            "-" if one.other is None else f"{one.other:.3f}",
            f"{one.vendi:.1f}",
            f"{one.seconds:.0f}",
        )
        for name, one in found.items()
    ]
    return Table("Diversity of what nano wrote", (*columns, "Vendi", "s"), tuple(rows))
