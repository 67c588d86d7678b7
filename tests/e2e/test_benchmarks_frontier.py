"""The pool at the tiny model's frontier holds what its plays say, and is chosen once."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2]))  # `benchmarks` is not installed

from benchmarks import frontier

from spade_envs.store import open_store, starter_path
from spade_envs.store.plays import Plays, PlayWriter

WINS = (2, 6, 5, 1, 4)
"""Of 8 plays each, of the first candidates; 2, 5 and 4 of 8 lie within 0.25 to 0.65."""


class Planted:
    """A calibration with known ends: some candidates are played, others never."""

    policy = "nano"
    made: list = []

    def __init__(self, targets, player, settings):
        self.made.append((targets, player.name, settings))
        self.targets = targets

    def run(self):
        writer = PlayWriter(self.targets[0].ledger, "calibrate")
        for target, wins in zip(self.targets, WINS, strict=False):
            won = {"digest": target.digest, "policy": self.policy, "plays": 8, "successes": wins}
            writer.append([Plays(**won)])
        # Another player's plays of the second, with which it would have won 6 of 16.
        writer.append([Plays(digest=self.targets[1].digest, policy="other", plays=8)])
        yield from ()


@pytest.fixture
def asked(monkeypatch):
    written = []

    def write(root, **options):
        written.append(options)
        shutil.copytree(starter_path(), root)
        return open_store(root)

    monkeypatch.setattr(Planted, "made", [])
    monkeypatch.setattr(frontier, "Calibration", Planted)
    monkeypatch.setattr(frontier, "open_policy", lambda spec: SimpleNamespace(name=spec))
    monkeypatch.setattr(frontier, "write_heldout", write)
    return written


def test_the_pool_holds_candidates_whose_own_plays_lie_within_the_range(asked, tmp_path):
    root, ids = frontier.frontier_pool(tmp_path, seed=7)
    records = open_store(root).records()
    assert ids.read_text().splitlines() == [records[n].id for n in (0, 2, 4)]
    ((targets, player, settings),) = Planted.made
    assert [target.digest for target in targets] == [record.digest for record in records]
    assert not any(target.has_hint for target in targets)
    assert (player, settings.episodes) == ("nano", 8)
    (options,) = asked
    assert (options["count"], options["seed"], options["setting"]) == (96, 7, "games")


def test_a_pool_is_chosen_once_for_a_seed_and_no_larger_than_asked(asked, monkeypatch, tmp_path):
    monkeypatch.setattr(frontier, "POOL", 2)
    root, ids = frontier.frontier_pool(tmp_path, seed=7)
    assert len(ids.read_text().splitlines()) == 2
    assert frontier.frontier_pool(tmp_path, seed=7) == (root, ids)
    assert len(asked) == len(Planted.made) == 1
    assert frontier.frontier_pool(tmp_path, seed=8)[0] != root
    assert [options["seed"] for options in asked] == [7, 8]


def test_families_are_those_won_now_and_then_without_the_hint(monkeypatch, tmp_path):
    rates = {
        "always": ([1.0, 1.0], [1.0, 1.0]),
        "never": ([0.0, 0.0], [0.5, 0.5]),
        "first": ([1.0, 0.0], [1.0, 1.0]),
        "edge": ([0.7, 0.7], [1.0, 1.0]),
        "seldom": ([0.3, 0.08], [0.4, 0.4]),
    }
    success = {name: {"plain": plain, "hinted": hinted} for name, (plain, hinted) in rates.items()}
    (tmp_path / "weights").mkdir()
    table = json.dumps({"agent": {"success": success}})
    (tmp_path / "weights" / "bootstrap.json").write_text(table)
    monkeypatch.setattr(frontier, "files", lambda package: tmp_path)
    assert frontier.frontier_families() == ("first", "edge")
