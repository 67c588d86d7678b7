"""`export`: the layout of published pools, and the way back."""

import hashlib
import json
import subprocess

import pytest

from envs.store.kit import add
from spade_envs.errors import ConfigError, Corrupt
from spade_envs.interop import bring, check_all, resolve
from spade_envs.interop.run import Checked
from spade_envs.packing import choose, export_pool
from spade_envs.store import open_store, starter_path


@pytest.fixture
def store(tmp_path):
    opened = open_store(tmp_path / "store", create=True)
    add(opened, 0, name="maze", skills=("spatial-reasoning", "optimization"), title="A maze")
    add(opened, 1, name="alice.maze", licence="Apache-2.0")
    return opened


def test_the_lists_are_those_of_sha256sum_and_of_published_pools(store, tmp_path):
    games = export_pool(store, choose(store), tmp_path / "pool")
    names = ["game_00000_unknown.py", "game_00001_spatial_reasoning.py"]
    assert [game.file_name for game in games] == names
    assert sorted(path.name for path in (tmp_path / "pool" / "games").iterdir()) == names
    done = subprocess.run(
        ["sha256sum", "--check", "--strict", "checksums.sha256"],
        cwd=tmp_path / "pool", capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.count(": OK") == 4
    rows = [json.loads(line) for line in (tmp_path / "pool" / "manifest.jsonl").open()]
    record = store.get("maze")
    code = (store.root / "envs" / "maze" / "v0" / "env.py").read_bytes()
    assert (rows[1]["sha256"], rows[1]["byte_count"], rows[1]["line_count"]) == (
        hashlib.sha256(code).hexdigest(),
        len(code),
        2,
    )
    told = [rows[1][key] for key in ("game_id", "file_name", "path", "skill", "id", "digest")]
    assert told == ["game_00001", names[1], f"games/{names[1]}", "spatial-reasoning",
                    record.id, record.digest]  # fmt: skip
    card = (tmp_path / "pool" / "README.md").read_text()
    assert "spade-envs import ." in card
    assert "| licences | Apache-2.0: 1; MIT: 1 |" in card


def test_what_went_out_is_read_back_with_all_that_is_known(store, tmp_path):
    export_pool(store, choose(store), tmp_path / "pool")
    second, first = resolve(str(tmp_path / "pool"))
    record = store.get("maze")
    assert first.source.code == store.source(record).code
    assert (first.licence, first.title, first.digest) == ("MIT", "A maze", record.digest)
    assert first.skills == ("spatial-reasoning", "optimization")
    assert (second.licence, second.skills, second.error) == ("Apache-2.0", (), "")


def test_a_changed_file_is_not_read_back(store, tmp_path):
    export_pool(store, choose(store), tmp_path / "pool")
    path = tmp_path / "pool" / "games" / "game_00000_unknown.py"
    path.write_bytes(path.read_bytes() + b"\n")
    errors = [target.error for target in resolve(str(tmp_path / "pool"))]
    assert errors == ["the file does not have the checksum that the pool lists", ""]


def test_nothing_is_written_over_and_nothing_half_is_left(store, tmp_path):
    (tmp_path / "pool").mkdir()
    (tmp_path / "pool" / "mine.txt").write_text("mine")
    with pytest.raises(ConfigError, match="name a new folder"):
        export_pool(store, choose(store), tmp_path / "pool")
    (store.root / "envs" / "maze" / "v0" / "env.py").write_text("changed")
    with pytest.raises(Corrupt):
        export_pool(store, choose(store), tmp_path / "other" / "pool")
    assert list((tmp_path / "other").iterdir()) == []


def test_an_environment_that_is_another_one_than_its_pool_says_is_told(store, tmp_path):
    export_pool(store, choose(store, ["maze"]), tmp_path / "pool")
    rows = tmp_path / "pool" / "manifest.jsonl"
    row = json.loads(rows.read_text())
    report = store.report(store.get("maze"))
    other = "sha256:" + "0" * 64
    notes = []
    for number, digest in enumerate((row["digest"], other)):
        rows.write_text(json.dumps({**row, "digest": digest}) + "\n")
        (target,) = resolve(str(tmp_path / "pool"))
        new = open_store(tmp_path / f"new-{number}", create=True)
        brought = bring(Checked(target=target, report=report), new)
        assert brought.record.digest == row["digest"]
        assert brought.record.skills == ("spatial-reasoning", "optimization")
        assert new.manifest(brought.record).provenance.method == "imported"
        notes.append(brought.note)
    assert notes[0] == ""
    assert notes[1].startswith(f"its pool names another digest, {other}")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_starters_make_a_round_trip_with_the_same_digests(tmp_path):
    starters = open_store(starter_path())
    records = choose(starters, ["paper-punch", "tide-ledger", "polynomial-oracle"])
    export_pool(starters, records, tmp_path / "pool")
    new = open_store(tmp_path / "new", create=True)
    for _, checked in check_all(resolve(str(tmp_path / "pool")), jobs=1):
        assert bring(checked, new).note == ""
    there = {record.digest: record for record in new.records()}
    assert there.keys() == {record.digest for record in records}
    for record in records:
        assert there[record.digest].licence == record.licence
        assert there[record.digest].skills == record.skills
