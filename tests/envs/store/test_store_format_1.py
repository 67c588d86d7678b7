"""The store of format 1 that is kept for ever: today's code reads, verifies and plays it."""

import hashlib
import json
import shutil
from pathlib import Path

import gymnasium as gym
import pytest

from spade_envs.errors import Corrupt, FormatTooNew, Withdrawn
from spade_envs.play import reference
from spade_envs.registration import register_store
from spade_envs.store import open_store
from spade_envs.store.migrate import migrate
from spade_envs.store.plays import PlayReader

FIXTURE = Path(__file__).parents[2] / "fixtures" / "format-1"
DIGESTS = {
    "spade/counter-maze-cfad75ea-v0": "sha256:cfad75ea2244e590020c78b90d584a91",
    "spade/majority-v0": "sha256:7fd60cc5ab89e572adbbd8c59144711e",
    "spade/oracle-v0": "sha256:d2c2af45421e5890c34ee9818ed636ae",
    "spade/punch-v0": "sha256:b91cbcb1584f86983f688b7c29eaeac2",
    "spade/team.tide-ledger-v0": "sha256:8a86a767b9592f982405a35e31b4c7ba",
}
USABLE = [env_id for env_id in DIGESTS if env_id != "spade/majority-v0"]


@pytest.fixture
def store(tmp_path):
    shutil.copytree(FIXTURE / "envstore", tmp_path / "envstore")
    return open_store(tmp_path / "envstore")


def test_the_fixture_is_what_it_was():
    root = FIXTURE / "envstore"
    lines = (FIXTURE / "checksums.sha256").read_text().splitlines()
    listed = {name: sha256 for sha256, name in (line.split("  ") for line in lines)}
    found = {path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
             for path in root.rglob("*") if path.is_file()}  # fmt: skip
    assert found == listed
    assert len(found) == 23


def test_it_is_read_with_its_digests_and_without_its_index(store):
    assert {record.id: record.digest[:39] for record in store.records()} == DIGESTS
    (store.root / "index.jsonl").unlink()
    assert {record.id: record.digest[:39] for record in store.records()} == DIGESTS
    with pytest.raises(Withdrawn, match="kept here as an example"):
        store.get("majority")
    origin = store.manifest(store.get("oracle")).provenance
    assert (origin.designer.model, origin.passage.licence, origin.seed) == ("a-model", "PSF-2.0", 7)
    assert store.report(store.get("punch")).accepted
    (cell,) = PlayReader(store.root).cells().values()
    assert (cell.plays, cell.successes) == (10, 4)


def test_it_verifies(store):
    problems = store.verify(deep=True)
    assert [(problem.path, problem.severity) for problem in problems] == [
        ("envs/punch/v0/manifest.json", "note")
    ]
    assert "has no seal" in problems[0].message


@pytest.mark.parametrize("env_id", USABLE)
def test_it_plays(store, env_id):
    before = dict(gym.registry)
    try:
        assert register_store(store, namespace="kept") == 4
        env = gym.make(f"kept/{env_id.removeprefix('spade/')}", disable_env_checker=True)
        try:
            first, _ = env.reset(seed=3)
            assert first != env.reset(seed=4)[0]
            assert first == env.reset(seed=3)[0]
            for action in reference(store.source(store.get(env_id)), seed=3).solution:
                _, reward, terminated, _, info = env.step(action)
            assert (reward, terminated, info["success"]) == (1.0, True, True)
        finally:
            env.close()
    finally:
        gym.registry.clear()
        gym.registry.update(before)


def test_there_is_nothing_to_migrate(store, tmp_path):
    done = migrate(store.root)
    assert (done.before, done.after, done.versions, done.kept) == (1, 1, 0, None)
    assert [path.name for path in tmp_path.iterdir()] == ["envstore"]


@pytest.mark.parametrize("number", [2, 10**6])
def test_a_newer_format_is_refused_with_one_message(store, number):
    (store.root / "ENVSTORE.json").write_text(json.dumps({"format": number, "more": True}))
    for act in (open_store, migrate):
        with pytest.raises(FormatTooNew, match=rf"has format {number}; this release reads up to 1"):
            act(store.root)


def test_a_version_of_a_newer_format_is_refused_and_the_others_stay(store):
    path = store.root / "envs" / "oracle" / "v0" / "manifest.json"
    path.write_text(json.dumps({"format": 2, "anything": []}))
    with pytest.raises(FormatTooNew, match=r"oracle/v0/manifest.json has format 2"):
        store.get("oracle")
    assert "pip install -U spade-envs" in store.verify()[0].message
    assert store.get("punch").id == "spade/punch-v0"


@pytest.mark.parametrize("marker", ["[]", "{}", '{"format": true}', '{"format": -1}', "x"])
def test_an_unreadable_marker_migrates_nothing(store, marker):
    (store.root / "ENVSTORE.json").write_text(marker)
    with pytest.raises(Corrupt, match=r"ENVSTORE.json"):
        migrate(store.root)
