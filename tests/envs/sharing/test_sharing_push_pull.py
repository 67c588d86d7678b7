"""What one team pushes, another pulls, whatever keeps it in between."""

import json

import pytest

from envs.sharing.places import PLACES
from envs.store.kit import add
from spade_envs.errors import ConfigError, NotFound, RemoteError
from spade_envs.sharing import Wanted, pull, push
from spade_envs.sharing.names import Renaming
from spade_envs.sharing.pull import PullOptions
from spade_envs.sharing.push import PushOptions
from spade_envs.sharing.remotes import Address, open_remote
from spade_envs.sharing.remotes.objects import ObjectRemote
from spade_envs.sharing.remotes.protocol import TooLong
from spade_envs.store import open_store


@pytest.fixture(
    params=[pytest.param(kind, marks=[pytest.mark.slow] * (kind == "s3")) for kind in PLACES]
)
def place(request, tmp_path):
    with PLACES[request.param](tmp_path) as url:
        yield url


def told(transfer):
    return {(each.kind, each.id, each.placed) for each in transfer.outcomes}


def contents(store):
    return {record.id: record.digest for record in store.records()}


def test_a_team_gets_what_another_one_gave(place, stores):
    alice, bob, carol = stores
    for number in range(3):
        add(alice, number, name="maze")
    add(bob, 7, name="bob.chess")
    first = push(place, alice)
    assert told(first) == {("new", f"spade/maze-v{n}", f"spade/maze-v{n}") for n in range(3)}
    assert first.clean
    assert first.bytes_moved > 3000
    assert push(place, bob).of("new")[0].placed == "spade/bob.chess-v0"

    pulled = pull(place, bob)
    assert told(pulled) == {
        *(("new", f"spade/maze-v{n}", f"spade/maze-v{n}") for n in range(3)),
        ("same", "spade/bob.chess-v0", "spade/bob.chess-v0"),
    }
    pull(place, carol)
    assert contents(carol) == contents(alice) | contents(bob)
    for store in (bob, carol):
        assert [each for each in store.verify(deep=True) if each.severity == "error"] == []
        for record in store.records():
            assert store.source(record).code


def test_a_second_time_nothing_moves(place, stores):
    alice, bob, _ = stores
    add(alice, 1, name="maze")
    push(place, alice)
    pull(place, bob)
    again = push(place, alice)
    assert {each.kind for each in again.outcomes} == {"same"}
    assert again.bytes_moved == 0
    later = pull(place, bob)
    assert {each.kind for each in later.outcomes} == {"same"}
    assert later.bytes_moved < 100  # the marker alone


def test_a_dry_run_writes_nothing(place, stores):
    alice, bob, _ = stores
    add(alice, 1, name="maze")
    assert len(push(place, alice, PushOptions(dry_run=True)).of("new")) == 1
    with pytest.raises(NotFound, match="no envstore at"):
        pull(place, bob)
    push(place, alice)
    assert len(pull(place, bob, PullOptions(dry_run=True)).of("new")) == 1
    assert bob.records() == []


def test_an_id_with_two_contents_is_refused_on_both_ways(place, stores):
    alice, bob, _ = stores
    mine, theirs = add(alice, 1, name="maze"), add(bob, 2, name="maze")
    push(place, alice)
    (clash,) = push(place, bob).outcomes
    assert (clash.kind, clash.placed) == ("conflict", "")
    assert mine.digest[:19] in clash.note
    assert theirs.digest[:19] in clash.note
    (clash,) = pull(place, bob).outcomes
    assert clash.kind == "conflict"
    assert "--namespace" in clash.note
    assert contents(bob) == {"spade/maze-v0": theirs.digest}
    carol = open_store(bob.root.parent / "new", create=True)
    pull(place, carol)
    assert contents(carol) == {"spade/maze-v0": mine.digest}


def test_renumbered_or_renamed_both_contents_live_side_by_side(place, stores):
    alice, bob, carol = stores
    mine, theirs = add(alice, 1, name="maze"), add(bob, 2, name="maze")
    push(place, alice)
    assert told(push(place, bob, PushOptions(renumber=True))) == {
        ("new", "spade/maze-v0", "spade/maze-v1")
    }
    renamed = pull(place, bob, PullOptions(renaming=Renaming(namespace="alice"), renumber=True))
    assert contents(bob)["spade/alice.maze-v0"] == mine.digest
    assert ("new", "spade/maze-v0", "spade/alice.maze-v0") in told(renamed)
    pull(place, carol)
    assert contents(carol) == {"spade/maze-v0": mine.digest, "spade/maze-v1": theirs.digest}
    again = pull(place, alice, PullOptions(renaming=Renaming(namespace="team")))
    assert contents(alice)["spade/team.maze-v1"] == theirs.digest
    assert again.clean
    assert [each for each in alice.verify(deep=True) if each.severity == "error"] == []


def test_no_file_is_written_twice_and_no_version_half_read(place):
    with open_remote(place) as one, open_remote(place) as other:
        one.entries(), other.entries()
        assert one.write_new("ledger/plays-a.jsonl", b"first\n")
        one.finish("one")
        other.entries()
        assert not other.write_new("ledger/plays-a.jsonl", b"second\n")
        other.finish("two")
        one.entries()
        assert one.read("ledger/plays-a.jsonl", 6) == b"first\n"
        with pytest.raises(TooLong):
            one.read("ledger/plays-a.jsonl", 5)
        with pytest.raises(FileNotFoundError):
            one.read("ledger/plays-b.jsonl", 5)


def test_a_place_that_holds_something_else_is_left_alone(place, stores):
    with open_remote(place) as remote:
        remote.entries()
        remote.replace("ledger/notes.jsonl", b"ours\n")
        remote.finish("something else")
    if not place.startswith("/") or place.endswith(".git"):  # a folder is a store by then
        add(stores[0], 1)
        with pytest.raises(ConfigError, match="not empty"):
            push(place, stores[0])


def test_the_disk_of_this_machine_is_named_by_a_path(stores, tmp_path):
    with pytest.raises(ConfigError, match="name a folder by its path"):
        push(f"local://{tmp_path}/o", stores[0])


class _NoFolders:
    """What file systems of fsspec do that make no folders."""

    def pipe_file(self, place, data):
        raise FileNotFoundError(place)


def test_what_fsspec_cannot_write_for_want_of_a_folder_is_told_with_the_mend():
    remote = ObjectRemote(_NoFolders(), "there/envs", Address.read("sftp://host/there/envs"))
    with pytest.raises(RemoteError, match="sftp:// makes none; make the place that is named first"):
        remote.replace("index.jsonl", b"")


@pytest.mark.parametrize("lie", ["digest", "skills"])
def test_an_index_that_lies_chooses_nothing(stores, tmp_path, lie):
    alice, bob, _ = stores
    wanted = add(alice, 1, name="maze", skills=["spatial-reasoning"])
    other = add(alice, 2, name="chess", skills=["optimization"])
    place = tmp_path / "team"
    push(str(place), alice)
    index = place / "index.jsonl"
    lines = [json.loads(line) for line in index.read_text().splitlines()]
    said = {line["id"]: line[lie] for line in lines}
    for line in lines:  # each says what the other is
        line[lie] = said[wanted.id if line["id"] == other.id else other.id]
    index.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    asked = (
        Wanted(refs=(wanted.digest,)) if lie == "digest" else Wanted(skills=("spatial-reasoning",))
    )
    pull(str(place), bob, PullOptions(wanted=asked))
    assert [each.digest for each in bob.records()] == [wanted.digest]


def test_an_index_that_lies_about_what_is_not_there_finds_nothing(stores, tmp_path):
    alice, bob, _ = stores
    add(alice, 1, name="maze")
    place = tmp_path / "team"
    push(str(place), alice)
    index, missing = place / "index.jsonl", f"sha256:{'0' * 64}"
    line = json.loads(index.read_text()) | {"digest": missing}
    index.write_text(json.dumps(line) + "\n")
    with pytest.raises(NotFound, match="nothing there has sha256:0000"):
        pull(str(place), bob, PullOptions(wanted=Wanted(refs=(missing,))))
    assert bob.records() == []
