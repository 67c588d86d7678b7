"""From what is typed to targets; broken files of a pool are told one by one."""

import hashlib
import json
import sys
from types import ModuleType

import pytest

from envs.store.kit import add
from spade_envs.errors import ConfigError, NotFound
from spade_envs.interop import Library, resolve
from spade_envs.interop.frameworks import library_of
from spade_envs.store import open_store, starter_path
from spade_envs.types import EnvSource


def pool(folder, files):
    games = folder / "games"
    games.mkdir(parents=True)
    lines = []
    for name, text in files.items():
        (games / name).write_text(text)
        lines.append(f"{hashlib.sha256(text.encode()).hexdigest()}  games/{name}")
    (folder / "checksums.sha256").write_text("\n".join(lines) + "\n")
    return folder


def told(targets, folder):
    return {item.label.removeprefix(f"{folder}/"): item.error for item in targets}


def test_a_file_is_its_source(tmp_path):
    path = tmp_path / "maze.py"
    path.write_bytes(b"\xef\xbb\xbfx = 1\r\n")
    (target,) = resolve(str(path))
    assert (target.label, target.source.code, target.library) == (str(path), "x = 1\n", None)
    path.write_bytes(b"\xff\xfe")
    (broken,) = resolve(str(path))
    assert (broken.source, broken.unknown) == (None, False)
    assert "not UTF-8" in broken.error


def test_a_folder_gives_its_python_files_in_order(tmp_path):
    for name in ("b.py", "a.py", "_private.py", "notes.txt"):
        (tmp_path / name).write_text("x = 1\n")
    found = [item.label for item in resolve(str(tmp_path))]
    assert found == [str(tmp_path / "a.py"), str(tmp_path / "b.py")]
    (tmp_path / "empty").mkdir()
    with pytest.raises(NotFound, match="no Python files"):
        resolve(str(tmp_path / "empty"))


def test_a_pool_verifies_each_file_and_goes_on(tmp_path):
    folder = pool(tmp_path / "pool", {f"game_{i}.py": f"x = {i}\n" for i in range(5)})
    (folder / "games" / "game_1.py").write_text("x = 666\n")
    (folder / "games" / "game_2.py").unlink()
    (folder / "games" / "game_3.py").unlink()
    (folder / "games" / "game_3.py").symlink_to("/etc/hostname")
    (folder / "games" / "extra.py").write_text("x = 5\n")
    errors = told(resolve(str(folder)), folder)
    assert sorted(errors) == [f"games/{n}.py" for n in ("extra", *(f"game_{i}" for i in range(5)))]
    assert errors["games/game_0.py"] == errors["games/game_4.py"] == ""
    assert "checksum" in errors["games/game_1.py"]
    assert "not there" in errors["games/game_2.py"]
    assert "link" in errors["games/game_3.py"]
    assert "not list" in errors["games/extra.py"]


def test_a_pool_may_give_its_checksums_in_the_manifest(tmp_path):
    (tmp_path / "games").mkdir()
    rows = []
    for name, text in {"a.py": "x = 1\n", "b.py": "x = 2\n"}.items():
        (tmp_path / "games" / name).write_text(text)
        rows.append({"file_name": name, "sha256": hashlib.sha256(text.encode()).hexdigest()})
    rows[1]["sha256"] = "0" * 64
    (tmp_path / "manifest.jsonl").write_text("\n".join(map(json.dumps, rows)))
    errors = told(resolve(str(tmp_path)), tmp_path)
    assert errors["games/a.py"] == ""
    assert "checksum" in errors["games/b.py"]


def test_checksums_lead_to_no_file_outside_the_pool(tmp_path):
    (tmp_path / "secret.py").write_text("x = 1\n")
    folder = pool(tmp_path / "pool", {"a.py": "x = 1\n"})
    with (folder / "checksums.sha256").open("a") as file:
        file.write(f"{'0' * 64}  ../secret.py\n{'0' * 64}  games/../../secret.py\n")
    assert told(resolve(str(folder)), folder) == {
        "games/a.py": "",
        "checksums.sha256:2": "this line names a file outside the pool",
        "checksums.sha256:3": "this line names a file outside the pool",
    }


def test_an_id_comes_from_the_first_store_that_holds_it():
    store = open_store(starter_path())
    record = store.records()[0]
    (target,) = resolve(record.id, lambda: [store])
    assert target.source == store.source(record)
    assert (target.licence, target.may_weaken) == (record.licence, False)
    with pytest.raises(NotFound):
        resolve("spade/there-is-no-such-thing-v0", lambda: [store])
    with pytest.raises(NotFound, match="neither a file nor an environment"):
        resolve("What is this?", lambda: [store])


def test_frameworks_need_a_name_and_an_installed_library(tmp_path):
    with pytest.raises(ConfigError, match="reasoning-gym:NAME or reasoning-gym:all"):
        resolve("reasoning-gym:")
    (lacking,) = resolve("gym:no_such_module_here:Foo-v0")
    assert (lacking.source, lacking.unknown) == (None, False)
    assert "pip install no_such_module_here" in lacking.error
    with pytest.raises(NotFound, match="no RLVE checkout"):
        resolve(f"rlve:{tmp_path}#Sorting")
    with pytest.raises(ConfigError, match="names no problem"):
        resolve("rlve:/nowhere")
    (target,) = resolve("gym:a b:Foo-v0")
    assert "not the name of a module" in target.error


def test_a_registered_source_names_its_library_only_if_it_is_a_known_one():
    assert library_of(EnvSource(code="import reasoning_gym\n")).name == "reasoning-gym"
    for code in ("import os\n", "import gem\nimport textarena\n", "# import gem\n", "import ("):
        assert library_of(EnvSource(code=code)) is None


def test_a_list_of_names_may_be_longer_than_any_file_name(tmp_path):
    names = [f"Problem{number}" for number in range(400)]
    (tmp_path / "Gym" / "environments").mkdir(parents=True)
    found = resolve(f"rlve:{tmp_path}#{','.join(names)}")
    assert [item.name for item in found] == [f"rlve.problem{number}" for number in range(400)]


def test_a_store_is_all_its_versions(tmp_path):
    store = open_store(tmp_path / "store", create=True)
    for number in range(12):
        add(store, number, name="maze")
    add(store, 20, name="arena")
    store.withdraw("spade/maze-v1", "too easy")
    broken = store.root / "envs" / "maze" / "v3"
    (broken / "env.py").write_text("x = 1\n")
    (broken.parent / "v4" / "manifest.json").write_text("{")
    found = resolve(str(store.root))
    numbers = [number for number in range(12) if number != 1]
    assert [item.label for item in found] == [
        "spade/arena-v0",
        *[f"spade/maze-v{number}" for number in numbers],
    ]
    wrong = {item.label: item.error for item in found if item.error}
    assert sorted(wrong) == ["spade/maze-v3", "spade/maze-v4"]
    assert "changed after publishing" in wrong["spade/maze-v3"]
    assert found[0].source == store.source(store.get("arena"))
    assert found[0].certificate == store.report(store.get("arena"))
    empty = open_store(tmp_path / "empty", create=True)
    with pytest.raises(NotFound, match="an envstore without environments"):
        resolve(str(empty.root))


def test_a_dataset_that_is_not_there_costs_the_others_nothing(monkeypatch):
    factory = ModuleType("reasoning_gym.factory")
    factory.DATASETS = {"maze": None, "chain_sum": None}
    monkeypatch.setitem(sys.modules, "reasoning_gym.factory", factory)
    monkeypatch.setattr(Library, "missing", lambda self: "")
    good, bad = resolve("reasoning-gym:maze,chain_sums")
    assert (good.error, good.unknown, good.label) == ("", False, "reasoning-gym:maze")
    assert (bad.source, bad.unknown) == (None, True)
    assert "did you mean chain_sum?" in bad.error
