"""Where a store has its environments from, whoever else offers the same bytes."""

import json
import re
import shlex
import subprocess

import pytest
from click.testing import CliRunner

from envs.store.kit import add
from spade_envs.cli.main import cli
from spade_envs.errors import NotTrusted
from spade_envs.sharing import install, make_lock, pull, push
from spade_envs.store import open_store
from spade_envs.trust.journal import state_folder
from spade_envs.trust.origin import one_spelling, origins_of
from spade_envs.trust.runs import source_to_run, standing
from spade_envs.trust.settings import allow, remove, settings_path


def run(*arguments):
    return CliRunner().invoke(cli, [str(each) for each in arguments])


@pytest.fixture
def places(tmp_path, stores):
    """A team's folder and a stranger's with the same bytes."""
    add(stores[0], 1, name="maze")
    found = [tmp_path / "team", tmp_path / "evil"]
    for place in found:
        push(str(place), stores[0])
    return found


def plea_of(store):
    with pytest.raises(NotTrusted) as caught:
        source_to_run(store, store.get("maze"))
    return str(caught.value)


def test_a_later_copy_elsewhere_is_only_told_as_another_offer(places, stores):
    (team, evil), (_, bob, carol) = places, stores
    pull(str(team), bob)
    pull(str(evil), carol)
    for store, its, other in ((bob, team, evil), (carol, evil, team)):
        said = plea_of(store)
        assert f"comes from {its} (also offered by {other})" in said
        assert said.endswith(f"spade-envs trust add --from {its}")
        (shown,) = json.loads(run("audit", "--store", store.root, "--json").stdout)
        assert (shown["remote"], shown["also_offered"]) == (str(its), [str(other)])
        assert list(make_lock(store).remotes.values()) == [str(its)]
    one = " ".join(run("audit", "spade/maze-v0", "--store", bob.root).stdout.split())
    assert one.index("pulled from") < one.index("also offered by") < one.index("signed by")
    allow("", str(evil))
    assert standing(bob.get("maze").digest).consented


def test_a_store_without_a_note_is_told_no_remote_to_trust(places, stores, tmp_path):
    (team, evil), (_, bob, carol) = places, stores
    pull(str(team), bob)
    pull(str(evil), carol)
    (tmp_path / "link").symlink_to(bob.root)
    assert f"comes from {team} " in plea_of(open_store(tmp_path / "link"))
    said = plea_of(open_store(bob.root.rename(tmp_path / "moved")))
    assert f"was pulled from {team} into another store (also offered by {evil})" in said
    assert said.endswith("spade-envs trust add --from REMOTE")
    again = open_store(bob.root, create=True)
    done = run("pull", evil, "--store", again.root)
    assert f"trust add --from {evil}" in done.output
    assert run("pull", team, "--store", again.root).exit_code == 0
    assert plea_of(again).endswith(f"--from {evil}")


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("{0}/b/../shared//x/./y/", "{0}/shared/x/y"),
        ("{0}/link/../x", "{0}/far/x"),
        ("{0}/link/x", "{0}/link/x"),
        ("/../..//x/..", "/"),
        ("~/x", "{0}/x"),
        ("file://{0}/b/../x", "file://{0}/x"),
        ("git+file://{0}/b/../x.git#main", "git+file://{0}/x.git#main"),
        ("https://example.org/a/../b", "https://example.org/a/../b"),
        ("git@example.org:../x", "git@example.org:../x"),
        ("~nobody-is-called-so/../x", "~nobody-is-called-so/../x"),
        ("../x", "../x"),
    ],
)
def test_a_place_of_this_machine_has_one_spelling(given, meant, tmp_path, monkeypatch):
    (tmp_path / "far/near").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "far/near")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert one_spelling(given.format(tmp_path)) == meant.format(tmp_path)


def test_a_folder_in_two_spellings_is_one_remote(places, stores, tmp_path, monkeypatch):
    (team, _), (alice, bob, carol) = places, stores
    monkeypatch.chdir(bob.root)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert run("pull", "../team", "--store", "../bob").exit_code == 0
    (origin,) = origins_of(bob.get("maze").digest)
    assert (origin.remote, origin.address, origin.store) == (str(team), str(team), str(bob.root))
    assert run("remote", "add", "team", "../team").output == f"team: {team}\n"
    assert run("remote", "add", "team", "~/team").exit_code == 0
    assert run("lock", "--store", "../bob", "--out", tmp_path / "a.lock").exit_code == 0
    assert (
        run("lock", "--store", alice.root, "--remote", "../team", "--out", "../b.lock").exit_code
        == 0
    )
    for name in ("a", "b"):
        locked = json.loads((tmp_path / f"{name}.lock").read_bytes())
        assert list(locked["remotes"].values()) == [str(team)]
    assert run("trust", "add", "--from", "~/bob/../team").exit_code == 0
    assert standing(origin.digest).consented
    assert run("trust", "remove", "--from", f"{tmp_path}/evil/../team").exit_code == 0
    assert not standing(origin.digest).consented
    # What the folder gave under one spelling it is held to under another.
    moved = team.rename(tmp_path / "old")
    add(carol, 2, name="maze")
    push("../team", carol)
    (refused,) = pull(str(team), open_store(tmp_path / "new", create=True)).outcomes
    assert (refused.kind, "its content was replaced" in refused.note) == ("refused", True)
    assert moved.exists()


def test_what_was_noted_in_other_spellings_still_counts(places, stores, tmp_path):
    (team, _), (_, bob, carol) = places, stores
    pull(str(team), bob)
    for path in state_folder().iterdir():  # as an earlier release wrote it
        path.write_bytes(path.read_bytes().replace(b"/team", b"/alice/../team"))
    digest = bob.get("maze").digest
    assert plea_of(bob).endswith(f"spade-envs trust add --from {team}")
    allow("", str(team))
    assert standing(digest).consented
    path = settings_path()
    path.write_text(path.read_text().replace("/team", "/bob/../team"))
    assert standing(digest).consented
    assert remove("", str(team)) == 1
    team.rename(tmp_path / "old")
    add(carol, 2, name="maze")
    push(str(team), carol)
    new = open_store(tmp_path / "new", create=True)
    assert pull(str(team), new).outcomes[0].kind == "refused"


def test_a_withdrawal_is_followed_in_a_store_that_is_opened_through_a_link(
    places, stores, tmp_path
):
    (team, _), (alice, bob, _) = places, stores
    pull(str(team), bob)
    (tmp_path / "link").symlink_to(bob.root)
    alice.withdraw("maze", "too easy")
    push(str(team), alice)
    assert len(pull(str(team), open_store(tmp_path / "link")).of("withdrawn")) == 1
    assert "too easy" in bob.get("spade/maze-v0", withdrawn=True).withdrawn


@pytest.mark.parametrize("name", ["two  spaces", "per%20cent", "per%20cent.git", "x" * 200])
def test_an_address_is_noted_and_locked_as_it_is(name, stores, tmp_path):
    alice, bob, carol = stores
    place = tmp_path / ("y" * 200) / ("z" * 200) / name
    place.parent.mkdir(parents=True)
    if name.endswith(".git"):
        subprocess.run(["git", "init", "--quiet", "--bare", str(place)], check=True)
    add(alice, 1, name="maze")
    assert push(str(place), alice).clean
    pull(str(place), bob)
    (command,) = re.findall("trust add .*", plea_of(bob))
    assert run(*shlex.split(command)).exit_code == 0
    assert standing(bob.get("maze").digest).consented
    assert len(install(make_lock(bob), carol).of("new")) == 1
