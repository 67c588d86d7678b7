"""The adapter of exported games: published loaders play them, and import takes it off."""

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spade_envs.interop import resolve
from spade_envs.packing import choose, export_pool
from spade_envs.packing.adapter import MARK, with_adapter, without_adapter
from spade_envs.store import open_store, starter_path


def load(code):
    """Find a class as published loaders are described to do it."""
    names = {}
    exec(compile(code, "dynamic_game", "exec"), names)
    taken = [name for name, value in names.items() if callable(value) and name.endswith("Env")
             and name not in ("Env", "ToolUseBaseEnv")]  # fmt: skip
    return names[taken[0]]


@pytest.mark.parametrize(("name", "first"), [("paper-punch", "Fold"), ("tide-ledger", "tool")])
def test_a_published_loader_plays_an_exported_game(tmp_path, name, first):
    store = open_store(starter_path())
    (game,) = export_pool(store, choose(store, [name]), tmp_path / "pool", adapter=True)
    entry = load(game.data.decode())
    assert entry.__name__.endswith("PoolEnv")
    env = entry(max_turns=1000)
    assert env.max_turns == store.get(name).max_turns
    observation, info = env.reset(42)
    assert isinstance(info, dict)
    assert first.lower() in observation.lower()
    for text in (r"\boxed{1}", r"\boxed{test}", r"\boxed{42}") * 9:
        result = env.step(text)
        assert [type(part) for part in result] == [str, float, bool, bool, dict]
    assert env.reset(123)[0] != observation
    assert entry().reset(42)[0] == observation
    env.reset(5)
    for action in env.solution():
        _, reward, terminated, _, _ = env.step(action)
    assert (reward, terminated) == (1.0, True)
    assert env.step("again")[1:4] == (0.0, True, False)


def test_import_takes_the_adapter_off(tmp_path):
    store = open_store(starter_path())
    records = choose(store, ["paper-punch"])
    (game,) = export_pool(store, records, tmp_path / "pool", adapter=True)
    (plain,) = export_pool(store, records, tmp_path / "plain")
    assert game.row["sha256"] == hashlib.sha256(game.data).hexdigest() != plain.row["sha256"]
    assert game.row["source_sha256"] == plain.row["source_sha256"] == plain.row["sha256"]
    for folder in ("pool", "plain"):
        (target,) = resolve(str(tmp_path / folder))
        assert target.source.sha256 == plain.row["sha256"]


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=200), st.from_regex(r"\A[A-Za-z_][A-Za-z0-9_]{0,20}\Z"))
def test_taking_off_undoes_putting_on(code, entry):
    assert without_adapter(with_adapter(code, entry)) == code


def test_only_the_very_adapter_is_taken_off():
    code = with_adapter("x = 1\n", "Maze")
    added, other = code + "import os\n", f"x = 1\n\n\n{MARK}y = 2\n"
    changed = code.replace("level=0", "level=1"), code.replace("# of Maze", "# of Other")
    for text in (added, other, *changed, "x = 1\n", ""):
        assert without_adapter(text) == text
