"""`check` over many targets, and `import`, from the outside."""

import hashlib
import json

import pytest

from envs.cli.kit import run
from spade_envs.store import open_store

ECHO = '''
import random


class EchoEnv:
    """Reverse a word."""

    def __init__(self, max_turns=1):
        self.max_turns = max_turns

    def reset(self, seed=None):
        rng = random.Random(seed if seed is not None else 0)
        self.word = "".join(rng.choice("abcdefghij") for _ in range(8))
        return f"Reverse {self.word} in \\\\boxed{{}}.", {}

    def step(self, action):
        given = action.rpartition("boxed{")[2].partition("}")[0].strip()
        won = given == self.word[::-1]
        return "Right." if won else "Wrong.", float(won), True, False, {}

    def solution(self):
        return self.word[::-1]
'''


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("many")
    games = folder / "pool" / "games"
    games.mkdir(parents=True)
    lines = []
    for number in range(6):
        code = ECHO.replace("range(8)", f"range({6 + number})") if number else "x = ("
        (games / f"game_{number}.py").write_text(code)
        lines.append(f"{hashlib.sha256(code.encode()).hexdigest()}  games/game_{number}.py")
    lines[5] = "0" * 64 + lines[5][64:]
    (folder / "pool" / "checksums.sha256").write_text("\n".join(lines))
    return folder


def test_many_targets_give_one_table_and_one_count(place):
    code, out, _ = run("check", "pool", "--quick", "--jobs", 2, cwd=place)
    assert code == 1
    assert out.splitlines()[-1] == "6 targets: 4 passes, 1 refused, 1 not checked"
    assert "L0.1 line 1: '(' was never closed" in out
    assert out.count("passes") == 5  # four rows and the count


def test_import_registers_what_passes_and_lists_the_rest(place):
    code, out, err = run(
        "import", "pool", "--store", "store", "--licence", "CC0-1.0", "--json", cwd=place
    )
    assert code == 1, err
    rows = json.loads(out)
    reasons = [row["reason"] for row in rows]
    assert [row["target"] for row in rows] == [f"pool/games/game_{i}.py" for i in range(6)]
    assert reasons[0].startswith("L0.1: ")
    assert reasons[5] == "the file does not have the checksum that the pool lists"
    store = open_store(place / "store")
    assert sorted(record.id for record in store.records()) == sorted(r["id"] for r in rows[1:5])
    record = store.get(rows[1]["id"])
    assert record.licence == "CC0-1.0"
    provenance = store.manifest(record).provenance
    assert (provenance.method, provenance.run) == ("imported", "pool/games/game_1.py")
    code, out, _ = run("check", rows[1]["id"], "--store", "store", "--json", cwd=place)
    (checked,) = json.loads(out)
    assert (code, checked["accepted"], checked["weakened"]) == (0, True, False)
