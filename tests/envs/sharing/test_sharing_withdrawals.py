"""Whose withdrawals count: those of the same name, or of the name that a copy was taken from."""

import json
from pathlib import Path

import pytest

from envs.store.kit import add
from spade_envs.errors import Corrupt, NotFound
from spade_envs.sharing import Wanted, pull, push
from spade_envs.sharing.names import Renaming
from spade_envs.sharing.pull import PullOptions
from spade_envs.sharing.push import PushOptions
from spade_envs.store import open_store


def withdrawn(store):
    return {each.id: each.withdrawn is not None for each in store.records()}


@pytest.fixture
def team(tmp_path):
    return str(tmp_path / "team")


def test_a_push_withdraws_nothing_under_another_name(stores, team):
    alice, bob, _ = stores
    add(bob, 1, name="bob.prod")
    push(team, bob)
    add(alice, 1, name="plain")
    alice.withdraw("plain", "my draft")
    (told,) = push(team, alice).outcomes
    assert (told.kind, told.placed) == ("withdrawn", "")
    assert withdrawn(open_store(Path(team))) == {"spade/bob.prod-v0": False}


def test_a_pull_follows_the_name_that_its_copy_came_from(stores, team):
    alice, bob, carol = stores
    add(alice, 1, name="plain")
    push(team, alice)
    push(team, alice, PushOptions(renaming=Renaming(name="bob.prod")))
    pull(team, bob, PullOptions(wanted=Wanted(refs=("bob/prod",))))
    pull(team, carol, PullOptions(renaming=Renaming(name="mine"), wanted=Wanted(refs=("plain",))))
    open_store(Path(team)).withdraw("plain", "renamed")
    pull(team, bob)
    pull(team, carol)
    assert withdrawn(bob) == {"spade/bob.prod-v0": False}
    assert withdrawn(carol)["spade/mine-v0"] is True
    push(team, bob)
    assert withdrawn(open_store(Path(team)))["spade/bob.prod-v0"] is False


def lie(team, ids):
    """Let the index of a remote swap the digests of two environments."""
    index = Path(team) / "index.jsonl"
    lines = [json.loads(line) for line in index.read_text().splitlines()]
    said = {line["id"]: line["digest"] for line in lines}
    other = dict(zip(ids, reversed(ids), strict=True))
    for line in lines:
        line["digest"] = said[other.get(line["id"], line["id"])]
    index.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def test_an_index_that_lies_withdraws_and_hides_nothing(stores, team, tmp_path, monkeypatch):
    alice, bob, carol = stores
    add(bob, 1, name="bob.prod")
    add(bob, 2, name="maze")
    push(team, bob)
    lie(team, ["spade/bob.prod-v0", "spade/maze-v0"])
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another machine"))
    add(alice, 2, name="maze")
    alice.withdraw("maze", "it leaks")
    (told,) = push(team, alice).outcomes
    assert (told.kind, told.placed) == ("withdrawn", "spade/maze-v0")
    assert withdrawn(open_store(Path(team)))["spade/bob.prod-v0"] is False
    add(carol, 3, name="new")
    index = Path(team) / "index.jsonl"
    lines = [json.loads(line) for line in index.read_text().splitlines()]
    lines[0]["digest"] = carol.records()[0].digest  # it says that this is there already
    index.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    (told,) = push(team, carol).outcomes
    assert (told.kind, told.placed) == ("new", "spade/new-v0")
    open_store(Path(team)).reindex()
    fresh = open_store(tmp_path / "fresh", create=True)
    assert {each.kind for each in pull(team, fresh).outcomes} == {"new", "withdrawn"}


def test_every_copy_of_a_name_follows(stores, team):
    alice, bob, _ = stores
    add(alice, 1, name="maze")
    push(team, alice)
    pull(team, bob)
    pull(team, bob, PullOptions(renaming=Renaming(namespace="al")))
    open_store(Path(team)).withdraw("maze", "it leaks")
    pull(team, bob)
    assert withdrawn(bob) == {"spade/al.maze-v0": True, "spade/maze-v0": True}


def test_an_own_index_that_lies_ends_a_push(stores, team):
    alice, bob, _ = stores
    add(bob, 1, name="maze")
    push(team, bob)
    add(alice, 2, name="mine")
    digest = alice.records()[0].digest
    index = alice.root / "index.jsonl"
    index.write_text(index.read_text().replace(digest, bob.records()[0].digest))
    with pytest.raises(Corrupt, match="mend it with: spade-envs reindex"):
        push(team, alice)
    alice.reindex()
    assert push(team, alice).of("new")


def test_a_withdrawal_of_a_copy_that_was_given_is_told_of_one_s_own(stores, team):
    alice, *_ = stores
    add(alice, 1, name="maze")
    push(team, alice, PushOptions(renaming=Renaming(namespace="al")))
    open_store(Path(team)).withdraw("al.maze", "it leaks")
    (told,) = pull(team, alice).outcomes
    assert (told.kind, told.placed) == ("kept", "spade/maze-v0")
    assert told.command.startswith("spade-envs withdraw spade/maze-v0 ")
    assert withdrawn(alice) == {"spade/maze-v0": False}


def test_a_push_tells_who_uses_what_was_withdrawn(stores, team):
    alice, bob, _ = stores
    add(bob, 1, name="bob.prod")
    push(team, bob)
    add(alice, 1, name="plain")
    alice.withdraw("plain", "it leaks")
    (told,) = push(team, alice).outcomes
    assert "spade/bob.prod-v0 there has the same content and is in use" in told.note


def test_a_digest_is_found_although_the_index_does_not_know_it(stores, team):
    alice, bob, _ = stores
    add(alice, 1, name="maze")
    add(alice, 2, name="chess")
    push(team, alice)
    digests = {each.id: each.digest for each in alice.records()}
    index = Path(team) / "index.jsonl"
    index.write_text(index.read_text().replace(digests["spade/maze-v0"], f"sha256:{'0' * 64}"))
    done = pull(team, bob, PullOptions(wanted=Wanted(refs=(digests["spade/maze-v0"],))))
    assert [each.id for each in done.of("new")] == ["spade/maze-v0"]
    with pytest.raises(NotFound):
        pull(team, bob, PullOptions(wanted=Wanted(refs=(f"sha256:{'1' * 64}",))))
