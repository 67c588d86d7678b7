"""Transfers that break, half-pushed versions, ledgers, withdrawals."""

import json

import pytest

from envs.store.kit import add
from spade_envs.errors import RemoteError
from spade_envs.sharing import pull, push, sync
from spade_envs.sharing.pull import PullOptions, pull_from
from spade_envs.sharing.push import PushOptions, push_to
from spade_envs.sharing.remotes import open_remote
from spade_envs.sharing.wanted import Wanted
from spade_envs.store.plays import PlayReader, Plays, PlayWriter


class Broken:
    """A remote whose line breaks after so many calls of some methods."""

    def __init__(self, remote, after, *methods):
        self.remote, self.left, self.methods = remote, after, methods

    def __getattr__(self, name):
        found = getattr(self.remote, name)
        if name not in self.methods:
            return found

        def call(*arguments, **options):
            if self.left <= 0:
                raise RemoteError("the line broke")
            self.left -= 1
            return found(*arguments, **options)

        return call


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch):
    monkeypatch.setattr("spade_envs.sharing.transfer._PAUSE_S", 0.0)


@pytest.fixture
def place(tmp_path):
    from envs.sharing.places import memory

    with memory(tmp_path) as url:
        yield url


def test_a_pull_that_broke_goes_on_with_what_is_missing(place, stores):
    alice, bob, _ = stores
    for number in range(8):
        add(alice, number)
    push(place, alice)
    with open_remote(place) as remote, pytest.raises(RemoteError, match="broke"):
        pull_from(Broken(remote, 8 + 1 + 6, "read"), bob, PullOptions(jobs=1))
    placed = len(bob.records())
    assert 0 < placed < 8
    assert [each for each in bob.verify(deep=True) if each.severity == "error"] == []
    later = pull(place, bob)
    assert (len(later.of("new")), len(later.of("same"))) == (8 - placed, placed)


@pytest.mark.parametrize("after", range(12))
def test_a_push_that_broke_anywhere_is_never_seen_half(place, stores, after):
    alice, bob, _ = stores
    for number in range(2):
        add(alice, number)
    with open_remote(place) as remote:
        broken = Broken(remote._system, after, "pipe_file")
        remote._system = broken
        done = None
        try:
            done = push_to(remote, alice, PushOptions(jobs=1))
        except RemoteError:
            remote._system = broken.remote
    if done is None and after > 2:
        seen = pull(place, bob)
        assert seen.clean
        for record in bob.records():
            assert bob.source(record).code
    assert push(place, alice).clean
    assert pull(place, bob).clean
    assert {each.digest for each in bob.records()} == {each.digest for each in alice.records()}


def test_a_half_pushed_version_is_passed_over_and_its_place_is_taken(place, stores):
    alice, bob, carol = stores
    add(alice, 1, name="maze")
    add(bob, 2, name="maze")
    push(place, alice, PushOptions(wanted=Wanted(refs=("maze",))))
    with open_remote(place) as remote:
        remote._system.rm(f"{remote._root}/envs/maze/v0/manifest.json")
    (seen,) = pull(place, carol).outcomes
    assert (seen.kind, carol.records()) == ("skipped", [])
    assert "manifest.json" in seen.note
    (late,) = push(place, bob).outcomes
    assert late.kind == "conflict"
    assert push(place, alice).of("new")
    assert pull(place, carol).of("new")[0].digest == alice.records()[0].digest


def test_a_version_that_lies_about_its_size_is_refused_and_the_rest_taken(place, stores):
    alice, bob, _ = stores
    add(alice, 1, name="maze")
    add(alice, 2, name="chess")
    push(place, alice)

    class Liar(Broken):
        def entries(self):
            return [
                type(each)(each.path, 3, each.kind)
                if each.path.endswith("maze/v0/env.py")
                else each
                for each in self.remote.entries()
            ]

    with open_remote(place) as remote:
        done = pull_from(Liar(remote, 0), bob)
    assert [each.id for each in done.of("refused")] == ["spade/maze-v0"]
    assert [each.id for each in bob.records()] == ["spade/chess-v0"]


def test_plays_travel_when_asked_and_grow(place, stores):
    alice, bob, _ = stores
    record = add(alice, 1, name="maze")
    hard = add(alice, 2, name="hard")
    writer = PlayWriter(alice.root, "run")
    writer.append([Plays(digest=record.digest, plays=10, successes=5)])
    writer.append([Plays(digest=hard.digest, plays=10)])
    push(place, alice)
    assert pull(place, bob, PullOptions(plays=True)).notes == ()
    push(place, alice, PushOptions(plays=True))
    pull(place, bob, PullOptions(plays=True))
    writer.append([Plays(digest=record.digest, plays=10, successes=10)])
    assert "1 new lines" in " ".join(push(place, alice, PushOptions(plays=True)).notes)
    assert "1 new lines" in " ".join(pull(place, bob, PullOptions(plays=True)).notes)
    assert PlayReader(bob.root).figures()[record.digest].successes == 15
    fresh = bob.root.parent / "fresh"
    from spade_envs.calibrate import Bounds
    from spade_envs.store import open_store

    chosen = PullOptions(wanted=Wanted(success=Bounds.read("0.5..")))
    assert [each.id for each in pull(place, open_store(fresh, create=True), chosen).of("new")] == [
        record.id
    ]


def test_an_unsound_or_other_ledger_changes_nothing(place, stores):
    alice, bob, _ = stores
    record = add(alice, 1, name="maze")
    PlayWriter(alice.root, "run", fresh=False).append([Plays(digest=record.digest, plays=3)])
    push(place, alice, PushOptions(plays=True))
    PlayWriter(bob.root, "run", fresh=False).append([Plays(digest=record.digest, plays=4)])
    assert "another ledger" in " ".join(pull(place, bob, PullOptions(plays=True)).notes)
    with open_remote(place) as remote:
        line = json.dumps({"digest": record.digest, "plays": 1, "successes": 9}).encode()
        remote.replace("ledger/plays-evil.jsonl", line + b"\n")
    assert "no sound plays" in " ".join(pull(place, bob, PullOptions(plays=True)).notes)
    assert PlayReader(bob.root).figures()[record.digest].plays == 4


def test_a_withdrawal_travels_to_those_who_took_the_version(place, stores):
    alice, bob, carol = stores
    add(alice, 1, name="maze")
    push(place, alice)
    pull(place, bob)
    add(carol, 1, name="maze")  # the same content, but of her own making
    alice.withdraw("maze", "it leaks")
    (told,) = push(place, alice).outcomes
    assert (told.kind, told.placed) == ("withdrawn", "spade/maze-v0")
    (told,) = pull(place, bob).outcomes
    assert told.kind == "withdrawn"
    assert "it leaks" in bob.records()[0].withdrawn
    (told,) = pull(place, carol).outcomes
    assert (told.kind, carol.records()[0].withdrawn) == ("kept", None)
    assert "spade-envs withdraw" in told.note
    assert push(place, carol).of("kept")


def test_sync_leaves_both_sides_with_everything(place, stores):
    alice, bob, _ = stores
    add(alice, 1, name="maze")
    add(bob, 2, name="chess")
    push(place, alice)
    done = sync(place, bob)
    assert (len(done.pulled.of("new")), len(done.pushed.of("new"))) == (1, 1)
    assert len(sync(place, alice).pulled.of("new")) == 1
    assert {each.digest for each in alice.records()} == {each.digest for each in bob.records()}
