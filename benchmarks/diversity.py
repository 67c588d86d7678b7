"""What the memory does to the diversity of what nano writes, at the same number of environments.

The same run is made three times: without memory, with it, and with it while refusing what is nearer
than `Apart.distance` to another environment: by a sentence encoder where one is installed, by
`hashed` otherwise. Refused designs cost attempts, which the table shows.
`python -m benchmarks.diversity STORE ...` measures stores that are there, such as those of
`spade-envs generate --no-memory` and `--memory`.

Diversity is counted in these ways. Families and sizes: the effective number (the exponential of the
entropy) of pairs of a family of programs and the size of its instances at level 0, which tells how
families and levels are spread. Distance: the mean of 1 - cosine to the nearest other environment,
of what is said, by `hashed` and by a sentence encoder where one is installed (the memory refuses by
one of them itself, so the other is the harder judge), and of what is played (`novelty.behaviour`).
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

import click
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
OTHER_EMBEDDER = "minilm"
_ATTEMPTS = 40
"""Attempts per environment before a run gives up."""
_SIZE = re.compile(r"(\d+) \+ self\.level")
_OFF, _ON, _APART = "memory off", "memory on", "memory on, apart"


@dataclass(frozen=True, slots=True)
class Apart:
    """How the run that refuses what is near refuses."""

    embedder: str
    distance: float
    """Least distance of a new environment to all others."""
    crowd: int
    """Most environments that are made alike and have the same level."""


BY_MEANING = Apart(OTHER_EMBEDDER, 0.35, 6)
BY_WORDS = Apart("hashed", 0.3, 4)


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
    """Mean distance to the nearest other environment, by `hashed`."""
    other: float | None
    """The same by the sentence encoder; None where it is not installed."""
    behaviour: float | None
    """The same by what is played, of those of which that can be told; None if there are too few."""
    vendi: float
    """Effective number of environments by likeness (Vendi score)."""
    seconds: float


def run(scale: Scale) -> Result:
    """Let nano write with and without memory, and compare what came of it."""
    how = BY_MEANING if _installed(OTHER_EMBEDDER) else BY_WORDS
    with tempfile.TemporaryDirectory(prefix="spade-diversity-") as folder:
        place = Path(folder)
        off, plain, apart = (_store(place / name) for name in ("off", "on", "apart"))
        near = Desk(apart, memory=_memory(apart, how.embedder), apart=how.distance, crowd=how.crowd)
        found = {
            _OFF: _measured(off, None, scale),
            _ON: _measured(plain, Desk(plain, memory=_memory(plain, "hashed")), scale),
            _APART: _measured(apart, near, scale),
        }
    series = tuple(
        Series(f"{what}, {name}", unit, (value,))
        for name, one in found.items()
        for what, unit, value in (
            ("families and sizes", "effective", one.cells),
            ("distance to the nearest", "1 - cosine", one.distance),
        )
    )
    return Result("diversity", series, _claims(found, how), (), (_table(found),))


def _claims(found: Mapping[str, Diverse], how: Apart) -> tuple[Claim, ...]:
    off, apart = found[_OFF], found[_APART]
    far, near = apart.distance, off.distance
    if how.embedder == OTHER_EMBEDDER and apart.other is not None and off.other is not None:
        far, near = apart.other, off.other
    return (
        Claim("families and sizes, times those without", apart.cells / off.cells, BAR, True),
        Claim(f"distance to the nearest by {how.embedder}, times", far / near, BAR, True),
    )


def _installed(embedder: str) -> bool:
    try:
        make_embedder(embedder)
    except MissingExtra:
        return False
    return True


def _store(path: Path) -> EnvStore:
    return open_store(path, create=True)


def _memory(store: EnvStore, embedder: str) -> Memory:
    memory = open_memory(store, embedder)
    memory.refresh()
    return memory


def _measured(store: EnvStore, desk: Desk | None, scale: Scale) -> Diverse:
    """Run in a store and measure what is in it."""
    begun, used = time.monotonic(), [0]

    def note(state: Progress) -> None:
        used[0] = state.usage.tokens

    outcomes = generate(
        open_policy("nano"),
        open_corpus("pydoc"),
        store,
        count=scale.written,
        max_attempts=_ATTEMPTS * scale.written,
        seed=scale.seed,
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


@click.command()
@click.argument("stores", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
def main(stores: tuple[Path, ...]) -> None:
    """Measure the diversity of STORES of what nano wrote."""
    found = {path.name: _diverse(open_store(path), 0, 0, 0.0) for path in stores}
    table = _table(found)
    for row in (table.columns, *table.rows):
        click.echo("\t".join(row))


if __name__ == "__main__":
    main()
