"""A fixed pool at the tiny model's frontier: programs that its first weights win now and then.

Families say little about that: of two programs of one family, one may be won always and the other
never. So each candidate is calibrated at all of its levels (`spade-envs calibrate`), and the pool
takes those whose success lies within a range (`spade-envs select`). The instances of a calibration
are those of no training and of no evaluation, so luck in the choice shows in the first evaluation.
"""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

from spade_envs.calibrate import (
    Bounds,
    Calibration,
    Criteria,
    ModelPlayer,
    Settings,
    Target,
    select,
)
from spade_envs.design.clients import open_policy
from spade_envs.store import EnvStore
from spade_envs.store.plays import PlayReader
from spade_envs.trust.runs import source_to_run
from spade_train.launch.heldout import write_heldout

FAMILIES = (0.2, 0.7)
"""Success without the hint, as a mean over the levels, of the families that candidates are of."""
CANDIDATES = 96
RANGE = (0.25, 0.65)
"""Success of a candidate over all of its levels that makes it one of the pool."""
EPISODES = 8
"""Instances of each level of a candidate."""
POOL = 24


def frontier_families() -> tuple[str, ...]:
    """Return the families that the bundled weights win sometimes, from the bundle's own table."""
    table = json.loads(files("spade_train.nano").joinpath("weights/bootstrap.json").read_bytes())
    rates = {name: row["plain"] for name, row in table["agent"]["success"].items()}
    low, high = FAMILIES
    return tuple(name for name, row in rates.items() if low <= sum(row) / len(row) <= high)


def frontier_pool(folder: Path, *, seed: int) -> tuple[Path, Path]:
    """Return a store of candidates and a file with the ids of the pool; both are made once.

    Args:
        folder: of the stores.
        seed: of the candidates.
    """
    root = folder / f"candidates-{seed}"
    ids = root.with_suffix(".txt")
    if not ids.is_file():
        store = write_heldout(
            root, count=CANDIDATES, seed=seed, setting="games", families=frontier_families()
        )
        ids.write_text("".join(f"{each}\n" for each in _frontier(store)), encoding="utf-8")
    return root, ids


def _frontier(store: EnvStore) -> list[str]:
    targets = [
        Target(
            id=record.id,
            digest=record.digest,
            source=source_to_run(store, record),
            # Without the hint alone: regret is not asked for.
            interface=replace(store.interface(record), has_hint=False),
            ledger=store.root,
        )
        for record in store.records()
    ]
    player = ModelPlayer(open_policy("nano"), max_tokens=64)
    plan = Calibration(targets, player, Settings(episodes=EPISODES, live=512, workers=2))
    for _ in plan.run():
        pass
    criteria = Criteria(success=Bounds(*RANGE), policy=plan.policy)
    found = select(store.records(), PlayReader(store.root).cells(), criteria)
    return [choice.record.id for choice in found][:POOL]
