import logging
import sys
import types
import warnings

import gymnasium as gym
import pytest
from gymnasium.envs.registration import EnvSpec

from envs.store.kit import add
from spade_envs.errors import NotFound, Withdrawn
from spade_envs.registration import CATCH_ALL_ID, register_discovered, register_store
from spade_envs.spaces import AnyText
from spade_envs.store import open_store

PARSED = ("namespace", "name", "version")


class Stub(gym.Env):
    """Stands in for the sandboxed environment: it only remembers what it was made with."""

    observation_space = action_space = AnyText()

    def __init__(self, **made_with):
        self.made_with = made_with

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return "ready", {}

    def step(self, action):
        return action, 1.0, True, False, {}


@pytest.fixture(autouse=True)
def registry(monkeypatch):
    """Give each test a registry that it can spoil, and the stub as entry point."""
    before = dict(gym.registry)
    stub = types.ModuleType("spade_envs.play.env")
    # A class has metadata, a function none: Gymnasium would look for render modes in it.
    stub.make_env = lambda **made_with: Stub(**made_with)
    monkeypatch.setitem(sys.modules, "spade_envs.play.env", stub)
    yield gym.registry
    gym.registry.clear()
    gym.registry.update(before)


@pytest.fixture
def store(tmp_path):
    return open_store(tmp_path / "store", create=True)


def test_registered_versions_can_be_made(store):
    record = add(store, 1, name="maze")
    assert register_store(store) == 1
    env = gym.make("spade/maze-v0", level=2, isolation="process")
    assert env.unwrapped.made_with == {
        "ref": "spade/maze-v0",
        "store": str(store.root),
        "digest": record.digest,
        "level": 2,
        "isolation": "process",
    }
    assert env.reset(seed=0) == ("ready", {})


def test_specs_are_plain_json_and_survive_it(store):
    add(store, 1, name="alice.maze")
    register_store(store.root)
    spec = gym.spec("spade/alice.maze-v0")
    back = EnvSpec.from_json(spec.to_json())
    assert back == spec
    assert vars(spec) == vars(EnvSpec(**{k: v for k, v in vars(spec).items() if k not in PARSED}))
    assert (spec.entry_point, spec.vector_entry_point) == (
        "spade_envs.play.env:make_env",
        "spade_envs.play.vector:make_vector_env",
    )
    assert (spec.namespace, spec.name, spec.version) == ("spade", "alice.maze", 0)
    assert (spec.max_episode_steps, spec.nondeterministic) == (None, False)


def test_registering_again_changes_nothing_and_sees_what_is_new(store, caplog):
    add(store, 1, name="maze")
    assert register_store(store) == 1
    before = dict(gym.registry)
    with caplog.at_level(logging.WARNING):
        assert register_store(store) == 1
    assert gym.registry == before
    assert caplog.text == ""
    add(store, 2, name="maze")
    assert register_store(store) == 2
    with pytest.warns(UserWarning, match="latest versioned environment `spade/maze-v1`"):
        assert gym.make("spade/maze").unwrapped.made_with["ref"] == "spade/maze-v1"
    with pytest.warns(DeprecationWarning, match="out of date"):
        gym.make("spade/maze-v0")


def test_withdrawn_versions_say_why_and_are_not_proposed(store):
    add(store, 1, name="maze")
    add(store, 2, name="maze")
    store.withdraw("maze-v1", "its reward can be farmed")
    assert register_store(store) == 1
    for make in (gym.make, gym.make_vec):
        with pytest.raises(Withdrawn, match="maze-v1 was withdrawn: its reward can be farmed"):
            make("spade/maze-v1")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gym.make("spade/maze-v0")
    with pytest.warns(UserWarning, match="`spade/maze-v0`"):
        assert gym.make("spade/maze").unwrapped.made_with["ref"] == "spade/maze-v0"


def test_withdrawing_reaches_the_registry_on_the_next_call(store):
    add(store, 1, name="maze")
    assert register_store(store) == 1
    store.withdraw("maze", "bad")
    assert register_store(store) == 0
    with pytest.raises(Withdrawn, match="bad"):
        gym.make("spade/maze-v0")


def test_unknown_ids_get_a_suggestion(store):
    add(store, 1, name="graph-colouring")
    register_store(store)
    with pytest.raises(gym.error.NameNotFound, match="Did you mean: `graph-colouring`"):
        gym.make("spade/graph-coloring-v0")
    with pytest.raises(gym.error.VersionNotFound, match="`v0`"):
        gym.make("spade/graph-colouring-v3")


def test_catch_all_takes_any_reference_to_any_store(store, monkeypatch):
    record = add(store, 1, name="maze")
    place = {"ref": record.id, "store": str(store.root), "digest": record.digest}
    by_digest = gym.make(CATCH_ALL_ID, ref=record.digest[7:19], store=str(store.root), level=3)
    assert by_digest.unwrapped.made_with == {**place, "level": 3}
    monkeypatch.setenv("SPADE_ENVSTORE", str(store.root))
    assert gym.make(CATCH_ALL_ID, ref="maze").unwrapped.made_with == place
    with pytest.raises(NotFound, match="did you mean 'maze'"):
        gym.make(CATCH_ALL_ID, ref="mazes")


def test_two_stores_with_one_id(tmp_path, caplog):
    mine, other, same = (
        open_store(tmp_path / name, create=True) for name in ("mine", "other", "same")
    )
    add(mine, 1, name="maze")
    add(same, 1, name="maze")
    add(other, 2, name="maze")
    assert register_store(mine) == 1
    assert register_store(same) == 1
    assert caplog.text == ""
    assert gym.spec("spade/maze-v0").kwargs["store"] == str(mine.root)
    assert register_store(other, override=False) == 0
    assert f"it means the one in {mine.root}" in caplog.text
    assert gym.spec("spade/maze-v0").kwargs["store"] == str(mine.root)
    assert register_store(other) == 1
    assert f"it means the one in {other.root}" in caplog.text
    assert gym.spec("spade/maze-v0").kwargs["store"] == str(other.root)


def test_versions_that_the_index_lacks_are_registered(store, caplog):
    add(store, 1, name="maze")
    (store.root / "index.jsonl").write_bytes(b"")
    assert register_store(store) == 1
    (store.root / "index.jsonl").write_bytes(b"broken")
    assert register_store(store) == 1
    assert "unreadable" in caplog.text


def test_register_store_without_a_store(tmp_path):
    with pytest.raises(NotFound):
        register_store(tmp_path)


@pytest.mark.parametrize("marker", [b"", b'{"format": 9}', b"\xff", None])
def test_a_broken_default_store_is_logged_and_passed_over(store, marker, monkeypatch, caplog):
    monkeypatch.setenv("SPADE_ENVSTORE", str(store.root))
    add(store, 1, name="zz-only-here")
    if marker is None:
        (store.root / "ENVSTORE.json").unlink()
    else:
        (store.root / "ENVSTORE.json").write_bytes(marker)
    register_discovered()
    assert str(store.root) in caplog.text
    assert "spade/zz-only-here-v0" not in gym.registry


def test_the_default_store_wins_over_the_starter_store(tmp_path, monkeypatch, caplog):
    mine, starter = (open_store(tmp_path / name, create=True) for name in ("mine", "starter"))
    add(mine, 1, name="zz-maze")
    add(starter, 2, name="zz-maze")
    add(starter, 3, name="zz-starter")
    monkeypatch.setenv("SPADE_ENVSTORE", str(mine.root))
    monkeypatch.setattr("spade_envs.store.discovery.starter_path", lambda: starter.root)
    assert register_discovered() == 2
    assert gym.spec("spade/zz-maze-v0").kwargs["store"] == str(mine.root)
    assert gym.spec("spade/zz-starter-v0").kwargs["store"] == str(starter.root)
    assert "it means the one in" in caplog.text
