"""Data sets on the Hub, against a stand-in of its HTTP API."""

import pytest

from envs.sharing.hub import running
from envs.store.kit import add
from spade_envs.errors import ConfigError, NotFound, RemoteError
from spade_envs.sharing import pull, push

pytest.importorskip("huggingface_hub")

URL = "hf://datasets/team/envs"


@pytest.fixture
def hub(monkeypatch, tmp_path):
    with running(monkeypatch, tmp_path) as found:
        yield found


def test_a_data_set_keeps_what_two_teams_give(hub, stores):
    alice, bob, carol = stores
    with pytest.raises(NotFound, match="no envstore"):
        pull(URL, carol)
    mine, theirs = add(alice, 1, name="alice.maze"), add(bob, 2, name="bob.maze")
    assert push(URL, alice).of("new")
    assert hub.private == {"team/envs": True}
    assert push(URL, bob).of("new")
    assert len(hub.sets["team/envs"]) == 3
    assert hub.sets["team/envs"][-1][".gitattributes"] == b"*.bin filter=lfs\n"
    assert hub.sets["team/envs"][-1]["index.jsonl"].count(b"\n") == 2
    pull(URL, carol)
    assert {each.id: each.digest for each in carol.records()} == {
        mine.id: mine.digest,
        theirs.id: theirs.digest,
    }
    assert push(URL, alice).of("same")
    assert len(hub.sets["team/envs"]) == 3


def test_a_revision_stays_what_it_was(hub, stores):
    alice, bob, _ = stores
    add(alice, 1, name="maze")
    push(URL, alice)
    before = hub.sha("team/envs")
    add(alice, 2, name="chess")
    push(URL, alice)
    pull(f"{URL}@{before}", bob)
    assert [each.id for each in bob.records()] == ["spade/maze-v0"]


def test_a_commit_that_somebody_proposed_is_refused(hub, stores):
    alice, bob, _ = stores
    add(alice, 1, name="maze")
    push(URL, alice)
    hub.proposed.add(("team/envs", len(hub.sets["team/envs"]) - 1))
    with pytest.raises(RemoteError, match="is none of main's"):
        pull(f"{URL}@{hub.sha('team/envs')}", bob)
    with pytest.raises(ConfigError, match="neither a branch nor a tag"):
        pull(f"{URL}@refs/pr/1", bob)
    assert bob.records() == []


def test_a_commit_that_comes_second_is_planned_again(hub, stores):
    alice, bob, carol = stores
    add(alice, 0, name="first")
    push(URL, alice)
    add(alice, 1, name="maze")
    add(bob, 2, name="chess")
    hub.before_commit.append(lambda: push(URL, alice))
    assert push(URL, bob).of("new")
    pull(URL, carol)
    names = {each.id for each in carol.records()}
    assert names == {"spade/first-v0", "spade/maze-v0", "spade/chess-v0"}


def test_what_the_hub_refuses_is_one_clear_error(hub, stores, monkeypatch):
    alice, _, _ = stores
    add(alice, 0, name="first")
    push(URL, alice)
    monkeypatch.setattr(type(hub), "at", lambda self, name, revision: None)
    monkeypatch.setattr("spade_envs.sharing.transfer._PAUSE_S", 0.0)
    with pytest.raises(RemoteError, match=r"team/envs cannot be found.*Revision Not Found"):
        pull(URL, alice)
