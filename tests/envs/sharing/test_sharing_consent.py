"""What consent covers: whose name it is there, packages, starters, and an older state in part."""

import importlib
import json
import shutil
import sys

import pytest
from click.testing import CliRunner

from envs.store.kit import add
from spade_envs.cli.main import cli
from spade_envs.errors import NotTrusted
from spade_envs.packing import PackName, choose, pack
from spade_envs.sharing import Wanted, install, pull, push, read_lock
from spade_envs.sharing.names import Renaming
from spade_envs.sharing.pull import PullOptions
from spade_envs.store import open_store, starter_path
from spade_envs.trust.runs import note_verified, source_to_run
from spade_envs.trust.settings import allow


def run(*arguments):
    return CliRunner().invoke(cli, [str(each) for each in arguments])


@pytest.fixture
def team(stores, tmp_path):
    """A remote with an environment of Mallory's, whom nobody trusts, and one of Alice's."""
    add(stores[0], 1, name="alice.maze")
    add(stores[0], 2, name="mallory.evil")
    push(str(tmp_path / "team"), stores[0])
    allow("alice", str(tmp_path / "team"))
    return str(tmp_path / "team")


def test_the_name_in_a_lock_file_is_not_the_users_word(stores, team, tmp_path):
    alice, bob, carol = stores
    digest = alice.get("mallory.evil").digest
    note_verified(digest)
    entry = {"id": "spade/alice.evil-v0", "digest": digest, "remote": "r0"}
    lock = {"environments": [entry], "format": 1, "remotes": {"r0": team}}
    (tmp_path / "m.lock").write_text(json.dumps(lock))
    assert install(read_lock(tmp_path / "m.lock"), bob).of("new")
    with pytest.raises(NotTrusted, match=r"'mallory' may run from there.*trust add mallory --from"):
        source_to_run(bob, bob.get("alice.evil"))
    chosen = PullOptions(
        wanted=Wanted(refs=("mallory/evil",)), renaming=Renaming(name="alice.evil")
    )
    pull(team, carol, chosen)
    source_to_run(carol, carol.get("alice.evil"))  # here the user chose the name


def test_a_package_runs_wherever_else_its_environments_were_pulled_from(
    stores, team, tmp_path, monkeypatch
):
    alice, bob, _ = stores
    packed = pack(
        alice, choose(alice, ["mallory.evil"]), PackName("its-envs"), tmp_path / "project"
    )
    pull(team, bob, PullOptions(wanted=Wanted(refs=("mallory/evil",))))
    with pytest.raises(NotTrusted):
        source_to_run(bob, bob.get("mallory.evil"))
    (root,) = (tmp_path / "project").rglob("_envstore")
    assert packed.wheel.is_file()
    inside = open_store(root)
    with pytest.raises(NotTrusted):  # it lies about, and nobody has installed and imported it
        source_to_run(inside, inside.get("mallory.evil"))
    monkeypatch.syspath_prepend(root.parent.parent)
    monkeypatch.setitem(sys.modules, "its_envs", importlib.import_module("its_envs"))
    source_to_run(inside, inside.get("mallory.evil"))


def test_no_consent_is_advised_for_starters(tmp_path):
    place = tmp_path / "team"
    push(str(place), open_store(starter_path()))
    done = run("pull", place, "paper-punch", "--store", tmp_path / "new")
    assert (done.exit_code, "trust add" in done.output) == (0, False)


def test_an_older_state_is_refused_in_part_too(stores, tmp_path):
    alice, bob, carol = stores
    add(alice, 1, name="alice.maze")
    add(alice, 2, name="alice.maze")
    place = tmp_path / "team"
    push(str(place), alice)
    pull(str(place), bob)
    there = open_store(place)
    shutil.rmtree(place / "envs/alice.maze/v1")
    there.reindex()
    for refs in ((), ("alice/maze",), ("alice/*",)):
        (told,) = pull(str(place), carol, PullOptions(wanted=Wanted(refs=refs))).outcomes
        assert (told.kind, "an older state" in told.note) == ("refused", True)
    named = PullOptions(wanted=Wanted(refs=("alice/maze@0",)))
    assert pull(str(place), carol, named).of("new")


def test_a_version_that_cannot_be_read_any_more_is_not_there(stores, tmp_path):
    alice, bob, carol = stores
    add(alice, 1, name="maze")
    add(alice, 2, name="maze")
    place = tmp_path / "team"
    push(str(place), alice)
    pull(str(place), bob)
    (place / "envs/maze/v1/manifest.json").write_text("{}")
    open_store(place).reindex()
    for refs in ((), ("maze",), ("maze@0",)):
        found = pull(str(place), carol, PullOptions(wanted=Wanted(refs=refs)))
        told = {each.id: each for each in found.outcomes}
        if refs == ("maze@0",):
            assert told["spade/maze-v0"].kind == "new"
        elif "spade/maze-v0" in told:
            assert "an older state" in told["spade/maze-v0"].note
        assert len(carol.records()) == (refs == ("maze@0",))
