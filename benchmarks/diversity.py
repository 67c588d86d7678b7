"""What the memory does to the diversity of what nano writes, at the same number of environments.

The same run is made three times: without memory, with it, and with it, smaller crowds and refusing
what is nearer than `APART` to another environment. Refused designs cost tokens, so the run without
memory is then continued until it has made as many attempts as that with memory; it holds more
environments then, which moves all figures but the effective numbers.

Diversity is counted in these ways. Families and sizes: the effective number (the exponential of the
entropy) of pairs of a family of programs and the size of its instances at level 0, which tells how
families and levels are spread. Distance: the mean of 1 - cosine to the nearest other environment,
of what is said (the memory looks at such distances itself, so they are also taken with an embedder
that it does not use, where one is installed) and of what is played (`novelty.behaviour`).
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
from spade_envs.memory.embedders.base import Vectors
from spade_envs.novelty.diversity import nearest_distances, vendi_score
from spade_envs.novelty.kept import behaviours_of
from spade_envs.pipeline import Progress, generate
from spade_envs.pipeline.desk import Desk
from spade_envs.store import EnvStore, open_store
from spade_envs.types import Record
from spade_train.nano.programs import family_of

BAR = 1.5
"""How many times the diversity of the run without memory."""
APART = 0.3
"""Least distance of a new environment to all others, in the run that refuses what is nearer."""
CLOSE = 4
"""Most environments that are made alike and have the same level, in that run."""
SEED = 0
OTHER_EMBEDDER = "minilm"
_ATTEMPTS = 20
"""Attempts per environment before a run gives up."""
_SIZE = re.compile(r"(\d+) \+ self\.level")
_OFF, _ON, _APART, _MORE = (
    "memory off",
    "memory on",
    "memory on, apart",
    "memory off, as many attempts",
)


@dataclass(frozen=True, slots=True)
class Diverse:
    """How diverse a store is."""

    environments: int
    attempts: int
    tokens: int
    """Read and written by the designer, for the refused attempts, too."""
    families: float
    """Effective number of families."""
    cells: float
    """Effective number of pairs of family and size at level 0."""
    distance: float
    """Mean distance to the nearest other environment, by the memory's embedder."""
    other: float | None
    """The same by an embedder that the memory does not use; None where it is not installed."""
    behaviour: float | None
    """The same by what is played, of those of which that can be told; None if there are too few."""
    vendi: float
    """Effective number of environments by likeness (Vendi score)."""
    seconds: float


def run(scale: Scale) -> Result:
    """Let nano write with and without memory, and compare what came of it."""
    with tempfile.TemporaryDirectory(prefix="spade-diversity-") as folder:
        place, count = Path(folder), scale.written
        off, plain = _store(place / "off"), _store(place / "on")
        apart = _store(place / "apart")
        found = {
            _OFF: _measured(off, None, count=count),
            _ON: _measured(plain, Desk(plain, memory=_memory(plain)), count=count),
            _APART: _measured(
                apart, Desk(apart, memory=_memory(apart), apart=APART, crowd=CLOSE), count=count
            ),
        }
        found[_MORE] = _measured(off, None, count=None, attempts=found[_ON].attempts)
    series = tuple(
        Series(f"{what}, {name}", unit, (value,))
        for name, one in found.items()
        for what, unit, value in (
            ("families and sizes", "effective", one.cells),
            ("distance to the nearest", "1 - cosine", one.distance),
        )
    )
    return Result("diversity", series, _claims(found), (), (_table(found),))


def _claims(found: Mapping[str, Diverse]) -> tuple[Claim, ...]:
    off, on, apart = (found[name] for name in (_OFF, _ON, _APART))
    return (
        Claim("families and sizes, times those without", on.cells / off.cells, BAR, True),
        Claim(
            "distance to the nearest with --apart, times that without",
            apart.distance / off.distance,
            BAR,
            True,
        ),
    )


def _store(path: Path) -> EnvStore:
    return open_store(path, create=True)


def _memory(store: EnvStore) -> Memory:
    memory = open_memory(store, "hashed")
    memory.refresh()
    return memory


def _measured(
    store: EnvStore, desk: Desk | None, *, count: int | None, attempts: int | None = None
) -> Diverse:
    """Run in a store and measure what is in it."""
    begun, used = time.monotonic(), [0]

    def note(state: Progress) -> None:
        used[0] = state.usage.tokens

    outcomes = generate(
        open_policy("nano"),
        open_corpus("pydoc"),
        store,
        count=count,
        max_attempts=attempts if count is None else _ATTEMPTS * count,
        seed=SEED,
        desk=desk,
        progress=note,
    )
    taken = sum(1 for _ in outcomes)
    return _diverse(store, taken, used[0], time.monotonic() - begun)


def _diverse(store: EnvStore, attempts: int, tokens: int, seconds: float) -> Diverse:
    records = store.records()
    codes = [store.source(record).code for record in records]
    families = [family_of(code) for code in codes]
    sizes = [int(found[1]) if (found := _SIZE.search(code)) else 0 for code in codes]
    rows = _rows(store, records, "hashed")
    try:
        other = _nearest(_rows(store, records, OTHER_EMBEDDER))
    except MissingExtra:
        other = None
    kept = behaviours_of(store)
    played = [row for record in records if (row := kept.get(record.digest)) is not None]
    return Diverse(
        environments=len(records),
        attempts=attempts,
        tokens=tokens,
        families=effective(families),
        cells=effective(zip(families, sizes, strict=True)),
        distance=_nearest(rows),
        other=other,
        behaviour=_nearest(np.stack(played)) if len(played) > 1 else None,
        vendi=vendi_score(rows),
        seconds=seconds,
    )


def effective(items: Iterable[Hashable]) -> float:
    """Return how many equally frequent things would be as diverse: the exponential of entropy."""
    counts = Counter(items)
    total = sum(counts.values())
    return math.exp(-sum(n / total * math.log(n / total) for n in counts.values()))


def _rows(store: EnvStore, records: list[Record], embedder: str) -> Vectors:
    memory = Memory(store, make_embedder(embedder), keep=False)
    memory.refresh()
    return memory.rows(record.digest for record in records)


def _nearest(rows: Vectors) -> float:
    return float(nearest_distances(rows).mean())


def _table(found: Mapping[str, Diverse]) -> Table:
    columns = ("run", "made", "attempts", "tokens", "families", "and sizes", "nearest")
    rows = [
        (
            name,
            str(one.environments),
            str(one.attempts),
            f"{one.tokens:,}",
            f"{one.families:.1f}",
            f"{one.cells:.1f}",
            f"{one.distance:.3f}",
            *("-" if each is None else f"{each:.3f}" for each in (one.other, one.behaviour)),
            f"{one.vendi:.1f}",
            f"{one.seconds:.0f}",
        )
        for name, one in found.items()
    ]
    more = (OTHER_EMBEDDER, "played", "Vendi", "s")
    return Table("Diversity of what nano wrote", (*columns, *more), tuple(rows))
